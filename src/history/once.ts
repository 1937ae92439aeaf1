const known = new Map<string, string>();
const mostKnown = 100_000;

/** The same text, kept in memory once however many jobs have it: the names of sites, machines and resources. */
export function once(text: string): string {
  const same = known.get(text);
  if (same !== undefined) return same;
  if (known.size < mostKnown) known.set(text, text);
  return text;
}
