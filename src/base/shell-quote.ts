const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** The text as one word of a POSIX shell, whatever it holds; words that need no quotes stay as they are. */
export function shellQuote(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
