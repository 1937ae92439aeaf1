import { causeTitle } from '../codes/causes.ts';
import { codeRowOf, codeRows } from '../codes/codes.ts';
import type { ReportedReason } from '../codes/row.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import { adviceOf } from './build-explanation.ts';

/**
 * Explains a hold reason that someone pasted: the words alone, the lines of an event log, of `condor_q -hold`, or
 * attributes of the job's ad. Pure.
 */
export function explainReason(pasted: string): Explanation {
  const said = withLikelyCode(readReason(pasted));
  const diagnosis = diagnose({ ...said, resources: [] });
  return {
    job: 'This job',
    standing: 'held',
    cause: diagnosis.cause,
    title: causeTitle(diagnosis.cause),
    because: diagnosis.because,
    evidence: [{ file: 'as pasted', at: '', lines: [safeLine(said.reason)] }],
    doing: [],
    advice: adviceOf(diagnosis, undefined),
  };
}

const codes = /\bCode (\d+) Subcode (\d+)\b/i;
const attribute = (name: string): RegExp => new RegExp(String.raw`^\s*${name}\s*=\s*(.*?)\s*$`, 'im');

function readReason(pasted: string): ReportedReason {
  const [, code = valueOf(pasted, 'HoldReasonCode'), subcode = valueOf(pasted, 'HoldReasonSubCode')] =
    codes.exec(pasted) ?? [];
  const quoted = valueOf(pasted, 'HoldReason')?.replace(/^"(.*)"$/s, '$1');
  return {
    code: numberOf(code),
    subcode: numberOf(subcode),
    reason: (quoted ?? pasted.replace(codes, '')).trim(),
  };
}

const valueOf = (text: string, name: string): string | undefined => attribute(name).exec(text)?.[1];

const numberOf = (digits: string | undefined): number | undefined =>
  digits === undefined || !/^\d{1,9}$/.test(digits) ? undefined : Number(digits);

/** HTCondor's own words for codes that need none to be understood. */
const ownWords: readonly (readonly [words: RegExp, code: number])[] = [
  [/\bvia condor_hold\b/i, 1],
  [/\b(?:PeriodicHold|OnExitHold|periodic_hold|on_exit_hold) expression\b(?!.*\bUNDEFINED\b)/, 3],
  [/\b(?:PeriodicHold|OnExitHold) expression\b/, 5],
  [/\bsubmitted on hold\b/i, 15],
  [/^spooling input data files/i, 16],
  [/\bfailed to initialize user log\b/i, 22],
  [/\bSYSTEM_PERIODIC_HOLD(?:_\w+)? expression\b.*\bUNDEFINED\b/, 27],
  [/\bSYSTEM_PERIODIC_HOLD\b/, 26],
];

/** Words without a code mean what they mean with the first code whose rows know them. */
function withLikelyCode(said: ReportedReason): ReportedReason {
  if (said.code !== undefined || codeRowOf(said) !== undefined) return said;
  const own = ownWords.find(([words]) => words.test(said.reason))?.[1];
  if (own !== undefined) return { ...said, code: own };
  const known = new Set(codeRows.flatMap((row) => (row.phrases === undefined ? [] : (row.codes ?? []))));
  const code = [...known].find((one) => codeRowOf({ ...said, code: one })?.phrases !== undefined);
  return { ...said, code };
}
