import { printable } from '@updraft/base';
import type { Document } from '@updraft/view/document';
import { type Explanation, type Headline, standingWords } from '../diagnosis/explanation.ts';
import type { Evidence } from '../history/history.ts';
import { jobLabel } from '../journal/describe-parameters.ts';

/**
 * One job explained: why, the traceback or the log lines that show it, what happens now, and the fix. Nothing is said
 * twice; journal entries, which are JSON, are shown only if `verbose`.
 */
export function explanationPage(explanation: Explanation, verbose = false): Document {
  const { job, node = job, log, standing, title, because, traceback, evidence, doing, advice } = explanation;
  const raised = traceback?.lines.find((line) => !line.startsWith(' ')) ?? '';
  const named = [
    node === job ? '' : ` (${printable(node)})`,
    log === undefined ? '' : ` of ${printable(log)}`,
    job === unnamedJob ? ' is' : '',
  ].join('');
  const why = because.map((sentence) => (raised === '' ? sentence : sentence.replace(`: ${raised}`, '')));
  const code = traceback && { place: `${traceback.file}:`, lines: traceback.lines, isCode: true };
  const shown = different(verbose ? evidence : notSaid(evidence, because))
    // What was pasted has no place to look at.
    .filter(({ at, lines }) => at !== '' || lines.length > 0)
    .map((one) => ({ place: `${locationOf(one)}  ${one.at}`.trimEnd(), lines: one.lines }));
  return [
    { title: `${explainedLabel(explanation)}${named} ${standingWords(standing)}: ${title}` },
    '',
    {
      facts: [
        ['why', ...why, ...(code === undefined ? [] : [code])],
        ['log', ...shown],
        ['now', ...doing],
        ['fix', ...advice],
      ],
      indent: '',
    },
  ];
}

/** The job of a pasted hold reason that does not name it. */
export const unnamedJob = 'This job';

/** The job that an explanation is about, as people read it. */
export const explainedLabel = ({ job, name }: Headline): string => printable(jobLabel(job, name));

/** Evidence that neither the sentences nor earlier lines contain. */
function notSaid(evidence: readonly Evidence[], because: readonly string[]): Evidence[] {
  const said = [...because];
  return evidence
    .filter(({ entry }) => entry === undefined)
    .map((one) => {
      const lines = one.lines.filter((line) => isTitle(line) || !said.some((other) => says(other, line)));
      said.push(...lines);
      return { ...one, lines };
    });
}

/** `012 Job was held.` */
const isTitle = (line: string): boolean => /^\d{3} /.test(line);

/** The same words about another slot add nothing. */
const says = (said: string, line: string): boolean => withoutSlots(said).includes(withoutSlots(line));
const withoutSlots = (line: string): string => line.replaceAll(/\bslot\d+(?:_\d+)?@/g, '');

const different = (evidence: readonly Evidence[]): Evidence[] =>
  evidence.filter((one, index) => evidence.findIndex((other) => isSame(one, other)) === index);

const isSame = (a: Evidence, b: Evidence): boolean =>
  a.file === b.file && a.offset === b.offset && a.entry === b.entry;

/** `events.log, byte 1811` (a colon would look like a line number), or `journal.jsonl#12` (an entry's number). */
function locationOf({ file, offset, entry }: Evidence): string {
  if (offset !== undefined) return `${file}, byte ${offset}`;
  return entry === undefined ? file : `${file}#${entry}`;
}
