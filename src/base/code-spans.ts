/** A sentence cut at its `code`, which Updraft's own sentences mark as Markdown does. */
export const codeSpans = <T>(sentence: string, asCode: (code: string) => T): (string | T)[] =>
  sentence.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? asCode(part) : part));
