import { posix } from 'node:path';
import {
  findingsHeadline,
  groupFindings,
  hideSecretsOf,
  lintSubmission,
  quotedTexts,
} from '@updraft/htcondor/lint';
import {
  type FileFact,
  filesFrom,
  type PoolLimits,
  type SubmitFacts,
  surveyWhereItFits,
} from '@updraft/htcondor/submit';
import { firstFew, printable, given } from '@updraft/base';
import {
  type DagRun,
  lintDag,
  readDag,
  readDagRun,
  rescueLines,
  shownDag,
  submitFile,
  surveyDag,
} from '@updraft/htcondor/dag';
import { type Drop, filesIn } from './drop.ts';
import type { SortedFiles } from './dropped-logs.ts';
import type { DroppedFile } from './messages.ts';
import { type Document as Page, groupedProblems } from '@updraft/view/document';

/** What `adopt` finds in a submit file, by the files that were dropped with it. */
export function lintDropped(file: string, drop: Drop, now: Date, limits: PoolLimits): Page {
  const text = drop.texts.get(file) ?? '';
  const { asked, context } = contextOf(file, drop, now, limits);
  const facts = surveyWhereItFits({ file, text, ...context });
  const findings = lintSubmission(facts);
  const name = posix.basename(file);
  const { wrapper } = facts;
  const texts = given(wrapper, { file: name, text });
  return [
    { title: findingsHeadline(name, facts.submission, findings) },
    ...notDropped(asked, [facts]),
    ...groupedProblems(groupFindings(findings, texts)),
  ];
}

/** What `adopt` finds in a DAG and in its nodes' submit files that were dropped with it. */
export function lintDroppedDag(file: string, drop: Drop, now: Date, limits: PoolLimits): Page {
  const { asked, context } = contextOf(file, drop, now, limits);
  const name = posix.basename(file);
  const facts = surveyDag({ file: name, text: drop.texts.get(file) ?? '', folder: undefined, ...context });
  const { headline, groups } = shownDag(facts, lintDag(facts));
  const known = facts.outcomes.map((one) => one.facts);
  const notes = [...notDropped(asked, known), ...facts.rescues.flatMap(rescueLines)];
  return [{ title: headline }, ...notes, ...groupedProblems(groups)];
}

function contextOf(file: string, drop: Drop, now: Date, limits: PoolLimits) {
  const files = filesFrom(filesIn(drop), posix.dirname(file));
  const asked = new Map<string, FileFact | undefined>();
  const stat = (name: string): FileFact | undefined => asked.set(name, files.stat(name)).get(name);
  return { asked, context: { files: { ...files, stat }, env: {}, now, limits } };
}

const maxNamed = 8;

function notDropped(
  asked: ReadonlyMap<string, FileFact | undefined>,
  facts: readonly SubmitFacts[],
): string[] {
  // An executable that is missing is also looked for in folders above; a rescue file need not be there.
  const isGuess = (name: string): boolean =>
    asked.get(name.replace(/^(?:\.\.\/)+/, '')) !== undefined || /\.rescue\d{3}$/.test(name);
  const names = [...asked].flatMap(([name, fact]) => (fact === undefined && !isGuess(name) ? [name] : []));
  if (names.length === 0) return [];
  const hide = hideSecretsOf(facts.flatMap(quotedTexts));
  const shown = names.map((name) => hide(printable(name)));
  return [`Not checked, because not dropped: ${firstFew(shown, maxNamed)}.`];
}

/** The DAGs that no other of the dropped ones is made of, and the submit files that none of them names. */
export function mainFiles(
  { dags, submits }: Pick<SortedFiles, 'dags' | 'submits'>,
  { texts }: Drop,
): { mains: DroppedFile[]; alone: DroppedFile[] } {
  const [parts, ofNodes] = [new Set<string>(), new Set<string>()];
  for (const { name } of dags) {
    const { nodes } = readDag(posix.basename(name), texts.get(name) ?? '', (one) => {
      const part = beside(name, one);
      if (part !== name) parts.add(part);
      return texts.get(part);
    });
    for (const node of nodes) ofNodes.add(beside(name, submitFile(node)));
  }
  const mains = dags.filter(({ name }) => !parts.has(name));
  const alone = submits.filter(({ name }) => !ofNodes.has(name));
  return { mains: mains.length === 0 ? [...dags] : mains, alone };
}

/** A DAG with what was dropped of its latest run. */
export async function droppedRun(
  { name }: DroppedFile,
  { texts, named }: Drop,
  files: readonly DroppedFile[],
): Promise<DagRun> {
  const shownAs = (one: string): string => beside(name, one);
  const read = (one: string): string | undefined => texts.get(shownAs(one));
  const dag = readDag(posix.basename(name), texts.get(name) ?? '', read);
  const lines = async function* (one: string): AsyncGenerator<string, void, void> {
    named.add(shownAs(one));
    const file = files.find((other) => other.name === shownAs(one));
    if (file !== undefined) yield* (await file.blob.text()).split('\n');
  };
  return readDagRun(dag, { read, lines, shownAs });
}

/** A file that is named from the folder of another. */
const beside = (file: string, name: string): string => posix.join(posix.dirname(file), name);
