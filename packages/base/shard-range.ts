/** In the name of a file: WebDataset's notation for numbered archives, like `train-{0000..0099}.tar`. */
const notation = /\{(\d{1,9})\.\.(\d{1,9})\}(?=[^/{}]*$)/;

/** The URLs that a range of shards stands for, none if it ends before it starts; undefined for any other URL. */
export function shardRange(url: string): string[] | undefined {
  const [range, first = '', last = ''] = notation.exec(url) ?? [];
  if (range === undefined) return undefined;
  const length = Math.max(0, Number(last) - Number(first) + 1);
  const numbers = Array.from({ length }, (_, index) => String(Number(first) + index));
  return numbers.map((number) => url.replace(range, number.padStart(first.length, '0')));
}

/** The URL itself, or the first of the range that it is. */
export const firstShard = (url: string): string => shardRange(url)?.[0] ?? url;
