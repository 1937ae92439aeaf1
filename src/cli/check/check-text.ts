import { counted, type Finding, type Level, levels, printable, printableLines, wrap } from '@updraft/base';
import { fixLines } from '../adopt/findings-text.ts';
import type { CheckReport } from './gathered.ts';

const titles: Record<Level, string> = {
  error: 'errors: jobs would fail',
  warning: 'warnings: jobs may fail, or cost more than they need',
  note: 'worth knowing',
};

/** `2 errors, 1 warning`; empty without findings. */
export function countFindings(findings: readonly Finding[]): string {
  const counts = levels.flatMap((level) => {
    const count = findings.filter((finding) => finding.level === level).length;
    return count === 0 ? [] : [counted(count, level)];
  });
  return counts.join(', ');
}

/** The findings by level, each with its place and its fix, wrapped at `width`. */
export function findingLines(findings: readonly Finding[], width: number): string[] {
  return levels.flatMap((level) => {
    const group = findings.filter((finding) => finding.level === level);
    if (group.length === 0) return [];
    return [titles[level], ...groupAlike(group).flatMap((some) => findingBlock(some, width)), ''];
  });
}

/** Findings of one rule with one fix are shown together. */
function groupAlike(findings: readonly Finding[]): Finding[][] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const key = `${finding.rule} ${finding.fix}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()];
}

function findingBlock(some: readonly Finding[], width: number): string[] {
  const [{ rule, fix, message }] = some as [Finding, ...Finding[]];
  const places = some.map(placeText);
  if (some.length === 1)
    return [
      `  ${places[0] ?? ''}${rule}`,
      ...wrap(printable(message), width, '      ', '      '),
      ...excerptLines(some[0]),
      ...fixLines(fix, width),
    ];
  const column = Math.max(...places.map((place) => place.length));
  const each = some.flatMap((finding, index) => {
    const first = `      ${(places[index] ?? '').padEnd(column)}`;
    return [
      ...wrap(printable(finding.message), width, first, ' '.repeat(first.length)),
      ...excerptLines(finding),
    ];
  });
  return [`  ${rule}`, ...each, ...fixLines(fix, width)];
}

const excerptLines = (finding: Finding | undefined): string[] =>
  (finding?.excerpt ?? []).map((line) => `          ${printableLines(line)}`);

const placeText = ({ file, line }: Finding): string =>
  file === undefined ? '' : `${printable(file)}:${line ?? 1}  `;

/** Max lines of one kind; `--json` has them all. */
const shown = 12;

/** What was checked and what could not be. */
function lookedLines({ looked, unchecked }: CheckReport, width: number): string[] {
  const column = Math.max(0, ...looked.slice(0, shown).map(({ what }) => what.length));
  const seen = looked.map(({ what, said }) => {
    const first = `  ${printable(what).padEnd(column)}  `;
    return wrap(printable(said), width, first, ' '.repeat(first.length)).join('\n');
  });
  const reasons = Map.groupBy(unchecked, ({ why }) => why);
  return [
    ...(looked.length === 0 ? [] : ['checked', ...cut(seen, '  ')]),
    ...(unchecked.length === 0 ? [] : ['could not be checked']),
    ...[...reasons].flatMap(([why, all]) => {
      const names = cut(
        all.map(({ what }) => what),
        '',
      ).join(', ');
      return wrap(`${printable(names)}: ${printable(why)}`, width, '  ', '      ');
    }),
  ];
}

const cut = (lines: readonly string[], indent: string): string[] =>
  lines.length <= shown
    ? [...lines]
    : [...lines.slice(0, shown), `${indent}and ${lines.length - shown} more (--json has all)`];

export function checkText(title: string, report: CheckReport, width: number): string {
  const body = [...findingLines(report.findings, width), ...lookedLines(report, width)];
  return `${[...wrap(title, width, '', '  '), ...(body.length === 0 ? [] : ['', ...body])].join('\n').trimEnd()}\n`;
}
