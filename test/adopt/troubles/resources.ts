import { type Fateful, untilOthersAreHeld } from './trouble.ts';

/** 300 MB, which the pool measures every second. */
const usesMemory = `python3 -c "import time; kept = bytearray(range(256)) * 1200000; time.sleep(600)" & ${untilOthersAreHeld}`;

/** The pool holds these. */
const overused: Omit<Fateful, 'before'>[] = [
  { rule: 'no-units', does: usesMemory, lines: ['request_memory = 1'] },
  { rule: 'odd-amount', does: usesMemory, lines: ['request_memory = 1,200 MB'] },
  { rule: 'worth-adding', does: usesMemory, line: /^request_.*$/gm },
  {
    rule: 'disk-below-input',
    does: untilOthersAreHeld,
    lines: ['request_disk = 1 MB', 'transfer_input_files = large.bin'],
    files: { 'large.bin': new Uint8Array(30_000_000) },
  },
];

export const aboutResources: Fateful[] = [
  ...overused.map((one): Fateful => ({ ...one, isAlone: true, before: 'is held (21)' })),
  {
    rule: 'no-units',
    lines: ['request_memory = 1 GB', 'request_disk = 1048576'],
    variables: { _CONDOR_SUBMIT_REQUEST_MISSING_UNITS: 'error' },
    before: 'is refused',
  },
  { rule: 'odd-amount', lines: ['request_disk = "1 GB"'], before: 'finds no machine' },
];
