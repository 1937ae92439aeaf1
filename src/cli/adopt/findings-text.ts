import type { FindingGroup, ShownFinding } from '../../adopt/finding-groups.ts';
import { printable } from '../../base/printable.ts';
import { clip, wrap, wrapLines } from '../../base/text-table.ts';
import type { CondorAnswer } from './ask-condor.ts';

/** The findings as text: grouped by level, each with its line and its fix; then the lines `after`. */
export function findingsText(
  headline: string,
  groups: readonly FindingGroup[],
  after: readonly string[],
  width: number,
): string {
  const lines = [headline, ''];
  for (const { title, findings } of groups)
    lines.push(wrapLines(title, width), ...findings.flatMap((finding) => findingLines(finding, width)), '');
  lines.push(...after.map((line) => wrapLines(line, width)));
  return `${lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()}\n`;
}

const findingLines = ({ place, rule, lines, message, fix }: ShownFinding, width: number): string[] => [
  `  ${place}  ${rule}`,
  ...lines.map((line) => `      | ${clip(line, Math.min(width, 108) - 8)}`),
  ...wrap(message, width, '      '),
  ...wrap(`fix: ${fix}`, width, '      ', '        '),
];

/** What HTCondor itself says of a submit file. */
export function condorLines({ asked, why, version, accepted, confined, messages }: CondorAnswer): string[] {
  if (!asked) return [`HTCondor was not asked: ${why ?? ''}`];
  const said = messages.map((message) => `  ${printable(message)}`);
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
