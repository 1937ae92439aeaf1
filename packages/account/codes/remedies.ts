import { kinds, agentExits, type FaultKind } from '../fault/kinds.ts';

/**
 * What helps against a failure:
 * - `elsewhere`: another site, immediately; after a few failures with a wait, because then the site is not the cause;
 * - `later`: the same again after a wait;
 * - `more-memory`, `more-disk`: the same with a larger request;
 * - `never`: a person must act.
 */
export type Remedy = 'elsewhere' | 'later' | 'more-memory' | 'more-disk' | 'never';

/**
 * The nth failure of these kinds is final: each one costs an entire training, or what fails at two sites is not the
 * sites' fault. A training may be killed twice by accident.
 */
const finalFailureCount: Partial<Record<FaultKind, number>> = {
  'training-hung': 2,
  'environment-broken': 2,
  'gpu-memory': 2,
  'training-killed': 3,
};
/** Numbers of failures at which remedies change. */
export const finalFailures = (): number[] =>
  [...new Set(Object.values(finalFailureCount))].sort((a, b) => a - b);

/** HTCondor's code of a hold by a rule of the job. Our rules put what happened into the subcode. */
export const policyHoldCode = 3;
/** Subcodes of our own holds other than exit codes. */
export const policySubcodes = { tooManyStarts: 1, tooLate: 2 } as const;

/**
 * Job attributes in which an agent on HTCondor counts the attempts that ran out of memory or disk: HTCondor itself
 * remembers only the last exit code.
 */
export const ranOutAttributes = {
  'memory-exceeded': 'UpdraftOutOfMemory',
  'disk-full': 'UpdraftOutOfDisk',
} as const satisfies Partial<Record<FaultKind, string>>;

/** Our own holds after a signal have this plus its number as subcode. */
export const signalBase = 128;
export const lastSignal = 64;

/** `failures` counts the attempts that failed, including this one. */
export function remedyForKind(kind: FaultKind, failures: number): Remedy {
  if (failures >= (finalFailureCount[kind] ?? Infinity)) return 'never';
  const { retry } = kinds[kind];
  if (retry === 'more') return kind === 'disk-full' ? 'more-disk' : 'more-memory';
  return retry === 'same' ? 'later' : retry;
}

/** The agent's exit codes that have one of these remedies at the nth failure. */
export const exitCodesFor = (remedies: readonly Remedy[], failures: number): number[] =>
  agentKinds
    .filter((kind) => remedies.includes(remedyForKind(kind, failures)))
    .map((kind) => kinds[kind].exit);

const agentKinds = (Object.keys(kinds) as FaultKind[]).filter((kind) => kinds[kind].exit >= agentExits.from);

/**
 * The kind of fault for an exit code of the agent; undefined for other codes, and for jobs that are not Updraft's
 * (`ours`), whose codes have no common meaning.
 */
export const kindOfExit = (exit: number, ours = true): FaultKind | undefined =>
  ours ? agentKinds.find((kind) => kinds[kind].exit === exit) : undefined;
