/** A count with its word: `1 job`, `10,000 jobs`. */
export function counted(count: number, word: string): string {
  return `${count.toLocaleString('en-US')} ${word}${count === 1 ? '' : 's'}`;
}
