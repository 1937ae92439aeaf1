/** Where something is written in a job file, a submit description or a script; lines count from 1. */
export interface SourceLine {
  file: string;
  line: number;
}

/** How bad it is: an error fails jobs or loses results, a warning may or wastes time, a note is worth knowing. */
export type Level = 'error' | 'warning' | 'note';

export const levels: readonly Level[] = ['error', 'warning', 'note'];

/** What a rule found: what is wrong, with the figure, where it was written, and what to do. */
export interface Found {
  message: string;
  fix: string;
  place?: SourceLine | undefined;
}

/** One rule. The table of rules is the documentation, too. */
export interface Rule<Facts> {
  name: string;
  level: Level;
  /** What it says about a job or a file, as one sentence. */
  about: string;
  check: (facts: Facts) => RuleResult;
}

/** What a rule has to say: nothing, one thing, or one of each that it is about. */
export type RuleResult = Found | readonly Found[] | undefined;

/** A finding as people and programs get it, from `check` and from `adopt`. */
export interface Finding {
  rule: string;
  level: Level;
  message: string;
  fix: string;
  file?: string;
  line?: number;
}

/** All that the rules find, in the order of the rules. */
export function applyRules<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Finding[] {
  return rules.flatMap(({ name, level, check }) =>
    [check(facts) ?? []]
      .flat()
      .map(({ message, fix, place }) => ({ rule: name, level, message, fix, ...place })),
  );
}

/** The worst first, each thing once. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const different = [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
  return different.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}
