import { kinds, type FaultKind } from '../fault/kinds.ts';

/**
 * What helps against a failure:
 * - `elsewhere`: another place, at once; after a few failures it waits as well, because then it is not the place;
 * - `later`: the same again after a wait;
 * - `more-memory`, `more-disk`: the same with more of it;
 * - `never`: nothing that can be done without a person.
 */
export type Answer = 'elsewhere' | 'later' | 'more-memory' | 'more-disk' | 'never';

/**
 * Two attempts that fail so are enough: they have cost a whole training, or software that cannot be used in two places
 * is not the places' fault.
 */
const twiceAtMost: ReadonlySet<FaultKind> = new Set(['training-hung', 'time-limit', 'environment-broken']);

/** HTCondor's code of a hold that a rule of the job itself asked for: ours, with what happened in the subcode. */
export const ownHold = 3;
/** Subcodes of own holds that are no exit codes. */
export const ownSubcodes = { tooManyStarts: 1, tooLate: 2 } as const;

/** Own holds of agents that a signal ended have its number and this in their subcode. */
export const signalBase = 128;
/** The highest signal there is. */
export const lastSignal = 64;

/** What helps against a kind of fault; `failures` counts the attempts that failed, this one included. */
export function answerToKind(kind: FaultKind, failures: number): Answer {
  if (twiceAtMost.has(kind) && failures >= 2) return 'never';
  if (kind === 'disk-full') return 'more-disk';
  const { retry } = kinds[kind];
  return retry === 'same' ? 'later' : retry;
}

/** The agent's exit codes that have one of these answers at the nth failure. */
export const exitsWith = (answers: readonly Answer[], failures: number): number[] =>
  agentKinds.filter((kind) => answers.includes(answerToKind(kind, failures))).map((kind) => kinds[kind].exit);

const agentKinds = (Object.keys(kinds) as FaultKind[]).filter((kind) => kinds[kind].exit >= 90);

/**
 * The kind of fault that an exit code of the agent says; undefined for all others, and for jobs of others, whose codes
 * mean nothing to Updraft.
 */
export const kindOfExit = (exit: number, ours = true): FaultKind | undefined =>
  ours ? agentKinds.find((kind) => kinds[kind].exit === exit) : undefined;
