import type { PythonLine } from './python-lines.ts';

/** A module that a Python file imports. */
export interface PythonImport {
  /** As written, dots and all; a relative one starts with a dot. */
  module: string;
  /** Names behind `from module import`, which may be modules of a package. */
  names: string[];
  line: number;
  /** `always`: at the top of the file; `perhaps`: in a function or branch; `guarded`: the file can do without. */
  when: 'always' | 'perhaps' | 'guarded';
}

const importLine = /^(\s*)import\s+(.+)$/;
const fromLine = /^(\s*)from\s+(\.*[\w.]*)\s+import\s+(.+)$/;
/** Blocks whose imports may fail, or are never made. */
const guard = /^\s*(try\s*:|except\b|(if|elif)\s+(typing\.)?TYPE_CHECKING\b)/;
const block =
  /^\s*(async\s+def|def|class|if|elif|else|for|while|with|try|except|finally|match|case)\b.*:\s*$/;

/** What a file imports, by its lines. */
export function pythonImports(lines: readonly PythonLine[]): PythonImport[] {
  const open: { indent: number; guards: boolean; isMain: boolean }[] = [];
  return lines.flatMap(({ text, line }) => {
    const indent = text.length - text.trimStart().length;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const when = open.some(({ guards }) => guards)
      ? 'guarded'
      : open.every(({ isMain }) => isMain)
        ? 'always'
        : 'perhaps';
    const found = importsOf(text).map((one) => ({ ...one, line, when }) as const);
    if (block.test(text)) open.push({ indent, guards: guard.test(text), isMain: /__name__\s*==/.test(text) });
    return found;
  });
}

function importsOf(text: string): Pick<PythonImport, 'module' | 'names'>[] {
  const from = fromLine.exec(text);
  if (from !== null) return [{ module: from[2] ?? '', names: namesOf(from[3] ?? '') }];
  const plain = importLine.exec(text)?.[2] ?? '';
  return namesOf(plain).map((module) => ({ module, names: [] }));
}

/** `a as b, c` and the like; what opens a bracket goes on in lines that are not needed here. */
const namesOf = (text: string): string[] =>
  text
    .replace(/[();\\].*$/, (rest) => (rest.startsWith('(') ? rest.slice(1).replace(/[)\\;].*$/, '') : ''))
    .split(',')
    .map((part) => part.trim().split(/\s+/)[0] ?? '')
    .filter((name) => /^[A-Za-z_][\w.]*$/.test(name));
