const factors: Record<string, number> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40, p: 2 ** 50 };

/** An amount as `request_memory` and `request_disk` take it; undefined for an expression. */
export interface Quantity {
  bytes: number;
  hasUnit: boolean;
}

export function parseQuantity(text: string, plainUnit: 'k' | 'm'): Quantity | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(?:([kmgtp])i?b?)?\s*$/i.exec(text);
  if (match === null) return undefined;
  const unit = match[2]?.toLowerCase();
  return { bytes: Number(match[1]) * (factors[unit ?? plainUnit] ?? 1), hasUnit: unit !== undefined };
}

/** `1.5 GB` in HTCondor's units, where a GB is 1024 MB. */
export function showQuantity(bytes: number): string {
  const [name, factor] = bytes >= 2 ** 30 ? (['GB', 2 ** 30] as const) : (['MB', 2 ** 20] as const);
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KB` : `${Number((bytes / factor).toFixed(1))} ${name}`;
}
