/** Numbers as `sbatch --array` and `scancel` take them: `0-9,12`. Ascending ones give the shortest. */
export function arrayIndices(numbers: readonly number[]): string {
  const spans: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = spans.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else spans.push([number, number]);
  }
  return spans.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

/** The numbers that squeue shows as `3`, `0-9,12` or `[0-9,12%4]`: jobs that wait together stand in one line. */
export function expandIndices(text: string): number[] {
  return text
    .replaceAll(/[[\]]|%\d+/g, '')
    .split(',')
    .flatMap((span) => {
      const [from = NaN, to = from] = span.split('-').map((word) => Number.parseInt(word, 10));
      if (Number.isNaN(from) || Number.isNaN(to)) return [];
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    });
}
