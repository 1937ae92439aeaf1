import { printable } from '../../base/printable.ts';
import type { Evidence, Explanation } from '../../diagnosis/explanation.ts';
import type { ExplainedGroup } from '../../why/group-explanations.ts';
import { jobList } from '../run-view/job-list.ts';
import { wrap } from './wrap.ts';

/** Wide enough for a sentence, narrow enough for the eye. */
const widest = 100;

/** One job explained: cause, evidence, what is being done, what the user could do. */
export function explanationText(explanation: Explanation, columns: number): string {
  const width = Math.max(40, Math.min(columns, widest));
  const { job, node, standing, title, because, evidence, doing, advice } = explanation;
  return [
    `${job}${node === undefined ? '' : ` (${printable(node)})`} ${standing}: ${title}`,
    ...section('why', because, width),
    ...evidenceLines(evidence),
    ...section('what is being done', doing, width),
    ...section('what you could do', advice, width),
  ].join('\n');
}

function section(title: string, sentences: readonly string[], width: number): string[] {
  if (sentences.length === 0) return [];
  return ['', title, ...sentences.flatMap((sentence) => wrap(sentence, width, '  ', '    '))];
}

/** As they are written: not wrapped, so that they can be searched for. */
function evidenceLines(evidence: readonly Evidence[]): string[] {
  const shown = evidence.filter((one, index) => evidence.findIndex((other) => sameAs(one, other)) === index);
  if (shown.length === 0) return [];
  return [
    '',
    'shown by',
    ...shown.flatMap((one) => [`  ${placeOf(one)}  ${one.at}`, ...one.lines.map((line) => `      ${line}`)]),
  ];
}

const sameAs = (a: Evidence, b: Evidence): boolean =>
  a.file === b.file && a.offset === b.offset && a.entry === b.entry;

/** `events.log, byte 1811` (a colon would pass for a line), or `journal.jsonl#12` (an entry's number). */
function placeOf({ file, offset, entry }: Evidence): string {
  if (offset !== undefined) return `${file}, byte ${offset}`;
  return entry === undefined ? file : `${file}#${entry}`;
}

/** Groups of jobs, each with its cause and an example's account. */
export function groupText(groups: readonly ExplainedGroup[], columns: number): string {
  const width = Math.max(40, Math.min(columns, 100));
  return groups
    .map(({ standing, title, jobs, example }) =>
      [
        `${jobs.length} ${standing}: ${title}`,
        ...wrap(`${jobs.length === 1 ? 'job' : 'jobs'} ${jobList(jobs.map(printable))}`, width, '  ', '    '),
        ...(example.cause === 'none' ? [] : example.because.slice(0, 2)).flatMap((sentence) =>
          wrap(`${example.job}: ${sentence}`, width, '  ', '    '),
        ),
      ].join('\n'),
    )
    .join('\n\n');
}
