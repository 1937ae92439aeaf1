/** What an `if` may ask about, besides literal truth values. */
export interface ConditionWorld {
  expand(text: string): string;
  lookup(name: string): string | undefined;
  /** HTCondor's version as three numbers: of the pool the file is meant for. */
  version: readonly [number, number, number];
}

/** Thrown for a condition that HTCondor does not accept; the message is the reason. */
export class BadCondition extends Error {}

/** The value of the condition of `if` or `elif`. */
export function evaluateCondition(text: string, world: ConditionWorld): boolean {
  const expanded = text.includes('$') ? world.expand(text).trim() : text.trim();
  const negated = expanded.startsWith('!');
  const condition = negated ? expanded.slice(1).trim() : expanded;
  if (condition === '' && text.includes('$')) return negated;
  return evaluate(condition, world) !== negated;
}

function evaluate(condition: string, world: ConditionWorld): boolean {
  const literal = truth(condition);
  if (literal !== undefined) return literal;
  const version = /^version\s*(!?[<>=]=?|!)\s*v?(\d+)\.(\d+)(?:\.(\d+))?$/i.exec(condition);
  if (version !== null) return compareVersion(version, world.version);
  const defined = /^defined\b\s*(.*)$/i.exec(condition);
  if (defined !== null) return isDefined((defined[1] ?? '').trim(), world);
  if (/^version\b/i.test(condition)) throw new BadCondition('the version literal is invalid');
  throw new BadCondition(
    /^[\w.]+$/.test(condition) ? 'it is not a truth value' : 'HTCondor knows no complex conditions',
  );
}

function truth(text: string): boolean | undefined {
  if (/^(true|yes|t)$/i.test(text)) return true;
  if (/^(false|no|f)$/i.test(text)) return false;
  return /^[-\d.]+$/.test(text) ? Number.parseFloat(text) !== 0 : undefined;
}

function isDefined(name: string, world: ConditionWorld): boolean {
  if (name === '') return false;
  if (/^use\s/i.test(name)) return false;
  if (!/^[\w.]+$/.test(name)) throw new BadCondition('`defined` takes one name');
  return (world.lookup(name) ?? '') !== '' || truth(name) !== undefined;
}

function compareVersion(match: RegExpExecArray, running: readonly [number, number, number]): boolean {
  const [, operator = '', major, minor, patch] = match;
  // A version without its third number leaves that one out of the comparison.
  const wanted = [Number(major), Number(minor), patch === undefined ? running[2] : Number(patch)];
  let order = 0;
  for (const [index, number] of running.entries())
    if (order === 0) order = Math.sign(number - (wanted[index] ?? 0));
  const plain = operator.replace('!', '');
  const holds =
    (plain.includes('<') && order < 0) ||
    (plain.includes('>') && order > 0) ||
    (plain.includes('=') && order === 0);
  return operator.startsWith('!') ? !holds : holds;
}
