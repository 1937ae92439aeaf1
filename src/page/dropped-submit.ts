import path from 'node:path';
import { findingsHeadline, groupFindings } from '../adopt/finding-groups.ts';
import { lintSubmission } from '../adopt/lint.ts';
import type { SubmitFiles } from '../adopt/submit-files.ts';
import { survey } from '../adopt/survey.ts';
import { lintDag, shownDag, surveyDag } from '../dag/survey-dag.ts';
import { limitsAt } from '../pool/submit-limits.ts';
import type { AdoptedFile, DroppedFile, ChosenPool } from './messages.ts';

/** Larger than any submit file, script or list written by hand. */
const maxTextBytes = 4 << 20;

/** All of them together: a folder may be full of results. */
const maxTextsBytes = 128 << 20;

/** The texts of the files, the first ones first, that are small enough to be scripts or lists, by name. */
export async function readTexts(files: readonly DroppedFile[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  let left = maxTextsBytes;
  for (const { name, blob } of files) {
    if (blob.size > Math.min(maxTextBytes, left)) continue;
    left -= blob.size;
    // One that cannot be read is as one that was not dropped.
    const bytes = await blob.arrayBuffer().catch(() => undefined);
    // As HTCondor reads it: with a byte order mark.
    const text =
      bytes === undefined ? undefined : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    if (text !== undefined) texts.set(name, text);
  }
  return texts;
}

/** What `adopt` finds in a submit file, by the files that were dropped with it. */
export function lintDropped(file: string, texts: Texts, now: Date, pool: ChosenPool): AdoptedFile {
  const text = texts.get(file) ?? '';
  const facts = survey({ file, text, ...contextOf(file, texts, now, pool) });
  const findings = lintSubmission(facts);
  const name = path.posix.basename(file);
  const { wrapper } = facts;
  return {
    headline: findingsHeadline(name, facts.submission, findings),
    groups: groupFindings(findings, [...(wrapper === undefined ? [] : [wrapper]), { file: name, text }]),
  };
}

/** What `adopt` finds in a DAG and in its nodes' submit files that were dropped with it. */
export function lintDroppedDag(file: string, texts: Texts, now: Date, pool: ChosenPool): AdoptedFile {
  const context = contextOf(file, texts, now, pool);
  const name = path.posix.basename(file);
  const facts = surveyDag({ file: name, text: texts.get(file) ?? '', folder: undefined, ...context });
  return shownDag(facts, lintDag(facts));
}

export type Texts = ReadonlyMap<string, string>;

const contextOf = (file: string, texts: Texts, now: Date, pool: ChosenPool) => ({
  files: filesBeside(path.posix.dirname(file), texts),
  env: {},
  now,
  limits: limitsAt(pool),
});

/** What was dropped is there; of anything else it is unknown whether it exists. */
function filesBeside(folder: string, texts: Texts): SubmitFiles {
  const read = (name: string): string | undefined => texts.get(path.posix.join(folder, name));
  return {
    read,
    stat: (name) => {
      const text = read(name);
      return text === undefined ? undefined : { kind: 'file', bytes: text.length };
    },
    list: () => undefined,
  };
}
