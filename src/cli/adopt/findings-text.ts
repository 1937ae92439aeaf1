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
  const common = findings.filter(({ rule }) => rule === 'worth-adding');
  const own = findings.filter((finding) => !common.includes(finding));
  const lines = [headline(file, submission.queues, own), ''];
  for (const [level, title] of titles) {
    const group = own.filter((finding) => finding.level === level);
    if (group.length === 0) continue;
    lines.push(title);
    for (const finding of group) lines.push(...findingLines(finding, excerpt(finding), width));
    lines.push('');
  }
  for (const { message } of common) lines.push(...wrap(printable(message), width, '', '  '), '');
  lines.push(...condorLines(condor).map((line) => wrapLines(line, width)));
  return `${lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()}\n`;
}

function headline(
  file: string,
  queues: SubmitFacts['submission']['queues'],
  findings: readonly Finding[],
): string {
  const known = queues.every(({ total }) => total !== undefined);
  const jobs = queues.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const counts = titles.map(([level]) => {
    const count = findings.filter((finding) => finding.level === level).length;
    return counted(count, level);
  });
  const total = known ? counted(jobs, 'job') : `at least ${counted(Math.max(jobs, 1), 'job')}`;
  return `${printable(path.basename(file))}: ${total}; ${counts.join(', ')}`;
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
