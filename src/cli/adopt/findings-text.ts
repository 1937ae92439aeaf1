import path from 'node:path';
import type { FindingGroup, ShownFinding } from '@updraft/htcondor/lint';
import { clip, printable, wrap, wrapLines } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import { PrintedFault } from '../print-fault.ts';
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
  ...fixLines(fix, width),
];

/** What to do; lines to write are not broken, so that they can be copied. */
export function fixLines(fix: string, width: number): string[] {
  const [words = '', ...lines] = fix.split('\n').map(printable);
  const isLine = /^\+?[\w.]+ = /.test(words);
  return [
    ...(isLine ? [`      fix: ${words}`] : wrap(`fix: ${words}`, width, '      ', '        ')),
    ...lines.map((line) => `          ${line}`),
  ];
}

/** How `adopt` ends if there are errors; in JSON they say it themselves. */
export function errorsFound(file: string, argument: string, { json }: { json?: true }): Fault {
  const fault = new Fault('file-invalid', `${path.basename(file)} has errors`, {
    fix: `apply the fixes above, then run: updraft adopt ${argument}`,
    about: file,
  });
  return json === true ? new PrintedFault(fault) : fault;
}

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
