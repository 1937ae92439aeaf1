import { kinds, type FaultKind } from '../fault/kinds.ts';
import {
  remedyForKind,
  kindOfExit,
  lastSignal,
  policyHoldCode,
  policySubcodes,
  signalBase,
  type Remedy,
} from './remedies.ts';
import { causeInfo, type Cause } from './causes.ts';
import { evictions } from './evictions.ts';
import { clearHolds, otherHolds, resources } from './holds.ts';
import { matchesRow, isEmpty, type CodeRow, type ReportedReason } from './row.ts';
import { transfers } from './transfer-holds.ts';

/** A hold with its code. */
export type ReportedHold = ReportedReason & { code: number; subcode: number };

/** Every hold and eviction that Updraft knows; the first row that fits counts. What is not here is `unknown`. */
export const codeRows: readonly CodeRow[] = [
  ...clearHolds,
  ...resources,
  ...transfers,
  ...otherHolds,
  ...evictions,
];

/** The row of a hold or an eviction; undefined for what Updraft does not know. */
export function codeRowOf(said: ReportedReason): CodeRow | undefined {
  return codeRows.find(matchesRow(withCurrentCodes(said)));
}

/**
 * The same in the codes of today, where words are clearer than codes: shadows that fail give words alone, and until 2021
 * output had the code that input has now.
 */
function withCurrentCodes({ code, subcode, reason }: ReportedReason): ReportedReason {
  if (code === undefined) {
    const bare = uncodedReasons.find(([words]) => words.test(reason));
    if (bare !== undefined) return { code: bare[1], subcode: subcode ?? errnoOf(reason), reason };
  }
  const isOpen = code === undefined || code === 0 || code === 12 || code === 13 || code >= 1000;
  const way = isOpen ? transferDirection(code, reason) : undefined;
  if (way === undefined) return { code, subcode, reason };
  return { code: way === 'output' ? 12 : 13, subcode: subcode ?? errnoOf(reason), reason };
}

/** What a shadow that fails says instead of a code, and the code of the hold that follows. */
const uncodedReasons: readonly [words: RegExp, code: number][] = [
  [/^(?:error from \S+: )?failed to execute/i, 6],
  [/failed to open '.*' as standard/i, 7],
  [/singularity test failed/i, 45],
];

const errnoOf = (reason: string): number | undefined => {
  const errno = /errno[= ]\s?(\d+)/.exec(reason)?.[1];
  return errno === undefined ? undefined : Number(errno);
};

/**
 * Which way the bytes went, by the words first. The access point's shadow sends input and receives output; the
 * execution point's starter does the opposite.
 */
export function transferDirection(code: number | undefined, reason: string): 'input' | 'output' | undefined {
  if (/transfer input files failure|SHADOW\b.{0,80}failed to send|STARTER failed to receive/is.test(reason))
    return 'input';
  if (/transfer output files failure|STARTER\b.{0,80}failed to send|SHADOW failed to receive/is.test(reason))
    return 'output';
  if (code === 12 || code === 13) return code === 12 ? 'output' : 'input';
  // The words of the part of HTCondor that moves files, where no code comes with them.
  if (code !== undefined || !/\bFILETRANSFER\b/.test(reason)) return undefined;
  return /\boutput\b|\bupload/i.test(reason) ? 'output' : 'input';
}

/** What helps against a hold; for one of our own it is what the agent ended with. Words alone answer nothing. */
export function remedyForHold(hold: ReportedHold, failures: number): Remedy {
  const { code, subcode } = hold;
  if (code === policyHoldCode) {
    const kind = kindOfExit(subcode);
    return kind === undefined ? remedyForSignal(subcode) : remedyForKind(kind, failures);
  }
  const row = codeRowsOf(code).find(matchesRow(hold));
  return row?.answer === undefined || row.answer === 'requeued' ? 'never' : row.answer;
}

/** The rows that name a code, in their order. */
export const codeRowsOf = (code: number): CodeRow[] =>
  codeRows.filter(({ codes }) => codes?.includes(code) === true);

/** An agent that was killed: the machine had no memory left, or somebody there did it. */
const remedyForSignal = (subcode: number): Remedy =>
  subcode > signalBase && subcode <= signalBase + lastSignal ? 'elsewhere' : 'never';

/** What one of a run's own rules held a job for, by the words that the rule writes. */
export type PolicyHold =
  | { by: 'exit'; kind: FaultKind | undefined }
  | { by: 'late' }
  /** It started over and over; `said` is how the last attempt ended. */
  | { by: 'starts'; starts: number; said: ReportedReason };

/** Holds by the rules of a run of ours; undefined for all others, also for those of somebody else's rules. */
export function readPolicyHold({ code, subcode, reason }: ReportedReason): PolicyHold | undefined {
  if (code !== policyHoldCode) return undefined;
  const words = reason.trim();
  if (/^the (?:attempt ended with exit code|agent was ended by signal) \d+$/.test(words))
    return { by: 'exit', kind: kindOfExit(subcode ?? 0) };
  if (/^given up: no valid result within \d+ s$/.test(words)) return { by: 'late' };
  const [, starts = '', last = ''] = /^started (\d+) times; the last attempt ended: (.*)$/s.exec(words) ?? [];
  if (starts === '') return undefined;
  const inner = subcode === policySubcodes.tooManyStarts ? undefined : subcode;
  return { by: 'starts', starts: Number(starts), said: { code: inner, subcode: undefined, reason: last } };
}

/** The cause of a hold or an eviction. */
export function causeOfReason(said: ReportedReason): Cause {
  const own = readPolicyHold(said);
  if (own?.by === 'exit') return own.kind ?? 'signal';
  if (own?.by === 'late') return 'time-limit';
  return codeRowOf(own?.said ?? said)?.cause ?? 'unknown';
}

/** A fault as journals have it. */
interface HoldFault {
  kind: FaultKind;
  message: string;
  fix?: string;
}

/** What went wrong when HTCondor held a job or took it off a machine, and what its owner could do. */
export function faultOfHold(code: number, subcode: number, reason: string): HoldFault {
  const said = { code, subcode, reason };
  const own = readPolicyHold(said);
  const message = isEmpty(reason) ? `HTCondor's code ${code}, subcode ${subcode}` : reason.trim();
  if (own?.by === 'exit') return { kind: own.kind ?? 'evicted', message };
  const row = own?.by === 'late' ? undefined : codeRowOf(own?.said ?? said);
  const cause = own?.by === 'late' ? 'time-limit' : (row?.cause ?? 'unknown');
  const { fault, advice } = causeInfo(cause);
  const kind = row?.fault ?? fault;
  const first = row?.advice?.includes('{') === false ? `${row.advice} ` : '';
  return { kind, message, fix: `${first}${advice}` };
}

/** Who must act before such a job can end well. */
export function whoMustAct({ cause, answer = 'never' }: CodeRow): 'nobody' | 'you' | 'staff' {
  const { change } = causeInfo(cause);
  if (answer !== 'never' || change === 'retry') return 'nobody';
  return change === 'staff' ? 'staff' : 'you';
}

/** The agent's exit code, where a rule of ours holds the job until it is tried again. */
export function exitOfHold(code: number, subcode: number, reason: string): number | undefined {
  const own = readPolicyHold({ code, subcode, reason });
  return own?.by === 'exit' && own.kind !== undefined ? kinds[own.kind].exit : undefined;
}
