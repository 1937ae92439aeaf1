/** The source of a pattern for one of several words, or patterns, which blanks separate: `a b\d` is `a|b\d`. */
export const anyOf = (words: string): string => words.trim().replaceAll(/\s+/g, '|');
