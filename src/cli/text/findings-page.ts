import path from 'node:path';
import { counted, type Finding, type Level, levels, printable, printableLines } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import type { Block, Document, Fact } from '@updraft/view/document';
import type { CheckReport } from '../../preflight/gathered.ts';
import { PrintedFault } from '../print-fault.ts';

const titles: Record<Level, string> = {
  error: 'errors: jobs would fail',
  warning: 'warnings: jobs may fail, or cost more than they need',
  note: 'worth knowing',
};

const ofLevel = (findings: readonly Finding[], level: Level): Finding[] =>
  findings.filter((finding) => finding.level === level);

export const errorsIn = (findings: readonly Finding[]): number => ofLevel(findings, 'error').length;

/** `2 errors, 1 warning`; empty without findings. */
export const countFindings = (findings: readonly Finding[]): string =>
  levels
    .map((level) => ({ level, count: ofLevel(findings, level).length }))
    .flatMap(({ level, count }) => (count === 0 ? [] : [counted(count, level)]))
    .join(', ');

/** The findings by level; those of one rule with one fix are shown together. */
export const findingsPage = (findings: readonly Finding[]): Document =>
  levels.flatMap((level): Document => {
    const group = ofLevel(findings, level);
    if (group.length === 0) return [];
    const alike = Map.groupBy(group, ({ rule, fix }) => `${rule} ${fix}`);
    return [titles[level], ...alike.values().map(problemOf), ''];
  });

const problemOf = (some: readonly Finding[]): Block => ({
  rule: some[0]?.rule ?? '',
  at: some.map(({ file, line = 1, excerpt = [], message }) => ({
    place: file === undefined ? '' : `${printable(file)}:${line}`,
    lines: excerpt.map(printableLines),
    message: printable(message),
  })),
  fix: (some[0]?.fix ?? '').split('\n').map(printable).join('\n'),
});

/** Max lines of one kind; `--json` has them all. */
const shown = 12;

const rest = ({ length }: readonly unknown[]): string[] =>
  length <= shown ? [] : [`and ${length - shown} more (--json has all)`];

/** What `check` found, what it inspected, and what it could not. */
export function checkPage(title: string, { findings, looked, unchecked }: CheckReport): Document {
  const facts = looked.slice(0, shown).map(({ what, said }): Fact => [printable(what), printable(said)]);
  const reasons = [...Map.groupBy(unchecked, ({ why }) => why)].map(([why, all]) => {
    const names = [...all.slice(0, shown).map(({ what }) => what), ...rest(all)];
    return `  ${printable(names.join(', '))}: ${printable(why)}`;
  });
  const page = [
    ...findingsPage(findings),
    ...(looked.length === 0 ? [] : ['checked', { facts }, ...rest(looked).map((more) => `  ${more}`)]),
    ...(unchecked.length === 0 ? [] : ['could not be checked', ...reasons]),
  ];
  return [title, ...(page.length === 0 ? [] : ['', ...(page.at(-1) === '' ? page.slice(0, -1) : page)])];
}

/** How a command ends if it found errors; in JSON they say it themselves. */
export function errorsFound(
  file: string,
  { errors, message, again, json }: { errors: number; message: string; again: string; json: boolean },
): Fault {
  const fix = `apply the ${errors === 1 ? 'fix' : 'fixes'} above, then run: ${again}`;
  const fault = new Fault('file-invalid', message, { fix, about: file });
  return json ? new PrintedFault(fault) : fault;
}

/** How `adopt` ends if there are errors. */
export const adoptErrors = (
  file: string,
  { errors, argument, json }: { errors: number; argument: string; json: boolean },
): Fault => {
  const message = `${path.basename(file)} has errors`;
  return errorsFound(file, { errors, message, again: `updraft adopt ${argument}`, json });
};
