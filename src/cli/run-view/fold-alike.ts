/** Rows of a table whose first cell is a name; those in a row that differ in it alone become one, from first to last. */
export function foldAlike(rows: readonly string[][]): string[][] {
  const folded: { first: string; last: string; rest: string[]; key: string }[] = [];
  for (const [name = '', ...rest] of rows) {
    const key = rest.join('\n');
    const before = folded.at(-1);
    if (before?.key === key) before.last = name;
    else folded.push({ first: name, last: name, rest, key });
  }
  return folded.map(({ first, last, rest }) => [first === last ? first : `${first} to ${last}`, ...rest]);
}
