import path from 'node:path';
import type { PythonLine } from './python-lines.ts';

export interface PythonImport {
  /** As written; a relative one starts with a dot. */
  module: string;
  /** Names after `from module import`, which may be modules of a package. */
  names: string[];
  line: number;
  /** `always`: at the top of the file; `perhaps`: in a function or branch; `guarded`: the file can do without. */
  when: 'always' | 'perhaps' | 'guarded';
}

const importLine = /^(\s*)import\s+(.+)$/;
const fromLine = /^(\s*)from\s+(\.*[\w.]*)\s+import\s+(.+)$/;
/** Blocks whose imports may fail or never run. */
const guard = /^\s*(try\s*:|except\b|(if|elif)\s+(typing\.)?TYPE_CHECKING\b)/;
const definition = /^\s*(async\s+def|def|class)\b/;
const block = /^\s*(if|elif|else|for|while|with|try|except|finally|match|case)\b.*:\s*$/;

/** What a file imports, by its lines. */
export function pythonImports(lines: readonly PythonLine[]): PythonImport[] {
  const open: { indent: number; guards: boolean; isMain: boolean }[] = [];
  return lines.flatMap(({ text, line }) => {
    const indent = text.length - text.trimStart().length;
    // The last line of a header in several lines begins with its bracket.
    if (!/^\s*[)\]}]/.test(text)) while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const when = open.some(({ guards }) => guards)
      ? 'guarded'
      : open.every(({ isMain }) => isMain)
        ? 'always'
        : 'perhaps';
    const found = importsOf(text).map((one) => ({ ...one, line, when }) as const);
    if (definition.test(text) || block.test(text))
      open.push({ indent, guards: guard.test(text), isMain: /__name__\s*==/.test(text) });
    return found;
  });
}

function importsOf(text: string): Pick<PythonImport, 'module' | 'names'>[] {
  const from = fromLine.exec(text);
  if (from !== null) return [{ module: from[2] ?? '', names: namesOf(from[3] ?? '') }];
  const plain = importLine.exec(text)?.[2] ?? '';
  return namesOf(plain).map((module) => ({ module, names: [] }));
}

/** `a as b, c` and the like; further lines of a bracket are not needed. */
const namesOf = (text: string): string[] =>
  text
    .replace(/[();\\].*$/, (rest) => (rest.startsWith('(') ? rest.slice(1).replace(/[)\\;].*$/, '') : ''))
    .split(',')
    .map((part) => part.trim().split(/\s+/)[0] ?? '')
    .filter((name) => /^[A-Za-z_][\w.]*$/.test(name));

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

/** Whether an import refers to a file that is sent, including packages without `__init__.py`, or to `updraft.py`. */
export function isLocalModule(
  found: Pick<PythonImport, 'module'>,
  importer: string,
  sent: readonly string[],
): boolean {
  if (found.module.startsWith('.')) return true;
  const first = found.module.split('.')[0] ?? '';
  // The agent places it beside every training.
  if (first === 'updraft') return true;
  return sent.some((file) => new RegExp(`(^|/)${first}(\\.py$|/.*\\.py$)`).test(file) && file !== importer);
}
