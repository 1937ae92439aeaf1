import { readFileSync } from 'node:fs';
import path from 'node:path';

const folder = path.join(import.meta.dirname, 'page');
const importing = /^import \{([^}]*)\} from '\.\/([\w-]+)\.js';$/gm;
const exporting = /^export (?=(?:async )?(?:function|const|class) (\w+))/gm;

/** The page's modules as one script, each in a scope of its own: a page in a single file needs no other. */
export function pageScript(): string {
  const done = new Set<string>();
  const parts: string[] = [];
  const add = (name: string): void => {
    if (done.has(name)) return;
    done.add(name);
    const text = readFileSync(path.join(folder, `${name}.js`), 'utf8');
    for (const [, , needed = ''] of text.matchAll(importing)) add(needed);
    parts.push(scoped(name, text));
  };
  add('main');
  return `'use strict';\n${parts.join('\n')}`;
}

export const pageStyle = (): string => readFileSync(path.join(folder, 'page.css'), 'utf8');

function scoped(name: string, text: string): string {
  const names = [...text.matchAll(exporting)].map(([, exported = '']) => exported);
  const body = text
    .replaceAll(
      importing,
      (_, list: string, from: string) => `const {${list.replaceAll(' as ', ': ')}} = ${variable(from)};`,
    )
    .replaceAll(exporting, '');
  return `const ${variable(name)} = (() => {\n${body}\nreturn { ${names.join(', ')} };\n})();`;
}

const variable = (module: string): string => `module_${module.replaceAll('-', '_')}`;
