/** A ClassAd value. What is not a literal, an ad or a list stays an expression, as written. */
export type AdValue = string | number | boolean | undefined | Expression | AdValue[] | Ad;

export class Expression {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Attributes by name. HTCondor does not tell upper from lower case: `attributeOf` looks them up as it would. */
export class Ad {
  readonly attributes = new Map<string, AdValue>();

  constructor(attributes: Record<string, AdValue> = {}) {
    for (const [name, value] of Object.entries(attributes)) this.attributes.set(name, value);
  }
}

export function attributeOf(ad: Ad, name: string): AdValue {
  const wanted = name.toLowerCase();
  for (const [each, value] of ad.attributes) if (each.toLowerCase() === wanted) return value;
  return undefined;
}

/** A number that HTCondor shall take for a real one, though it may be whole. */
export const real = (value: number): Expression => new Expression(value.toFixed(6));

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
export function showAd(ad: Ad): string {
  const shown = [...ad.attributes].filter(([, value]) => value !== undefined);
  return `[ ${shown.map(([name, value]) => `${name} = ${showValue(value)}`).join('; ')} ]`;
}

function showValue(value: AdValue): string {
  if (typeof value === 'string') return `"${value.replaceAll(/[\0-\x1f\x7f"\\]/g, showMark)}"`;
  if (value instanceof Ad) return showAd(value);
  if (value instanceof Expression) return value.text;
  if (Array.isArray(value)) return `{ ${value.map(showValue).join(', ')} }`;
  return String(value);
}

/** A string of HTCondor's cannot hold a NUL; it would end there. */
function showMark(mark: string): string {
  return escapes[mark] ?? `\\${(mark.charCodeAt(0) || 0x20).toString(8).padStart(3, '0')}`;
}
