import path from 'node:path';
import { counted } from '../../base/counted.ts';
import type { SubmitFacts } from '../../adopt/submit-facts.ts';
import type { Finding, Level } from '../../base/finding.ts';
import { printable, printableLines, withoutSecrets } from '../../base/printable.ts';
import { clip, wrap, wrapLines } from '../../base/text-table.ts';
import type { CondorAnswer } from './ask-condor.ts';

const titles: [Level, string][] = [
  ['error', 'errors: these fail jobs or lose results'],
  ['warning', 'warnings: these may fail jobs or lose results'],
  ['note', 'notes'],
];

/** The findings as text: grouped by level, each with its line and its fix. */
export function findingsText(
  file: string,
  { submission }: SubmitFacts,
  findings: readonly Finding[],
  condor: CondorAnswer,
  excerpt: (finding: Finding) => string,
  width: number,
): string {
  return page([
    headline(file, submission.queues, findings),
    '',
    ...linesByLevel(findings, excerpt, width),
    ...condorLines(condor).map((line) => wrapLines(line, width)),
  ]);
}

/** The findings of a DAG as text, and what follows them. */
export function dagFindingsText(
  title: string,
  findings: readonly Finding[],
  excerpt: (finding: Finding) => string,
  width: number,
  after: readonly string[],
): string {
  return page([
    `${title}; ${countsOf(findings)}`,
    '',
    ...linesByLevel(findings, excerpt, width),
    ...after.map((line) => wrapLines(line, width)),
  ]);
}

const page = (lines: readonly string[]): string =>
  `${lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()}\n`;

function linesByLevel(
  findings: readonly Finding[],
  excerpt: (finding: Finding) => string,
  width: number,
): string[] {
  return titles.flatMap(([level, title]) => {
    const group = findings.filter((finding) => finding.level === level);
    if (group.length === 0) return [];
    return [title, ...group.flatMap((finding) => findingLines(finding, excerpt(finding), width)), ''];
  });
}

const countsOf = (findings: readonly Finding[]): string =>
  titles
    .map(([level]) => counted(findings.filter((finding) => finding.level === level).length, level))
    .join(', ');

function headline(
  file: string,
  queues: SubmitFacts['submission']['queues'],
  findings: readonly Finding[],
): string {
  const known = queues.every(({ total }) => total !== undefined);
  const jobs = queues.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const total = known ? counted(jobs, 'job') : `at least ${counted(Math.max(jobs, 1), 'job')}`;
  return `${printable(path.basename(file))}: ${total}; ${countsOf(findings)}`;
}

function findingLines(
  { file = '', line = 1, rule, message, fix, excerpt = [] }: Finding,
  source: string,
  width: number,
): string[] {
  return [
    `  ${printable(file)}:${line}  ${rule}`,
    ...(source === ''
      ? []
      : [`      | ${clip(printable(withoutSecrets(source.trim())), Math.min(width, 108) - 8)}`]),
    ...excerpt.map((text) => `      | ${clip(printableLines(text), Math.min(width, 108) - 8)}`),
    ...wrap(printable(withoutSecrets(message)), width, '      '),
    ...wrap(`fix: ${printable(withoutSecrets(fix))}`, width, '      ', '        '),
  ];
}

function condorLines({ asked, why, version, accepted, confined, messages }: CondorAnswer): string[] {
  if (!asked) return [`HTCondor was not asked: ${why ?? ''}`];
  const said = messages.map((message) => `  ${printable(withoutSecrets(message))}`);
  return [
    `HTCondor ${version ?? ''} ${accepted === true ? 'accepts the file' : 'refuses the file'}${said.length === 0 ? '' : ':'}`,
    ...said,
    ...(confined === true
      ? []
      : [
          '  (the kernel did not confine it: condor_submit is a script here, or there are no user namespaces)',
        ]),
  ];
}
