/** The known word closest to a mistyped one; undefined if none is close. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 2)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

const [maxListed, maxNear] = [12, 5];

/** What to write instead of an unknown word: the nearest known one and all others, of many only near ones. */
export function alternatives(word: string, known: readonly string[]): string {
  const close = nearest(word, known);
  if (known.length <= maxListed)
    return `${close === undefined ? '' : `${close}; there are: `}${known.join(', ')}`;
  const lower = word.toLowerCase();
  const distanceOf = (one: string): number =>
    one.toLowerCase().includes(lower) ? 0 : editDistance(lower, one.toLowerCase());
  const ranked = known
    .map((one) => ({ one, distance: distanceOf(one) }))
    .filter(({ distance }) => distance <= lower.length / 2)
    .sort((a, b) => a.distance - b.distance);
  const near = ranked.slice(0, maxNear).map(({ one }) => one);
  if (near.length === 0) return known.join(', ');
  return `${near.join(', ')} or another of the ${known.length}`;
}

/** Insertions, deletions, substitutions and swaps of neighbors between two words. */
export function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const substitute = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      let smallest = Math.min(at(row, j) + 1, at(next, j - 1) + 1, substitute);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        smallest = Math.min(smallest, at(before, j - 2) + 1);
      next.push(smallest);
    }
    [before, row] = [row, next];
  }
  return at(row, to.length);
}

const at = (row: number[], index: number): number => row[index] ?? Infinity;
