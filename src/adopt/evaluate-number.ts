/**
 * The value of an arithmetic expression of literal numbers, as HTCondor accepts one where it wants a count:
 * `3`, `2 * (4 + 1)`. Undefined for everything else.
 */
export function evaluateNumber(text: string): number | undefined {
  const tokens = text.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[-+*/%()]|\S/g) ?? [];
  const reader = { tokens, at: 0 };
  const value = sum(reader);
  return reader.at === tokens.length && Number.isFinite(value) ? value : undefined;
}

interface Reader {
  tokens: string[];
  at: number;
}

function take(reader: Reader, wanted: string): string | undefined {
  const token = reader.tokens[reader.at];
  if (token === undefined || !wanted.includes(token)) return undefined;
  reader.at++;
  return token;
}

function sum(reader: Reader): number {
  let value = product(reader);
  for (let sign = take(reader, '+-'); sign !== undefined; sign = take(reader, '+-'))
    value += sign === '+' ? product(reader) : -product(reader);
  return value;
}

function product(reader: Reader): number {
  let value = factor(reader);
  for (let sign = take(reader, '*/%'); sign !== undefined; sign = take(reader, '*/%')) {
    const right = factor(reader);
    if (sign === '*') value *= right;
    else if (sign === '%') value %= right;
    else value = divide(value, right);
  }
  return value;
}

/** Between integers ClassAd division drops the rest. */
const divide = (left: number, right: number): number =>
  Number.isInteger(left) && Number.isInteger(right) ? Math.trunc(left / right) : left / right;

function factor(reader: Reader): number {
  if (take(reader, '-') !== undefined) return -factor(reader);
  if (take(reader, '(') !== undefined) {
    const value = sum(reader);
    return take(reader, ')') === undefined ? NaN : value;
  }
  const token = reader.tokens[reader.at];
  if (token === undefined || !/^\d/.test(token)) return NaN;
  reader.at++;
  return Number(token);
}
