import type { FaultKind } from '../../../fault/kinds.ts';
import type { FaultRecord } from '../../../journal/entry.ts';
import { kindOfExit, ownHold, ownSubcodes } from '../../../codes/answers.ts';

interface Cause {
  kind: FaultKind;
  fix?: string;
}

const memory: Cause = { kind: 'training-failed', fix: 'ask for more `memory` in [resources]' };
const disk: Cause = { kind: 'disk-full', fix: 'ask for more `disk` in [resources]' };
const site: Cause = { kind: 'self-test-failed' };

/** What HTCondor's codes of holds and evictions mean to a job. */
const causes: Record<number, Cause> = {
  1: { kind: 'interrupted', fix: 'release it with condor_release, or end it with updraft stop' },
  6: { kind: 'environment-broken' },
  12: { kind: 'transfer-failed' },
  13: { kind: 'transfer-failed' },
  14: { kind: 'file-invalid', fix: "put the run's folder back where it was" },
  19: site,
  22: { kind: 'file-invalid', fix: "make the run's folder writable, then condor_release" },
  23: site,
  26: { kind: 'evicted', fix: 'a rule of the access point holds it: read its words, or ask the staff' },
  32: {
    kind: 'file-invalid',
    fix: 'less input from the access point: put the data into the federation and use method = "stream"',
  },
  33: { kind: 'wrong-output', fix: 'make the outputs smaller, or upload them to the federation' },
  35: { kind: 'environment-broken', fix: 'check `image` in [environment]' },
  36: { kind: 'transfer-failed' },
  45: { kind: 'environment-broken', fix: 'check `image` in [environment]' },
  46: { kind: 'time-limit', fix: 'ask for more `time` in [resources], or set `checkpoint`' },
  47: { kind: 'time-limit', fix: 'ask for more `time` in [resources], or set `checkpoint`' },
  48: site,
  49: site,
};

/** What went wrong, from HTCondor's code, subcode and words. */
export function holdFault(code: number, subcode: number, reason: string): FaultRecord {
  const { kind, fix } = causeOf(code, subcode, reason);
  const message = reason.trim() === '' ? `HTCondor's code ${code}, subcode ${subcode}` : reason.trim();
  return { kind, message, ...(fix === undefined ? {} : { fix }) };
}

/** The agent's exit code, where a rule of ours holds the job until it is tried again. */
export const exitOfHold = (code: number, subcode: number): number | undefined =>
  code === ownHold && kindOfExit(subcode) !== undefined ? subcode : undefined;

/** Our own rules' holds: the subcode is the agent's exit code, or the code of what happened each time. */
function ownCause(subcode: number): Cause {
  if (subcode === ownSubcodes.tooLate)
    return { kind: 'time-limit', fix: 'see what its attempts failed of, then `updraft retry`' };
  return { ...(causes[subcode] ?? { kind: kindOfExit(subcode) ?? 'evicted' }) };
}

function causeOf(code: number, subcode: number, reason: string): Cause {
  if (code === ownHold) return ownCause(subcode);
  if (code === 34 || code === 21) {
    if (subcode === 102) return memory;
    return subcode === 104 ? disk : { kind: 'evicted' };
  }
  if (code === 13 && subcode === 2)
    return { kind: 'file-invalid', fix: 'put the file back on the access point, then condor_release' };
  if (code === 12 && (subcode === 28 || subcode === 122))
    return { kind: 'disk-full', fix: "make room on the access point's disk, then condor_release" };
  if (code === 13 && /\b404\b|not found|no such object/i.test(reason))
    return { kind: 'object-missing', fix: 'check the URL: the server says that the object is not there' };
  return causes[code] ?? { kind: 'evicted' };
}
