/**
 * Compares two dotted versions as conda does; a word such as `rc1` or `a0` sorts before a number in its place.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const order = compareParts(left[index] ?? 0, right[index] ?? 0);
    if (order !== 0) return order;
  }
  return 0;
}

/** Without the epoch and the local part, which do not matter for the order here. */
const partsOf = (version: string): (number | string)[] =>
  (
    version
      .toLowerCase()
      .replace(/^\d+!/, '')
      .replace(/\+.*$/, '')
      .match(/\d+|[a-z]+/g) ?? []
  ).map((part) => (/^\d/.test(part) ? Number(part) : part));

function compareParts(a: number | string, b: number | string): number {
  const order = rank(a) - rank(b);
  if (order !== 0) return order;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Words sort before numbers, except `post`. */
const rank = (part: number | string): number => (typeof part === 'number' ? 1 : part === 'post' ? 2 : 0);

/**
 * Whether a version satisfies a conda or PEP 440 specification (`>=2.7.1,<3`, `3.13.*`, `12.9|13.*`); undefined if the
 * specification is about more than versions, or is not understood.
 */
export function versionFits(version: string, spec: string): boolean | undefined {
  const answers = spec.split('|').map((choice) => everyFits(version, choice));
  if (answers.includes(true)) return true;
  return answers.includes(undefined) ? undefined : false;
}

function everyFits(version: string, choice: string): boolean | undefined {
  const answers = choice.split(',').map((one) => clauseFits(version, one.trim()));
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

function clauseFits(version: string, clause: string): boolean | undefined {
  if (clause === '' || clause === '*') return true;
  const [, sign = '', wanted = '', star = ''] =
    /^(>=|<=|==|!=|~=|>|<|=)?\s*([0-9][\w.+!]*?)(\.?\*)?$/.exec(clause) ?? [];
  if (wanted === '') return undefined;
  const order = compareVersions(version, wanted);
  switch (sign) {
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '<':
      return order < 0;
    case '~=':
      return order >= 0 && startsWith(version, wanted.replace(/\.[^.]*$/, ''));
    case '!=':
      return star === '' ? order !== 0 : !startsWith(version, wanted);
    case '=':
      return startsWith(version, wanted);
    default:
      return star === '' ? order === 0 : startsWith(version, wanted);
  }
}

function startsWith(version: string, prefix: string): boolean {
  const [whole, start] = [partsOf(version), partsOf(prefix)];
  return start.every((part, index) => part === whole[index]);
}
