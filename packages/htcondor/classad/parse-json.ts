import { Expression, setAttribute, type Ad, type AdValue } from './ad.ts';

/** The attributes of an event in JSON; undefined if it is invalid. */
export function parseJsonAd(text: string): Ad | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? adFromJson(value)
      : undefined;
  } catch {
    return undefined;
  }
}

function adFromJson(value: object): Ad {
  const ad: Ad = {};
  for (const [name, item] of Object.entries(value)) setAttribute(ad, name, valueFromJson(item));
  return ad;
}

function valueFromJson(value: unknown): AdValue {
  if (typeof value === 'string') {
    // HTCondor writes expressions as strings of this form.
    const expression = /^\\?\/Expr\((.*)\)\\?\/$/s.exec(value)?.[1];
    return expression === undefined ? value : new Expression(expression.trim());
  }
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(valueFromJson);
  return typeof value === 'object' && value !== null ? adFromJson(value) : undefined;
}
