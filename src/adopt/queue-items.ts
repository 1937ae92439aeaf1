import type { Slice } from './queue-statement.ts';

/** The items that a slice `[start:end:step]` selects, with their index among all of them. */
export function sliceItems(
  items: readonly string[],
  slice: Slice | undefined,
): { index: number; item: string }[] {
  const { start = 0, end = items.length, step = 1 } = slice ?? {};
  const from = start < 0 ? start + items.length : start;
  const until = end < 0 ? end + items.length : end;
  return items
    .map((item, index) => ({ index, item }))
    .filter(
      ({ index }) => index >= from && index < until && (index - from) % Math.max(1, Math.abs(step)) === 0,
    );
}

/** Splits an item over its variables: at commas or blanks, or at the byte 0x1F where there is one; the last takes the rest. */
export function splitItem(item: string, variables: readonly string[]): Record<string, string> {
  const separator = item.includes('\x1f') ? /\x1f/ : /[, \t]/;
  const trim = (text: string): string => text.replaceAll(/^[ \t]+|[ \t]+$/g, '');
  const values: Record<string, string> = {};
  let rest = trim(item);
  for (const [index, name] of variables.entries()) {
    const cut = index === variables.length - 1 ? -1 : rest.search(separator);
    values[name] = cut < 0 ? rest : trim(rest.slice(0, cut));
    rest = cut < 0 ? '' : trim(rest.slice(cut + 1));
  }
  return values;
}
