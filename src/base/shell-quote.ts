const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** The text as one word of a POSIX shell; words that need no quotes are unchanged. */
export function shellQuote(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
