import path from 'node:path';
import type { SentText } from './code.ts';
import type { PythonImport } from './python-imports.ts';

/** The files sent along that an import means: the module, and the submodules it may name. */
export function localModules(
  { module, names }: Pick<PythonImport, 'module' | 'names'>,
  importer: string,
  sent: readonly SentText[],
): SentText[] {
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

/** Whether an import is of something sent along, a package folder without `__init__.py` included. */
export function isLocal(
  found: Pick<PythonImport, 'module'>,
  importer: string,
  sent: readonly string[],
): boolean {
  if (found.module.startsWith('.')) return true;
  const first = found.module.split('.')[0] ?? '';
  return sent.some((file) => new RegExp(`(^|/)${first}(\\.py$|/.*\\.py$)`).test(file) && file !== importer);
}
