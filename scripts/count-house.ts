import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { walkFiles } from '@updraft/base/disk';
import { pools } from '../src/job/choices.ts';
import { bundleAgent } from './agent-bundle.ts';
import { root } from './gate.ts';

/** What the code without its tests may have at most. A commit that makes one better may lower it; none raises one. */
const limits = {
  'tokens in src and packages': 742_347,
  'tokens in src': 383_266,
  'lines over 120 characters': 0,
  'files with exactly one importer': 106,
  "bytes of the agent's bundle": 704_007,
};

/** The only files outside src/pool that may depend on a pool's name. */
const tables = new Set(['src/job/choices.ts', 'src/job/pool-traits.ts']);
const names: ReadonlySet<string> = new Set(pools);

const files = (
  await Promise.all(
    ['src', 'packages'].map(async (top) =>
      (await walkFiles(path.join(root, top))).map((file) => `${top}/${file}`),
    ),
  )
)
  .flat()
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
const texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
const sources = new Map(
  [...texts].map(([file, text]) => [file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)]),
);

/** Pool internals that a file outside src/pool imports. */
const imports: string[] = [];
/** Places outside src/pool that depend on a pool's name. */
const comparisons: string[] = [];
for (const [file, source] of sources) if (!file.startsWith('src/pool/')) walk(file, source);

function walk(file: string, source: ts.SourceFile): void {
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

/** Exported names with two meanings; every command exports `configure`, and every package its view of the faults. */
const repeated = new Set(['configure', 'Fault', 'FaultKind', 'asFault']);
const exported = [...texts].flatMap(([file, text]) =>
  [...text.matchAll(/^export (?:async )?(?:function|class|interface|type|const) (\w+)/gm)].map(
    ([, name = '']) => ({
      name,
      file,
    }),
  ),
);
const ambiguous = [...Map.groupBy(exported, ({ name }) => name)]
  .filter(([name, places]) => !repeated.has(name) && new Set(places.map(({ file }) => file)).size > 1)
  .map(([name, places]) => `${name} is exported by ${places.map(({ file }) => file).join(' and ')}`);

/** The compiler's tokens: a name, a sign, a string or a part of a template each; no comments. */
function tokensOf(node: ts.Node, source: ts.SourceFile): number {
  if (ts.isJSDoc(node)) return 0;
  const children = node.getChildren(source);
  if (children.length === 0) return node.getWidth(source) > 0 ? 1 : 0;
  return children.reduce((sum, child) => sum + tokensOf(child, source), 0);
}
const tokens = new Map([...sources].map(([file, source]) => [file, tokensOf(source, source)]));
const tokensBelow = (top: string): number =>
  [...tokens].reduce((sum, [file, count]) => sum + (file.startsWith(top) ? count : 0), 0);

/** A file that only passes on what others export. */
const isDoor = ({ statements }: ts.SourceFile): boolean =>
  statements.every((one) => ts.isExportDeclaration(one) && one.moduleSpecifier !== undefined);

const specifierOf = ({ moduleSpecifier }: ts.ExportDeclaration): string =>
  moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : '';
const targetOf = (file: string, specifier: string): string =>
  path.posix.join(path.posix.dirname(file), specifier);

/** By the name that others import: the file of each export of a package's door, or the door that is such a file. */
const doors = new Map<string, string | Map<string, string>>();
for (const at of globSync('packages/*/package.json', { cwd: root })) {
  const { name, exports } = JSON.parse(readFileSync(path.join(root, at), 'utf8')) as PackageJson;
  for (const [door, target] of Object.entries(exports)) {
    const file = path.posix.join(path.posix.dirname(at), target);
    const source = sources.get(file);
    if (source !== undefined)
      doors.set(path.posix.join(name, door), isDoor(source) ? behind(file, source) : file);
  }
}

interface PackageJson {
  name: string;
  exports: Record<string, string>;
}

function behind(file: string, { statements }: ts.SourceFile): Map<string, string> {
  const found = new Map<string, string>();
  for (const one of statements)
    if (ts.isExportDeclaration(one) && one.exportClause !== undefined && ts.isNamedExports(one.exportClause))
      for (const { name } of one.exportClause.elements)
        found.set(name.text, targetOf(file, specifierOf(one)));
  return found;
}

/** How many files import each one, doors seen through. */
const importers = new Map<string, Set<string>>();
for (const [file, source] of sources)
  if (!file.startsWith('packages/') || !isDoor(source)) countImports(file, source.text);

function countImports(file: string, text: string): void {
  const words = new Set(text.match(/\w+/g));
  for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
    const door = fileName.startsWith('.') ? targetOf(file, fileName) : doors.get(fileName);
    const targets =
      typeof door === 'object'
        ? [...door].filter(([name]) => words.has(name)).map(([, target]) => target)
        : [door];
    for (const target of targets)
      if (target !== undefined) importers.set(target, (importers.get(target) ?? new Set()).add(file));
  }
}

const figures: Record<keyof typeof limits, number> = {
  'tokens in src and packages': tokensBelow(''),
  'tokens in src': tokensBelow('src/'),
  'lines over 120 characters': [...texts.values()].flatMap((text) =>
    text.split('\n').filter((line) => line.length > 120),
  ).length,
  'files with exactly one importer': [...importers.values()].filter((some) => some.size === 1).length,
  "bytes of the agent's bundle": Buffer.byteLength((await bundleAgent()).code),
};

const shown = (count: number): string => count.toLocaleString('en-US');
const over: string[] = [];
for (const [name, limit] of Object.entries(limits)) {
  const figure = figures[name as keyof typeof limits];
  console.log(`${name}: ${shown(figure)} (at most ${shown(limit)})`);
  if (figure > limit)
    over.push(`${name}: ${shown(figure)}, more than ${shown(limit)}: take something out instead`);
}
console.log(`imports of a pool's internals from outside: ${imports.length}`);
console.log(`decisions by a pool's name outside src/pool: ${comparisons.length}`);
console.log(`exported names with two meanings: ${ambiguous.length}`);
const problems = [...over, ...imports, ...comparisons, ...ambiguous];
for (const problem of problems) console.error(`  ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
