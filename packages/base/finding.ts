/** A line of a job file, submit file or script; lines count from 1. */
export interface SourceLine {
  file: string;
  line: number;
}

/** An error surely fails jobs, loses results or gives a secret away; a warning may, or wastes time. */
export type Level = 'error' | 'warning' | 'note';

export const levels: readonly Level[] = ['error', 'warning', 'note'];

/** What a rule found: what is wrong, with figures, where, and what to do. */
export interface Found {
  message: string;
  /** What to do, in words; the lines to write follow, each on a line of its own. */
  fix: string;
  place?: SourceLine | undefined;
  /** Where the rule's own would say too much or too little. */
  level?: Level;
  /** Lines of the file, shown as they are. */
  excerpt?: readonly string[];
  /** The value it is about, as the message has it, then what others that are shown with it must have in common. */
  about?: readonly [value: string, ...common: string[]];
}

export const asFound = <Place>(message: string, fix: string, place: Place) => ({ message, fix, place });

/** An error, or a warning where that is not certain. */
export const levelIf = (isCertain: boolean): Level => (isCertain ? 'error' : 'warning');

/** One rule. The documentation is generated from the rules. */
export interface Rule<Facts> {
  name: string;
  level: Level;
  about: string;
  check: (facts: Facts) => RuleResult;
}

/** `about` is what the finding means, as one sentence. */
export const rule = <Facts>(
  name: string,
  level: Level,
  about: string,
  check: (facts: Facts) => RuleResult,
): Rule<Facts> => ({ name, level, about, check });

/** No finding, one, or several. */
export type RuleResult = Found | readonly Found[] | undefined;

/** A finding of `check` or `adopt`, as printed or in JSON. */
export interface Finding {
  rule: string;
  level: Level;
  message: string;
  fix: string;
  file?: string;
  line?: number;
  /** Other lines of the file with the same finding. */
  alsoAt?: readonly number[];
  excerpt?: readonly string[];
  about?: Found['about'] | undefined;
}

/** All findings, in the order of the rules. */
export function applyRules<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Finding[] {
  return rules.flatMap(({ name, level, check }) =>
    [check(facts) ?? []].flat().map(({ place, ...found }) => ({ rule: name, level, ...found, ...place })),
  );
}

/** The worst first, without duplicates. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const different = [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
  return different.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}
