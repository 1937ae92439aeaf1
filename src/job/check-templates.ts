import { nearest } from '../base/nearest.ts';
import { fillText } from './fill-template.ts';
import { isInside } from './inside.ts';
import { combinations } from './matrix.ts';
import { entriesAt, textsAt, valueAt } from './raw-value.ts';
import { shellContexts } from './shell-context.ts';
import { problemAt, type KeyPath, type SourceFile, type SpecProblem } from './source-file.ts';
import type { Scalar } from './spec.ts';
import { builtinNames, isBuiltin, parseTemplate } from './template.ts';

/** Placeholders that name no parameter, that no quoting can make safe, or that lead a path out of its folder. */
export function checkTemplates(source: SourceFile, matrix: Record<string, Scalar[]>): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const known = [...new Set([...Object.keys(matrix), ...builtinNames])];
  for (const [at, text] of templatesOf(source.value)) {
    const shell = at[1] === 'command' || at[1] === 'check';
    const complaints = templateComplaints(text, known, shell);
    if (complaints.length === 0 && at[1] === 'outputs' && isInside(text))
      complaints.push(...filledPathComplaints(text, matrix));
    problems.push(...complaints.map((complaint) => problemAt(source, at, complaint)));
  }
  return problems;
}

function templatesOf(value: unknown): [KeyPath, string][] {
  const places: KeyPath[] = [
    ['train', 'command'],
    ['train', 'check'],
    ...textsAt(value, ['train', 'outputs']).map(([at]) => at),
    ...entriesAt(value, ['train', 'env']).map(([name]) => ['train', 'env', name]),
  ];
  return places.flatMap((at): [KeyPath, string][] => {
    const text = valueAt(value, at);
    return typeof text === 'string' ? [[at, text]] : [];
  });
}

function templateComplaints(text: string, known: string[], shell: boolean): string[] {
  const { parts, problem } = parseTemplate(text);
  if (problem !== undefined) return [`has ${problem}`];
  const contexts = shell ? shellContexts(parts) : [];
  const complaints = new Set<string>();
  for (const [index, part] of parts.entries()) {
    if ('literal' in part) continue;
    if (!known.includes(part.name)) complaints.add(unknownParameter(part.name, known));
    else if (contexts[index] === 'unclear') complaints.add(unclearPlace(part.name));
  }
  return [...complaints];
}

function unknownParameter(name: string, known: string[]): string {
  const close = nearest(name, known);
  const hint = close === undefined ? '' : ` (did you mean "{${close}}"?)`;
  return `{${name}} is no parameter; expected one of ${known.join(', ')}, or {{${name}}} for braces${hint}`;
}

function unclearPlace(name: string): string {
  const variable = `UPDRAFT_${isBuiltin(name) ? '' : 'PARAM_'}${name.toUpperCase()}`;
  return `{${name}} cannot be quoted safely in a substitution, here-document, comment or after a backslash; expected the variable $${variable} there`;
}

function filledPathComplaints(text: string, matrix: Record<string, Scalar[]>): string[] {
  for (const values of combinations(matrix)) {
    const filled = fillText(text, { ...values, job: '0000', index: 0 });
    if (!isInside(filled))
      return [`becomes ${JSON.stringify(filled)}; expected a relative path without ".." or line breaks`];
  }
  return [];
}
