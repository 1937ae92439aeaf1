import path from 'node:path';
import type { PythonNode } from './python-tree.ts';
import { importedNames } from './python-syntax.ts';

export interface PythonImport {
  /** As written; a relative one starts with a dot. */
  module: string;
  /** Names after `from module import`, which may be modules of a package. */
  names: string[];
  line: number;
  /** `always`: at the top of the file; `perhaps`: in a function or branch; `guarded`: the file can do without. */
  when: 'always' | 'perhaps' | 'guarded';
}

/** What a file imports. */
export function pythonImports(nodes: readonly PythonNode[]): PythonImport[] {
  return nodes.flatMap((node): PythonImport[] => {
    if (node.kind !== 'ImportStatement') return [];
    const { line } = node;
    const { module, names: all } = importedNames(node);
    const names = all.map(([, name]) => name).filter(isPlain);
    const when = whenRun(node);
    if (module === undefined) return names.map((name) => ({ module: name, names: [], line, when }));
    return isPlain(module) ? [{ module, names, line, when }] : [];
  });
}

const isPlain = (name: string): boolean => /^[\w.]+$/.test(name);

function whenRun({ parent }: PythonNode): PythonImport['when'] {
  let when: PythonImport['when'] = 'always';
  for (let at = parent; at !== undefined; at = at.parent) {
    if (at.kind === 'TryStatement' && catchesImport(at)) return 'guarded';
    if (at.kind === 'IfStatement' && at.children[1]?.text.includes('TYPE_CHECKING') === true)
      return 'guarded';
    if (!isMain(at) && /^(If|For|While|With|Match)Statement$|Definition$/.test(at.kind)) when = 'perhaps';
  }
  return when;
}

/** `if __name__ == "__main__"`. */
export const isMain = ({ text }: PythonNode): boolean => /^if\s*\(?__name__\s*==/.test(text);

const catchesImport = ({ children }: PythonNode): boolean =>
  children.some(
    ({ kind }, at) =>
      kind === 'except' &&
      /^:|(ImportError|ModuleNotFoundError|Exception|BaseException)\b/.test(children[at + 1]?.text ?? ''),
  );

/** The files sent with the job that an import refers to: the module, and submodules it may name. */
export function localModules<T extends { file: string }>(
  { module, names }: Pick<PythonImport, 'module' | 'names'>,
  importer: string,
  sent: readonly T[],
): T[] {
  const dots = /^\.*/.exec(module)?.[0].length ?? 0;
  const parts = module.slice(dots).split('.').filter(Boolean);
  const base = dots === 0 ? undefined : path.posix.join(path.posix.dirname(importer), '../'.repeat(dots - 1));
  const wanted = [parts, ...names.map((name) => [...parts, name])]
    .filter((one) => one.length > 0)
    .flatMap((one) => [`${one.join('/')}.py`, `${one.join('/')}/__init__.py`]);
  return sent.filter(({ file }) =>
    wanted.some((name) =>
      base === undefined ? file === name || file.endsWith(`/${name}`) : file === path.posix.join(base, name),
    ),
  );
}

/** Whether an import refers to a file that is sent, including packages without `__init__.py`, or to `updraft`. */
export function isLocalModule(
  found: Pick<PythonImport, 'module'>,
  importer: string,
  sent: readonly string[],
): boolean {
  if (found.module.startsWith('.')) return true;
  const first = found.module.split('.')[0] ?? '';
  const isOther = (file: string): boolean => file !== importer || !importer.includes('/');
  // The agent places it beside every training.
  return (
    first === 'updraft' ||
    sent.some((file) => new RegExp(`(^|/)${first}(\\.py$|/.*\\.py$)`).test(file) && isOther(file))
  );
}
