import type { Rungs } from '../../src/search/rungs.ts';
import { markdownTable } from '../markdown-table.ts';
import { curvesOf, epochs, randomNumbers } from './curves.ts';
import { type Outcome, type Setting, simulate, type Way } from './simulate.ts';

/**
 * `node bench/search/run.ts [TRIALS [SLOTS]]`: a search over the curves of small trainings, recorded here, on a pool of
 * these slots that takes them back; and ten searches of 60 trials on 8 slots, a third of whose attempts are evicted.
 */
const [trials = 10_000, slots = 500] = process.argv.slice(2).map(Number);

/** Attempts of METL's pretraining on the OSPool in 2025: 103 evicted and 86 aborted in 5,398 hours of execution. */
const meanLifeSeconds = (5398 * 3600) / (103 + 86);
const rungs: Rungs = {
  ...{ metric: 'val_accuracy', isLowerBetter: false, unit: 'epochs' as const },
  ...{ budgets: [1, 3, 9, epochs], eta: 3 },
};
const common = { rungs, epochSeconds: 600, setUpSeconds: 100 };
const hours = (seconds: number): string => Math.round(seconds / 3600).toLocaleString('en-US');

/** Each is trained; a larger search draws from their curves. */
const maxRecorded = 1000;

/** A recorded curve; drawn again, with as much noise as another start of the same training has. */
function drawn(from: readonly number[][], at: number): number[] {
  if (at < from.length) return from[at] ?? [];
  const random = randomNumbers(at);
  const curve = from[Math.floor(random() * from.length)] ?? [];
  return curve.map((value) => value + (random() - 0.5) * 0.01);
}

const began = performance.now();
const recorded = curvesOf(Math.min(trials, maxRecorded), 0);
const curves = Array.from({ length: trials }, (_, at) => drawn(recorded, at));
console.log(
  `${recorded.length} trainings of ${epochs} epochs in ${((performance.now() - began) / 1000).toFixed(0)} s\n`,
);
const large: Setting = { ...common, curves, slots, seed: 1, meanLifeSeconds };
const ways: [name: string, way: Way, change: Partial<Setting>][] = [
  ['random search', 'full', {}],
  ['synchronous halving', 'halving', {}],
  ['ASHA without a server', 'asha', {}],
  ['the same, no evictions', 'asha', { meanLifeSeconds: Infinity }],
  ['the same, a tenth of the notes lost', 'asha', { lostNotes: 0.1 }],
  ['the same, no notes at all', 'asha', { lostNotes: 1 }],
];
const outcomes = ways.map(([name, way, change]) => ({ name, ...simulate(way, { ...large, ...change }) }));
const [whole] = outcomes;
const head = [
  'way',
  'slot hours',
  'of random',
  'hours',
  'best',
  'attempts',
  'evicted',
  'ended',
  'at the rungs',
];
console.log(
  markdownTable(
    head,
    outcomes.map((one) => [
      one.name,
      hours(one.slotSeconds),
      (one.slotSeconds / (whole?.slotSeconds ?? 1)).toFixed(3),
      hours(one.wallSeconds),
      one.best.toFixed(4),
      String(one.attempts),
      String(one.evicted),
      String(one.ended),
      one.reported.join(' '),
    ]),
  ),
);

/** Such that a third of the attempts of whole trainings ends early. */
const shortLifeSeconds = 9 * 3600;
const rows = Array.from({ length: 10 }, (_, seed) => {
  const own: Setting = {
    ...common,
    curves: curvesOf(60, seed + 1),
    slots: 8,
    seed,
    meanLifeSeconds: shortLifeSeconds,
  };
  const [full, asha, calm] = [
    simulate('full', own),
    simulate('asha', own),
    simulate('asha', { ...own, meanLifeSeconds: Infinity }),
  ];
  return {
    seed,
    full,
    asha,
    calm,
    ratio: asha.slotSeconds / full.slotSeconds,
    gap: 1 - asha.best / full.best,
  };
});
const share = ({ evicted, attempts }: Outcome): string => (evicted / attempts).toFixed(2);
console.log(
  `\n${markdownTable(
    [
      'seed',
      'slot time ÷ all',
      'best behind',
      'evicted of all',
      'evicted of ASHA',
      'lost',
      'repeated reports, counted once',
    ],
    rows.map(({ seed, full, asha, ratio, gap }) => [
      String(seed + 1),
      ratio.toFixed(3),
      `${(100 * gap).toFixed(2)} %`,
      share(full),
      share(asha),
      String(60 - asha.ended),
      String(asha.repeated),
    ]),
  )}`,
);
const good = rows.filter(({ ratio, gap }) => ratio <= 0.15 && gap <= 0.01).length;
console.log(`\n${good} of ${rows.length} need at most 0.15 of the slot time for a best metric within 1 %`);
