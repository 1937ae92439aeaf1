import path from 'node:path';
import { findingsHeadline, groupFindings, type FindingGroup } from '../adopt/finding-groups.ts';
import { lintSubmission } from '../adopt/lint.ts';
import type { SubmitFiles } from '../adopt/submit-files.ts';
import { survey } from '../adopt/survey.ts';
import { submitLimits } from '../pool/submit-limits.ts';
import type { DroppedFile } from './messages.ts';

/** Larger than any submit file, script or list written by hand. */
const maxTextBytes = 4 << 20;

/** The texts of all dropped files that are small enough to be scripts or lists, by name. */
export async function readTexts(files: readonly DroppedFile[]): Promise<Map<string, string>> {
  const small = files.filter(({ blob }) => blob.size <= maxTextBytes);
  return new Map(await Promise.all(small.map(async ({ name, blob }) => [name, await blob.text()] as const)));
}

/** What `adopt` finds in a submit file, by the files that were dropped with it. */
export function lintDropped(
  file: string,
  texts: ReadonlyMap<string, string>,
  now: Date,
): { headline: string; groups: FindingGroup[] } {
  const text = texts.get(file) ?? '';
  const facts = survey({
    file,
    text,
    files: filesBeside(path.posix.dirname(file), texts),
    env: {},
    now,
    limits: submitLimits(),
  });
  const findings = lintSubmission(facts);
  const name = path.posix.basename(file);
  const { wrapper } = facts;
  return {
    headline: findingsHeadline(name, facts.submission, findings),
    groups: groupFindings(findings, [...(wrapper === undefined ? [] : [wrapper]), { file: name, text }]),
  };
}

/** What was dropped is there; of anything else it is unknown whether it exists. */
function filesBeside(folder: string, texts: ReadonlyMap<string, string>): SubmitFiles {
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
