/** Lines as x, y, x, y … from left to right. */
type Points = readonly number[];

/** The value of a line at x, between its points too; undefined beside its ends. */
export function heightAt(line: Points, x: number): number | undefined {
  let [low, high] = [0, line.length / 2 - 1];
  const xOf = (index: number): number => line[2 * index] ?? NaN;
  if (!(x >= xOf(low) && x <= xOf(high))) return undefined;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xOf(middle) <= x) low = middle;
    else high = middle;
  }
  const [from = NaN, to = NaN] = [line[2 * low + 1], line[2 * high + 1]];
  const span = xOf(high) - xOf(low);
  return span > 0 ? from + ((to - from) * (x - xOf(low))) / span : to;
}

/** More places than a screen shows. */
const maxPlaces = 256;

/** The mean of lines where they are, and the outline of the band from the lowest to the highest. */
export function meanLine(lines: readonly Points[]): { points: number[]; band: number[] } {
  const all = new Set(lines.flatMap((line) => line.filter((_, index) => index % 2 === 0)));
  const sorted = [...all].sort((a, b) => a - b);
  const every = Math.ceil(sorted.length / maxPlaces);
  const [points, low, high]: [number[], number[], number[]] = [[], [], []];
  for (const [index, x] of sorted.entries()) {
    if (index % every !== 0 && index < sorted.length - 1) continue;
    const values = lines.flatMap((line) => heightAt(line, x) ?? []);
    points.push(x, values.reduce((sum, value) => sum + value, 0) / values.length);
    low.push(x, Math.min(...values));
    high.unshift(x, Math.max(...values));
  }
  return { points, band: [...low, ...high] };
}

/** An exponential moving average; `weight`, below 1, is how much of it stays at each point. */
export function smoothed(line: Points, weight: number): number[] {
  let [sum, weights] = [0, 0];
  return line.map((value, index) => {
    if (index % 2 === 0) return value;
    sum = sum * weight + value;
    weights = weights * weight + 1;
    return sum / weights;
  });
}
