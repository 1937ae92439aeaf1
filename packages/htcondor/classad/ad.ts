/** A ClassAd value. Anything but a literal, a list or an ad is kept as an expression. */
export type AdValue = string | number | boolean | undefined | Expression | AdValue[] | Ad;

export class Expression {
  readonly expression: string;

  constructor(expression: string) {
    this.expression = expression;
  }
}

/** Attributes by name as written; `attributeOf` ignores case, as HTCondor does. */
export interface Ad {
  [attribute: string]: AdValue;
}

export function isAd(value: AdValue): value is Ad {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Expression);
}

/** Sets an attribute of any name, even `__proto__`. */
export function setAttribute(ad: Ad, name: string, value: AdValue): void {
  if (name !== '__proto__') ad[name] = value;
  else Object.defineProperty(ad, name, { value, enumerable: true, configurable: true, writable: true });
}

export function attributeOf(ad: Ad, name: string): AdValue {
  const wanted = name.toLowerCase();
  for (const each in ad) if (each.length === wanted.length && each.toLowerCase() === wanted) return ad[each];
  return undefined;
}

/** A number that HTCondor must read as a real, even if it is an integer. */
export const formatReal = (value: number): Expression => new Expression(value.toFixed(6));

const escapes: Record<string, string> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};

/** The ad in new syntax, on one line. Attributes without a value are left out. */
export function formatAd(ad: Ad): string {
  const shown = Object.entries(ad).filter(([, value]) => value !== undefined);
  return `[ ${shown.map(([name, value]) => `${name} = ${formatValue(value)}`).join('; ')} ]`;
}

function formatValue(value: AdValue): string {
  if (typeof value === 'string') return `"${value.replaceAll(/[\0-\x1f\x7f"\\]/g, escapeChar)}"`;
  if (value instanceof Expression) return value.expression;
  if (Array.isArray(value)) return `{ ${value.map(formatValue).join(', ')} }`;
  return isAd(value) ? formatAd(value) : String(value);
}

/** HTCondor's strings cannot contain a NUL; it becomes a space. */
const escapeChar = (mark: string): string =>
  escapes[mark] ?? `\\${(mark.charCodeAt(0) || 0x20).toString(8).padStart(3, '0')}`;
