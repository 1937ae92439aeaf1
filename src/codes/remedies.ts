import { kinds, agentExits, type FaultKind } from '../fault/kinds.ts';

/**
 * What helps against a failure:
 * - `elsewhere`: another place, at once; after a few failures it waits as well, because then it is not the place;
 * - `later`: the same again after a wait;
 * - `more-memory`, `more-disk`: the same with more of it;
 * - `never`: nothing that can be done without a person.
 */
export type Remedy = 'elsewhere' | 'later' | 'more-memory' | 'more-disk' | 'never';

/**
 * Failures after which one of these is final: each has cost a whole training, or what fails in two places is not the
 * places' fault. A training may be killed twice by accident.
 */
const finalFailureCount: Partial<Record<FaultKind, number>> = {
  'training-hung': 2,
  'time-limit': 2,
  'environment-broken': 2,
  'gpu-memory': 2,
  'training-killed': 3,
};
/** Numbers of failures at which answers change. */
export const finalFailures = [...new Set(Object.values(finalFailureCount))].sort((a, b) => a - b);

/** HTCondor's code of a hold that a rule of the job itself asked for: ours, with what happened in the subcode. */
export const policyHoldCode = 3;
/** Subcodes of own holds that are no exit codes. */
export const policySubcodes = { tooManyStarts: 1, tooLate: 2 } as const;

/**
 * Attributes of the job in which an agent on HTCondor counts its attempts that ran out of something: HTCondor itself
 * remembers only the last exit code.
 */
export const ranOutAttributes = {
  'memory-exceeded': 'UpdraftOutOfMemory',
  'disk-full': 'UpdraftOutOfDisk',
} as const satisfies Partial<Record<FaultKind, string>>;

/** Own holds of agents that a signal ended have its number and this in their subcode. */
export const signalBase = 128;
/** The highest signal there is. */
export const lastSignal = 64;

/** What helps against a kind of fault; `failures` counts the attempts that failed, this one included. */
export function remedyForKind(kind: FaultKind, failures: number): Remedy {
  if (failures >= (finalFailureCount[kind] ?? Infinity)) return 'never';
  const { retry } = kinds[kind];
  if (retry === 'more') return kind === 'disk-full' ? 'more-disk' : 'more-memory';
  return retry === 'same' ? 'later' : retry;
}

/** The agent's exit codes that have one of these answers at the nth failure. */
export const exitCodesFor = (remedies: readonly Remedy[], failures: number): number[] =>
  agentKinds
    .filter((kind) => remedies.includes(remedyForKind(kind, failures)))
    .map((kind) => kinds[kind].exit);

const agentKinds = (Object.keys(kinds) as FaultKind[]).filter((kind) => kinds[kind].exit >= agentExits.from);

/**
 * The kind of fault that an exit code of the agent says; undefined for all others, and for jobs of others, whose codes
 * mean nothing to Updraft.
 */
export const kindOfExit = (exit: number, ours = true): FaultKind | undefined =>
  ours ? agentKinds.find((kind) => kinds[kind].exit === exit) : undefined;
