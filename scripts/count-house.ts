import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { walkFiles } from '../src/base/walk-tree.ts';
import { pools } from '../src/job/choices.ts';
import { root } from './gate.ts';

/** The size limit of src, without tests. Only a commit that adds a feature raises it, and says so. */
const budget = { files: 754, lines: 94_615 };

/** The only files outside src/pool that may depend on a pool's name. */
const tables = new Set(['src/job/choices.ts', 'src/job/pool-traits.ts']);
const names: ReadonlySet<string> = new Set(pools);

const files = (await walkFiles(path.join(root, 'src')))
  .map((file) => `src/${file}`)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
const texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
const lines = [...texts.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0);

/** Pool internals that a file outside src/pool imports. */
const imports: string[] = [];
/** Places outside src/pool that depend on a pool's name. */
const comparisons: string[] = [];
for (const [file, text] of texts) if (!file.startsWith('src/pool/')) walk(file, text);

function walk(file: string, text: string): void {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const at = (node: ts.Node): string =>
    `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
  const visit = (node: ts.Node): void => {
    if (isInternalImport(file, node)) imports.push(`${at(node)} imports ${node.moduleSpecifier.getText()}`);
    if (!tables.has(file) && dependsOnName(node))
      comparisons.push(`${at(node)} ${node.getText().split('\n', 1)[0] ?? ''}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
}

function isInternalImport(
  file: string,
  node: ts.Node,
): node is (ts.ImportDeclaration | ts.ExportDeclaration) & { moduleSpecifier: ts.StringLiteral } {
  if (!ts.isImportDeclaration(node) && !ts.isExportDeclaration(node)) return false;
  const { moduleSpecifier } = node;
  if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return false;
  const target = path.posix.join(path.posix.dirname(file), moduleSpecifier.text);
  return moduleSpecifier.text.startsWith('.') && /^src\/pool\/[^/]+\//.test(target);
}

function isName(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) && names.has(node.text);
}

/** A comparison, a case, a set or a table by a pool's name; not a value, such as the pool of an adopted run. */
function dependsOnName(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const compares =
      kind === ts.SyntaxKind.EqualsEqualsEqualsToken || kind === ts.SyntaxKind.ExclamationEqualsEqualsToken;
    return compares && (isName(node.left) || isName(node.right));
  }
  if (ts.isCaseClause(node)) return isName(node.expression);
  if (ts.isElementAccessExpression(node)) return isName(node.argumentExpression);
  if (ts.isObjectLiteralExpression(node)) return keysOf(node).filter((key) => names.has(key)).length > 1;
  // `['condor', 'slurm'].includes(pool)`, `new Set(['local'])`
  return ts.isArrayLiteralExpression(node) && node.elements.length > 0 && node.elements.every(isName);
}

function keysOf({ properties }: ts.ObjectLiteralExpression): string[] {
  return properties.flatMap(({ name }) =>
    name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? [name.text] : [],
  );
}

/** Exported names with two meanings; every command exports `configure`. */
const exported = [...texts].flatMap(([file, text]) =>
  [...text.matchAll(/^export (?:async )?(?:function|class|interface|type|const) (\w+)/gm)].map(
    ([, name = '']) => ({
      name,
      file,
    }),
  ),
);
const ambiguous = [...Map.groupBy(exported, ({ name }) => name)]
  .filter(([name, places]) => name !== 'configure' && new Set(places.map(({ file }) => file)).size > 1)
  .map(([name, places]) => `${name} is exported by ${places.map(({ file }) => file).join(' and ')}`);

const isOver = files.length > budget.files || lines > budget.lines;
const shown = (count: number): string => count.toLocaleString('en-US');
console.log(`files in src without tests: ${files.length} (at most ${budget.files})`);
console.log(`lines in src without tests: ${shown(lines)} (at most ${shown(budget.lines)})`);
console.log(`imports of a pool's internals from outside: ${imports.length}`);
console.log(`decisions by a pool's name outside src/pool: ${comparisons.length}`);
console.log(`exported names with two meanings: ${ambiguous.length}`);
for (const place of [...imports, ...comparisons, ...ambiguous]) console.error(`  ${place}`);
process.exitCode = isOver || imports.length + comparisons.length + ambiguous.length > 0 ? 1 : 0;
