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

export interface HoldAnswer {
  code: number;
  /** Only these subcodes; all of them where it is left out. */
  subcodes?: number[];
  /** All but these subcodes. */
  unless?: number[];
  answer: Exclude<Answer, 'never'>;
}

const missing = 2;
const noSpace = 28;
const quota = 122;
const memory = 102;
const disk = 104;

/**
 * HTCondor's hold codes that something can be done about; the first row that fits counts. A code that is not here is
 * kept as it is and never released: nobody guesses what it means.
 */
export const holdAnswers: readonly HoldAnswer[] = [
  // No memory, no process, an input/output error, a stale file handle: that machine's trouble.
  { code: 6, subcodes: [5, 11, 12, 116], answer: 'elsewhere' },
  { code: 11, answer: 'later' },
  { code: 12, unless: [missing, noSpace, quota], answer: 'later' },
  { code: 13, unless: [missing], answer: 'later' },
  { code: 18, answer: 'later' },
  { code: 19, answer: 'elsewhere' },
  { code: 21, subcodes: [memory], answer: 'more-memory' },
  { code: 21, subcodes: [disk], answer: 'more-disk' },
  { code: 23, answer: 'elsewhere' },
  { code: 34, subcodes: [memory], answer: 'more-memory' },
  { code: 34, subcodes: [disk], answer: 'more-disk' },
  { code: 35, answer: 'later' },
  { code: 36, answer: 'later' },
  { code: 45, answer: 'elsewhere' },
  // The agent keeps the time itself: HTCondor's limit is reached only where the agent hangs with its machine.
  { code: 47, answer: 'elsewhere' },
  { code: 48, answer: 'elsewhere' },
  { code: 49, answer: 'elsewhere' },
];

/** What helps against a hold; for one of our own it is what the agent ended with. */
export function answerToHold(code: number, subcode: number, failures: number): Answer {
  if (code === ownHold) {
    const kind = kindOfExit(subcode);
    return kind === undefined ? answerToSignal(subcode) : answerToKind(kind, failures);
  }
  const row = holdAnswers.find(
    (one) =>
      one.code === code &&
      (one.subcodes?.includes(subcode) ?? true) &&
      !(one.unless?.includes(subcode) ?? false),
  );
  return row?.answer ?? 'never';
}

/** Own holds of agents that a signal ended have its number and this in their subcode. */
export const signalBase = 128;
/** The highest signal there is. */
export const lastSignal = 64;

/** An agent that was killed: the machine had no memory left, or somebody there did it. */
const answerToSignal = (subcode: number): Answer =>
  subcode > signalBase && subcode <= signalBase + lastSignal ? 'elsewhere' : 'never';

/** What helps against a kind of fault when so many attempts have failed, this one included. */
export function answerToKind(kind: FaultKind, failures: number): Answer {
  if (twiceAtMost.has(kind) && failures >= 2) return 'never';
  if (kind === 'disk-full') return 'more-disk';
  const { retry } = kinds[kind];
  return retry === 'same' ? 'later' : retry;
}

/** The agent's exit codes that have this answer when so many attempts have failed. */
export const exitsWith = (answers: readonly Answer[], failures: number): number[] =>
  agentKinds.filter((kind) => answers.includes(answerToKind(kind, failures))).map((kind) => kinds[kind].exit);

const agentKinds = (Object.keys(kinds) as FaultKind[]).filter((kind) => kinds[kind].exit >= 90);

/**
 * The kind of fault that an exit code of the agent says; undefined for all others, and for jobs of others, whose codes
 * mean nothing to Updraft.
 */
export const kindOfExit = (exit: number, ours = true): FaultKind | undefined =>
  ours ? agentKinds.find((kind) => kinds[kind].exit === exit) : undefined;
