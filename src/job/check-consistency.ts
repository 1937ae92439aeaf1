import { nearest } from '../base/nearest.ts';
import { fillText } from './fill-template.ts';
import { isInside, overlap, plainPath } from './inside.ts';
import { combinations } from './matrix.ts';
import { shellContexts } from './shell-context.ts';
import { problemAt, problemAtKey, type KeyPath, type SourceFile, type SpecProblem } from './source-file.ts';
import type { Scalar } from './spec.ts';
import { builtinNames, parseTemplate } from './template.ts';

const mostJobs = 100_000;

/**
 * What no single value shows: placeholders without a parameter, folders that collide, methods that do not fit.
 * Looks at the values as they were written, so that it finds its problems beside those of the schema.
 */
export function checkConsistency(source: SourceFile): SpecProblem[] {
  const matrix = matrixOf(source.value);
  return [
    ...checkMatrix(source, matrix),
    ...checkTemplates(source, matrix),
    ...checkFolders(source),
    ...checkMethods(source),
  ];
}

function checkMatrix(source: SourceFile, matrix: Record<string, Scalar[]>): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const variables = new Map<string, string>();
  for (const name of Object.keys(matrix)) {
    const at = ['run', 'matrix', name];
    const same = variables.get(name.toUpperCase());
    if ((builtinNames as readonly string[]).includes(name))
      problems.push(
        problemAtKey(source, at, 'this name is taken: {job} and {index} are there for every job'),
      );
    if (same !== undefined)
      problems.push(problemAtKey(source, at, `differs from "${same}" only in case; expected another name`));
    variables.set(name.toUpperCase(), name);
  }
  const each = get(source.value, ['run', 'jobs']);
  const total = Object.values(matrix).reduce((product, values) => product * values.length, Number(each ?? 1));
  if (total > mostJobs)
    problems.push(problemAt(source, ['run'], `asks for ${total} jobs; expected at most ${mostJobs}`));
  return problems;
}

function checkTemplates(source: SourceFile, matrix: Record<string, Scalar[]>): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const known = [...Object.keys(matrix), ...builtinNames];
  const env = get(source.value, ['train', 'env']);
  const places: KeyPath[] = [
    ['train', 'command'],
    ['train', 'check'],
    ...strings(source.value, ['train', 'outputs']).map(([at]) => at),
    ...(isTable(env) ? Object.keys(env).map((name) => ['train', 'env', name]) : []),
  ];
  for (const at of places) {
    const text = get(source.value, at);
    if (typeof text !== 'string') continue;
    const shell = at[1] === 'command' || at[1] === 'check';
    const complaints = templateComplaints(text, known, shell);
    for (const complaint of complaints) problems.push(problemAt(source, at, complaint));
    if (at[1] === 'outputs' && complaints.length === 0 && isInside(text))
      problems.push(...checkFilledPath(source, at, text, matrix));
  }
  return problems;
}

function templateComplaints(text: string, known: string[], shell: boolean): string[] {
  const { parts, problem } = parseTemplate(text);
  if (problem !== undefined) return [`has ${problem}`];
  const contexts = shell ? shellContexts(parts) : [];
  const complaints = parts.map((part, index) => {
    if ('literal' in part) return undefined;
    const { name } = part;
    const close = nearest(name, known);
    if (!known.includes(name))
      return `{${name}} is no parameter; expected one of ${known.join(', ')}, or {{${name}}} for braces${
        close === undefined ? '' : ` (did you mean "{${close}}"?)`
      }`;
    const variable = (builtinNames as readonly string[]).includes(name) ? '' : 'PARAM_';
    return contexts[index] === 'unclear'
      ? `{${name}} cannot be quoted safely here; expected "$UPDRAFT_${variable}${name.toUpperCase()}" in such a place`
      : undefined;
  });
  return complaints.filter((complaint) => complaint !== undefined);
}

function checkFilledPath(
  source: SourceFile,
  at: KeyPath,
  text: string,
  matrix: Record<string, Scalar[]>,
): SpecProblem[] {
  for (const values of combinations(matrix)) {
    const filled = fillText(text, { ...values, job: '0000', index: 0 });
    if (!isInside(filled))
      return [
        problemAt(source, at, `becomes ${JSON.stringify(filled)}; expected a relative path without ".."`),
      ];
  }
  return [];
}

function checkFolders(source: SourceFile): SpecProblem[] {
  const taken = strings(source.value, ['train', 'files']).map(([at, path]) => ({
    at,
    path: plainPath(path),
  }));
  const problems: SpecProblem[] = [];
  for (const name of keysOf(get(source.value, ['data']))) {
    const at = ['data', name, 'into'];
    const written = get(source.value, at) ?? 'data';
    if (typeof written !== 'string' || !isInside(written)) continue;
    const path = plainPath(written);
    const other = taken.find((one) => overlap(one.path, path));
    if (other !== undefined)
      problems.push(
        problemAt(
          source,
          at,
          `"${path}" collides with "${other.path}" of ${other.at.join('.')}; expected a folder of its own for each`,
        ),
      );
    taken.push({ at, path });
  }
  return problems;
}

function checkMethods(source: SourceFile): SpecProblem[] {
  const problems: SpecProblem[] = [];
  for (const name of keysOf(get(source.value, ['data']))) {
    const url = get(source.value, ['data', name, 'url']);
    const method = get(source.value, ['data', name, 'method']);
    if (typeof url !== 'string') continue;
    const wrong = misfit(method, /^https?:/.test(url));
    if (wrong !== undefined) problems.push(problemAt(source, ['data', name, 'method'], wrong));
  }
  return problems;
}

function misfit(method: unknown, plain: boolean): string | undefined {
  if (method === 'https' && !plain)
    return '"https" fetches https:// URLs; expected "osdf", "stream" or "auto" for this one';
  if (method === 'osdf' && plain)
    return '"osdf" fetches osdf:// and pelican:// URLs; expected "https", "stream" or "auto" for this one';
  if (method === 'native')
    return '"native" sends files of this machine, not URLs; name the file in train.files instead';
  return undefined;
}

type Table = Record<string, unknown>;

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const keysOf = (value: unknown): string[] => (isTable(value) ? Object.keys(value) : []);

const get = (value: unknown, path: KeyPath): unknown =>
  path.reduce<unknown>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)] as unknown;
    return isTable(inner) && Object.hasOwn(inner, key) ? inner[String(key)] : undefined;
  }, value);

function strings(value: unknown, path: KeyPath): [KeyPath, string][] {
  const list = get(value, path);
  return (Array.isArray(list) ? (list as unknown[]) : []).flatMap((item, index): [KeyPath, string][] =>
    typeof item === 'string' ? [[[...path, index], item]] : [],
  );
}

function matrixOf(value: unknown): Record<string, Scalar[]> {
  const matrix = get(value, ['run', 'matrix']);
  const isList = (entry: [string, unknown]): entry is [string, Scalar[]] => Array.isArray(entry[1]);
  return isTable(matrix) ? Object.fromEntries(Object.entries(matrix).filter(isList)) : {};
}
