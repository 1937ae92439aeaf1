import { unnamedJob } from './explanation-page.ts';
import { firstFew } from '@updraft/base';
import { causeTitles } from '../codes/causes.ts';
import { codeRowOf, codeRows } from '../codes/codes.ts';
import type { ReportedReason } from '../codes/row.ts';
import { removalCause } from '../diagnosis/cause-of.ts';
import { adviceOn, diagnose, diagnosisOf } from '../diagnosis/diagnose.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import { historyOfAd, parseLongAds } from '../history/ad-history.ts';
import { isJobAds } from '../history/read-ads.ts';
import { explainStory } from './explain-story.ts';

/**
 * Explains hold reasons that someone pasted: the words alone, the lines of an event log, of `condor_q -hold`, or
 * attributes of jobs' ads. Reasons that differ only in figures, hosts and paths are explained once. Pure.
 */
export function explainReasons(pasted: string): Explanation[] {
  const lines = linesOf(pasted);
  const text = lines.join('\n');
  if (isJobAds(text)) return parseLongAds(text).map((ad) => explainStory(historyOfAd(ad, 'as pasted')));
  const said = splitReasons(lines).map(({ job, reason }) => ({ job, explanation: explainReason(reason) }));
  const alike = Map.groupBy(said, ({ explanation: { title, because } }) =>
    [title, ...because].join(' ').replaceAll(/\/\S+|\S+@\S+|\d+/g, '#'),
  );
  return [...alike.values()].flatMap((same) => {
    const jobs = same.map(({ job }) => job);
    return same.slice(0, 1).map(({ explanation }) => ({ ...explanation, job: firstFew(jobs, maxJobs) }));
  });
}

/** An explanation names no more jobs than this. */
const maxJobs = 3;

/**
 * A row of `condor_q -hold`: the job, its owner, since when, and why; not of other tables, which have a duration
 * there.
 */
const holdRow = /^\s*(\d+\.\d+)\s+\S+\s+\d+\/\d+\s+\d+:\d+\s+(?!\d+\+\d\d:\d\d:\d\d\s)(\S.*)$/;
/** How HTCondor begins a reason; `uniq -c` puts a count before it. */
const openings = [
  ...['Error from ', 'Transfer (?:in|out)put files failure', 'The (?:job|system) ', 'Job ', 'Docker '],
  ...['Failed to ', 'Cannot (?:expand|access) ', 'Spooling ', 'Unable to ', 'SYSTEM_PERIODIC'],
  ...['via condor_', 'STARTER ', 'SHADOW '],
];
const opening = new RegExp(`^(?:\\d+ )?(?:${openings.join('|')})`);

/** Whether a text that is no event log begins like hold reasons, or is what `condor_q -hold` prints. */
export const hasReasons = (text: string): boolean =>
  linesOf(text).some((line, at) => holdRow.test(line) || (at === 0 && opening.test(line.trimStart())));

/** Lines without what mail puts before a quoted one; not the blank ones at the start. */
const linesOf = (pasted: string): string[] =>
  pasted
    .split(/\r?\n/)
    .map((line) => line.replace(/^(?:> ?)+/, ''))
    .join('\n')
    .trimStart()
    .split('\n');

/** The reasons of a table, or one for each line that begins like one; else all is one reason. */
function splitReasons(lines: readonly string[]): { job: string; reason: string }[] {
  const rows = lines.flatMap((line, at) => {
    const [, job, reason = ''] = holdRow.exec(line) ?? [];
    if (job === undefined) return [];
    // Mail wraps long rows; a prompt of the shell is no part of them.
    let end = at + 1;
    while (/^(?!.*[$#%] ).*\S/.test(lines[end] ?? '') && !holdRow.test(lines[end] ?? '')) end++;
    return [{ job, reason: [reason, ...lines.slice(at + 1, end)].join('\n') }];
  });
  if (rows.length > 0) return rows;
  const starts = [...lines.keys()].filter((at) => opening.test(lines[at]?.trimStart() ?? ''));
  if (starts.length < 2) return [{ job: unnamedJob, reason: withoutCount(lines.join('\n')) }];
  // What comes before the first belongs to it.
  return starts.map((start, at) => ({
    job: `Reason ${at + 1}`,
    reason: withoutCount(lines.slice(at === 0 ? 0 : start, starts[at + 1]).join('\n')),
  }));
}

const withoutCount = (reason: string): string => reason.replace(/^\s*\d+ (?=[A-Zv])/, '');

/** How HTCondor says that it removed a job, rather than held it. */
const removed = /^Job removed by|\bvia condor_rm\b|PERIODIC_REMOVE|\bPeriodicRemove\b/i;

export function explainReason(pasted: string): Explanation {
  const said = withLikelyCode(readReason(pasted));
  const isRemoval = removed.test(said.reason);
  const [cause, because] = removalCause(said.reason);
  const diagnosis = isRemoval ? diagnosisOf(cause, [because]) : diagnose({ ...said, resources: [] });
  return {
    job: unnamedJob,
    standing: isRemoval ? 'removed' : 'held',
    cause: diagnosis.cause,
    ...causeTitles(diagnosis.cause),
    because: diagnosis.because,
    evidence: [{ file: 'as pasted', at: '', lines: [safeLine(said.reason)] }],
    doing: [],
    advice: adviceOn(diagnosis, { isOurs: false }),
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
    reason: (quoted ?? pasted.replace(codes, '')).trim().replaceAll(/\s*\n\s*/g, ' '),
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
  // What a batch system behind a grid job says is about no transfer.
  if (/\bBLAH_JOB_/.test(said.reason)) return said;
  const known = new Set(codeRows.flatMap((row) => (row.phrases === undefined ? [] : (row.codes ?? []))));
  const code = [...known].find((one) => codeRowOf({ ...said, code: one })?.phrases !== undefined);
  return { ...said, code };
}
