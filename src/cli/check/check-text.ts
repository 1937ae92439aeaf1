import { printable } from '../../base/printable.ts';
import { levels, type Finding, type Level } from '../../check/finding.ts';
import type { Looked, Unchecked } from './gathered.ts';

const titles: Record<Level, string> = {
  error: 'errors: jobs would fail',
  warning: 'warnings: jobs may fail, or cost more than they need',
  note: 'worth knowing',
};

export interface Told {
  findings: readonly Finding[];
  looked: readonly Looked[];
  unchecked: readonly Unchecked[];
}

/** `2 errors, 1 warning`; undefined where there is nothing to count. */
export function countFindings(findings: readonly Finding[]): string {
  const counts = levels.flatMap((level) => {
    const count = findings.filter((finding) => finding.level === level).length;
    return count === 0 ? [] : [`${count} ${level}${count === 1 ? '' : 's'}`];
  });
  return counts.join(', ');
}

/** The findings by how bad they are, each with its place and its fix. */
export function findingLines(findings: readonly Finding[]): string[] {
  return levels.flatMap((level) => {
    const group = findings.filter((finding) => finding.level === level);
    if (group.length === 0) return [];
    return [titles[level], ...group.flatMap(oneFinding), ''];
  });
}

function oneFinding({ rule, message, fix, file, line }: Finding): string[] {
  const place = file === undefined ? '' : `${printable(file)}:${line ?? 1}  `;
  return [`  ${place}${rule}`, `      ${printable(message)}`, `      fix: ${printable(fix)}`];
}

/** What was looked at and what could not be, a line each. */
export function lookedLines({ looked, unchecked }: Told): string[] {
  const width = Math.max(0, ...looked.map(({ what }) => what.length));
  return [
    ...(looked.length === 0 ? [] : ['looked at']),
    ...looked.map(({ what, said }) => `  ${printable(what).padEnd(width)}  ${printable(said)}`),
    ...(unchecked.length === 0 ? [] : ['could not be checked']),
    ...unchecked.map(({ what, why }) => `  ${printable(what)}: ${printable(why)}`),
  ];
}
