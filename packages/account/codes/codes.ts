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

export type ReportedHold = ReportedReason & { code: number; subcode: number };

/** All holds and evictions that Updraft knows; the first matching row applies. Everything else is `unknown`. */
export const codeRows: readonly CodeRow[] = [
  ...clearHolds,
  ...resources,
  ...transfers,
  ...otherHolds,
  ...evictions,
];

export const codeRowOf = (said: ReportedReason): CodeRow | undefined =>
  codeRows.find(matchesRow(withCurrentCodes(said)));

/**
 * Translates into current codes where the words are clearer than the code: a failing shadow gives words without a code,
 * and until 2021 output had the code that input has now.
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

/** What a failing shadow says without a code, and the code of the hold that follows. */
const uncodedReasons: readonly [words: RegExp, code: number][] = [
  [/^(?:error from \S+: )?failed to execute/i, 6],
  [/failed to open '.*' as standard/i, 7],
  [/singularity test failed/i, 45],
  [/^cannot access initial working directory/i, 14],
];

const errnoOf = (reason: string): number | undefined => {
  const errno = /errno[= ]\s?(\d+)/.exec(reason)?.[1];
  return errno === undefined ? undefined : Number(errno);
};

/**
 * The words decide before the code. The access point's shadow sends input and receives output; the
 * execution point's starter does the opposite.
 */
export function transferDirection(code: number | undefined, reason: string): 'input' | 'output' | undefined {
  if (/transfer input files failure|SHADOW\b.{0,80}failed to send|STARTER failed to receive/is.test(reason))
    return 'input';
  if (/transfer output files failure|STARTER\b.{0,80}failed to send|SHADOW failed to receive/is.test(reason))
    return 'output';
  if (code === 12 || code === 13) return code === 12 ? 'output' : 'input';
  // HTCondor's file transfer gives words without a code here.
  if (code !== undefined || !/\bFILETRANSFER\b/.test(reason)) return undefined;
  return /\boutput\b|\bupload/i.test(reason) ? 'output' : 'input';
}

/** For a hold by our own rules, the agent's exit decides. Words without a code have no remedy. */
export function remedyForHold(hold: ReportedHold, failures: number): Remedy {
  const { code, subcode } = hold;
  if (code === policyHoldCode) {
    const kind = kindOfExit(subcode);
    return kind === undefined ? remedyForSignal(subcode) : remedyForKind(kind, failures);
  }
  const row = codeRowsOf(code).find(matchesRow(hold));
  return row?.answer === undefined || row.answer === 'requeued' ? 'never' : row.answer;
}

export const codeRowsOf = (code: number): CodeRow[] =>
  codeRows.filter(({ codes }) => codes?.includes(code) === true);

/** For an agent that was killed: the machine ran out of memory, or its staff did it. */
const remedyForSignal = (subcode: number): Remedy =>
  subcode > signalBase && subcode <= signalBase + lastSignal ? 'elsewhere' : 'never';

/** Why one of a run's own rules held a job, parsed from the words that the rule writes. */
export type PolicyHold =
  | { by: 'exit'; kind: FaultKind | undefined }
  | { by: 'late' }
  /** It was started too often; `said` is how the last attempt ended. */
  | { by: 'starts'; starts: number; said: ReportedReason };

/** Undefined unless a rule of one of our own runs held the job. */
export function readPolicyHold({ code, subcode, reason }: ReportedReason): PolicyHold | undefined {
  if (code !== policyHoldCode) return undefined;
  const words = reason.trim();
  if (/^the (?:attempt ended with exit code|agent was ended by signal) \d+$/.test(words))
    return { by: 'exit', kind: kindOfExit(subcode ?? 0) };
  if (/^given up: no valid result within \d+ s$/.test(words)) return { by: 'late' };
  const [, starts = '', last = ''] =
    /^started (\d+) times?; the last attempt ended: (.*)$/s.exec(words) ?? [];
  if (starts === '') return undefined;
  const inner = subcode === policySubcodes.tooManyStarts ? undefined : subcode;
  return { by: 'starts', starts: Number(starts), said: { code: inner, subcode: undefined, reason: last } };
}

export function causeOfReason(said: ReportedReason): Cause {
  const own = readPolicyHold(said);
  if (own?.by === 'exit') return own.kind ?? 'agent-killed';
  if (own?.by === 'late') return 'time-limit';
  return codeRowOf(own?.said ?? said)?.cause ?? 'unknown';
}

/** What went wrong when HTCondor held or evicted a job, and what its owner can do. */
export function faultOfHold(
  code: number,
  subcode: number,
  reason: string,
): { kind: FaultKind; message: string; fix?: string } {
  const said = { code, subcode, reason };
  const own = readPolicyHold(said);
  const message = isEmpty(reason)
    ? `HTCondor gave no reason (code ${code}, subcode ${subcode})`
    : reason.trim();
  if (own?.by === 'exit') return { kind: own.kind ?? 'evicted', message };
  const row = own?.by === 'late' ? undefined : codeRowOf(own?.said ?? said);
  const cause = own?.by === 'late' ? 'time-limit' : (row?.cause ?? 'unknown');
  const { fault, advice } = causeInfo(cause);
  const kind = row?.fault ?? fault;
  const first = row?.advice?.includes('{') === false ? `${row.advice} ` : '';
  return { kind, message, fix: `${first}${advice}` };
}

/** Who must act before such a job can succeed. */
export function whoMustAct({ cause, answer = 'never' }: CodeRow): 'nobody' | 'you' | 'staff' {
  const { change } = causeInfo(cause);
  if (answer !== 'never' || change === 'retry') return 'nobody';
  return change === 'staff' ? 'staff' : 'you';
}

/** The agent's exit code, if one of our rules held the job because of it. */
export function exitOfHold(code: number, subcode: number, reason: string): number | undefined {
  const own = readPolicyHold({ code, subcode, reason });
  return own?.by === 'exit' && own.kind !== undefined ? kinds[own.kind].exit : undefined;
}
