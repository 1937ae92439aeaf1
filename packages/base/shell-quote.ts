const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** The text as one word of a POSIX shell; words that need no quotes are unchanged. */
export const shellQuote = (text: string): string =>
  plain.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
