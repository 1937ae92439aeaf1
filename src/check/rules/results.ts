import path from 'node:path';
import { lintWrapper } from '../../adopt/lint.ts';
import { type JobCode, mentions } from '../code/code.ts';
import type { CodeFacts, PlanFacts } from '../facts.ts';
import type { Finding, Rule } from '../../base/finding.ts';

/** Rules about what a job must leave behind. */
export const resultRules: Rule<PlanFacts & CodeFacts>[] = [
  {
    name: 'output-unwritten',
    level: 'warning',
    about: 'Nothing that is sent mentions the whole name of a declared output, so nothing seems to write it.',
    check: ({ plan, code, where }) => {
      if (!code.isKnown) return [];
      return plan.spec.train.outputs.flatMap((output) => {
        const similar = similarSaves(output, code);
        if (mayWrite(output, code, similar.length > 0)) return [];
        const saves = similar.length > 0 ? similar : savesIn(code);
        return {
          message: `nothing seems to write the output "${output}", and every job would fail without it${describeSaves(saves)}`,
          fix: `declare what the training writes${saves[0] === undefined ? ', by its path in the work folder' : `, such as "${saves[0].name}"`}, or let it write "${output}"`,
          place: where('train', 'outputs'),
        };
      });
    },
  },
];

interface Saved {
  name: string;
  file: string;
  line: number;
}

/** What the Python files write, where the whole name is known. */
const savesIn = ({ files }: JobCode): Saved[] =>
  files.flatMap((file) =>
    file.kind !== 'python'
      ? []
      : file.script.saves
          .filter(({ name }) => !name.includes('*') && !name.startsWith('/'))
          .map(({ name, line }) => ({ name, line, file: file.file })),
  );

/** Files with the same stem but another extension. */
function similarSaves(output: string, code: JobCode): Saved[] {
  const { stem, extension } = partsOf(output);
  return savesIn(code).filter((save) => {
    const other = partsOf(save.name);
    return extension !== '' && other.stem === stem && other.extension !== extension;
  });
}

const describeSaves = (saves: readonly Saved[]): string =>
  saves.length === 0
    ? ''
    : `; ${saves
        .slice(0, 3)
        .map(({ file, line, name }) => `${file}:${line} writes "${name}"`)
        .join(', ')}`;

function partsOf(name: string): { base: string; stem: string; extension: string } {
  const base = path.posix.basename(name.replace(/\/+$/, ''));
  const extension = path.posix.extname(base);
  return { base, extension, stem: base.slice(0, base.length - extension.length) };
}

/** Whether the code mentions the output, or puts its name together. */
function mayWrite(output: string, code: JobCode, isSimilar: boolean): boolean {
  const { base, stem, extension } = partsOf(output);
  const says = (pattern: string): boolean => code.texts.some((text) => new RegExp(pattern).test(text));
  if (says(`${escape(base)}(?!\\w)`) || isSaved(output, code)) return true;
  const pieces = base.split(/\{[^{}]*\}|[*?[\]]/);
  if (pieces.length > 1) return pieces.some((piece) => piece.length > 2 && mentions(code, piece));
  // `f"{name}.json"`, `stem + ".json"`, `"%s.json" % name`
  if (extension !== '' && says(`["'}]${escape(extension)}\\b|%\\w+${escape(extension)}\\b`)) return true;
  if (isSimilar) return false;
  const above = output.split('/').slice(0, -1);
  const isWord = code.commands.some(({ words }) => words.some((word) => word.split(/[=/]/).includes(stem)));
  return (
    isWord ||
    says(`["'/]${escape(stem)}["'/]`) ||
    above.some((folder) => folder.length > 1 && says(`(?<![\\w.])${escape(folder)}(?![\\w.(])`))
  );
}

/** Whether a file writes it by a name of which a part is not known, or writes the folder around it. */
function isSaved(output: string, { files }: JobCode): boolean {
  return files.some(
    (file) =>
      file.kind === 'python' &&
      file.script.saves.some(({ name, isFolder }) => {
        const pattern = name.replace(/^\.\//, '').replace(/\/$/, '');
        const whole = pattern.split('*').map(escape).join('.*');
        return new RegExp(`^(?:.*/)?${whole}${isFolder ? '(?:/|$)' : '$'}`).test(output);
      }),
  );
}

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** `no-interpreter` does not matter here, since the shell starts the scripts; downloads have their own rule. */
const reportedElsewhere = new Set(['no-interpreter', 'run-time-download']);

/** Findings of `adopt`'s lint in the shell scripts that the job runs. */
export function scriptFindings({ code }: CodeFacts): Finding[] {
  return code.files
    .filter(({ kind }) => kind === 'shell')
    .flatMap(({ file, text }) => lintWrapper(file, text))
    .filter(({ rule }) => !reportedElsewhere.has(rule));
}
