import type { Place } from './place.ts';

/** How bad it is: an error fails jobs or loses results, a warning may, a note is a custom that helps. */
export type Severity = 'error' | 'warning' | 'note';

/** What a rule found: what is wrong, with the figure, where, and what to do. */
export interface Found {
  message: string;
  fix: string;
  place: Place;
}

/** One rule. The table of rules is the documentation, too. */
export interface Rule<Case> {
  id: string;
  severity: Severity;
  /** What it says about a file, as one sentence. */
  about: string;
  check: (found: Case) => Found[];
}

export interface Finding {
  rule: string;
  severity: Severity;
  message: string;
  fix: string;
  file: string;
  line: number;
}

const order: Severity[] = ['error', 'warning', 'note'];

/** All that the rules find, the worst first, in the order of the files. */
export function findAll<Case>(rules: readonly Rule<Case>[], found: Case): Finding[] {
  const findings = rules.flatMap(({ id, severity, check }) =>
    check(found).map(({ message, fix, place }) => ({ rule: id, severity, message, fix, ...place })),
  );
  // Several queue statements have most of their lines in common.
  const different = [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
  return different.sort(
    (a, b) =>
      order.indexOf(a.severity) - order.indexOf(b.severity) ||
      a.file.localeCompare(b.file) ||
      a.line - b.line,
  );
}
