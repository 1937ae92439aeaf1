/** The first few of many names, and how many more there are: `a, b and 3 more`. */
export function firstFew(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
