import { counted, type Finding, type Level, printable, printableLines } from '@updraft/base';
import { textWithoutSecrets } from '@updraft/base/secrets';
import { lineWithoutSecrets } from './hide-secrets.ts';
import type { Submission } from '../submit/submission.ts';
import { isScript } from '../submit/submit-files.ts';

/** The findings of one level, as they are shown. */
export interface FindingGroup {
  level: Level;
  title: string;
  findings: ShownFinding[];
}

/** A finding without secrets and control characters. */
export interface ShownFinding {
  /** `job.sub:12` */
  place: string;
  rule: string;
  /** The lines it is about. */
  lines: string[];
  message: string;
  fix: string;
}

const titles: [Level, string][] = [
  ['error', 'errors: these fail jobs or lose results'],
  ['warning', 'warnings: these may fail jobs or lose results'],
  ['note', 'notes'],
];

/** Advice that half of all files get is one line, not a finding to count. */
const isCommon = ({ rule }: Finding): boolean => rule === 'worth-adding';

/** The worst first, common advice last. `texts`: the submit file and its script. */
export function groupFindings(
  findings: readonly Finding[],
  texts: readonly { file: string; text: string }[],
): FindingGroup[] {
  const last = findings.reduce((max, { line = 0 }) => Math.max(max, line), 0);
  const lines = new Map(texts.map(({ file, text }) => [file, text.split('\n', last)]));
  const byLevel = titles.flatMap(([level, title]): FindingGroup[] => {
    const group = findings.filter((finding) => finding.level === level && !isCommon(finding));
    return group.length === 0 ? [] : [{ level, title, findings: group.map((one) => shown(one, lines)) }];
  });
  const common = commonAdvice(findings.filter(isCommon));
  return common === '' ? byLevel : [...byLevel, { level: 'note', title: common, findings: [] }];
}

/** What several submit files lack, each reason once. */
function commonAdvice(findings: readonly Finding[]): string {
  const lines = new Map<string, Set<string>>();
  for (const { message } of findings)
    for (const [, some = '', why = ''] of message.matchAll(/((?:(?: and )?`[^`]*`)+) \(([^()]*)\)/g))
      lines.set(why, new Set([...(lines.get(why) ?? []), ...some.split(' and ')]));
  const texts = [...lines].map(([why, some]) => `${[...some].join(' and ')} (${why})`);
  return texts.length === 0 ? '' : printable(`also worth adding: ${texts.join('; ')}`);
}

function shown(
  { file = '', line = 0, rule, message, fix, excerpt = [] }: Finding,
  texts: ReadonlyMap<string, readonly string[]>,
): ShownFinding {
  const [first = ''] = texts.get(file) ?? [];
  const clean = isScript(file, first) ? textWithoutSecrets : lineWithoutSecrets;
  const text = texts.get(file)?.[line - 1]?.trim() ?? '';
  // A line of UTF-16 cannot be read as text.
  const source = text === '' || text.includes('\0') ? [] : [text];
  return {
    place: `${printable(file)}:${Math.max(line, 1)}`,
    rule,
    lines: (excerpt.length === 0 ? source : excerpt).map((one) => printableLines(clean(one))),
    message: printable(message),
    fix: fix.split('\n').map(printable).join('\n'),
  };
}

/** `job.sub: 3 jobs; 1 error, 0 warnings, 2 notes` */
export function findingsHeadline(
  file: string,
  { queues }: Pick<Submission, 'queues'>,
  findings: readonly Finding[],
): string {
  const known = queues.every(({ total }) => total !== undefined);
  const jobs = queues.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const total = known ? counted(jobs, 'job') : `at least ${counted(Math.max(jobs, 1), 'job')}`;
  return `${printable(file)}: ${total}; ${countByLevel(findings)}`;
}

/** `1 error, 0 warnings, 2 notes` */
export const countByLevel = (findings: readonly Finding[]): string =>
  titles
    .map(([level]) =>
      counted(findings.filter((finding) => finding.level === level && !isCommon(finding)).length, level),
    )
    .join(', ');
