import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { walkFiles } from '@updraft/base/disk';
import ts from 'typescript';

/**
 * Enforces the walls, types included. A package imports what its `package.json` depends on, by name; a room of `src`
 * what `rooms.json` allows. Nobody reaches into a package by path, and there are no cycles.
 */
const root = path.dirname(import.meta.dirname);
const scope = '@updraft/';
const read = (name: string): unknown => JSON.parse(readFileSync(path.join(root, name), 'utf8'));
const rooms = read('rooms.json') as Record<string, string[]>;
const allowed = new Map(Object.entries(rooms));
for (const name of readdirSync(path.join(root, 'packages'))) {
  const { dependencies = {} } = read(`packages/${name}/package.json`) as {
    dependencies?: Record<string, string>;
  };
  allowed.set(scope + name, Object.keys(dependencies));
}

const isTest = (file: string): boolean => file.endsWith('.test.ts') || !/^(?:src|packages)\//.test(file);

/** `@updraft/pelican`, a room of `src`, or the folder of tests and scripts. */
const placeOf = (file: string): string => {
  const [top = '', name = '', ...rest] = file.split('/');
  if (top === 'packages') return scope + name;
  return top !== 'src' ? top : rest.length === 0 ? '.' : name;
};

const problems: string[] = [];
const edges = new Map<string, string[]>();
const used = new Map<string, Set<string>>([...allowed.keys()].map((place) => [place, new Set()]));

for (const top of ['src', 'packages', 'test', 'scripts', 'bench'])
  for (const name of await walkFiles(path.join(root, top)))
    if (/\.ts$/.test(name)) checkFile(`${top}/${name}`);

function checkFile(file: string): void {
  const text = readFileSync(path.join(root, file), 'utf8');
  const imported = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  if (!isTest(file)) edges.set(file, []);
  for (const specifier of imported)
    if (specifier.startsWith('.')) checkPath(file, path.posix.join(path.posix.dirname(file), specifier));
    else if (!isBuiltin(specifier)) checkName(file, specifier);
}

function checkPath(file: string, target: string): void {
  const [from, to] = [placeOf(file), placeOf(target)];
  if (from === to) edges.get(file)?.push(target);
  else if (to.startsWith(scope)) problems.push(`${file} -> ${target}: import ${to} by its name`);
  else if (isTest(file)) {
    if (from.startsWith(scope) && to !== 'test')
      problems.push(`${file} -> ${target}: no test of a package needs the product`);
  } else if (/^src\//.test(target)) {
    used.get(from)?.add(to);
    edges.get(file)?.push(target);
    if (!(allowed.get(from)?.includes(to) ?? false))
      problems.push(`${file} -> ${target}: "${from}" may not import "${to}"`);
  }
}

function checkName(file: string, specifier: string): void {
  if (isTest(file)) return;
  const parts = specifier.split('/');
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  const from = placeOf(file);
  const to = from.startsWith(scope) || name.startsWith(scope) ? name : `npm:${name}`;
  used.get(from)?.add(to);
  if (parts[2] === 'testing') problems.push(`${file} imports ${specifier}, which is for tests`);
  if (!(allowed.get(from)?.includes(to) ?? false))
    problems.push(`${file} imports ${specifier}, which "${from}" may not`);
}

for (const [place, arrows] of allowed)
  for (const arrow of arrows)
    if (!(used.get(place)?.has(arrow) ?? false))
      problems.push(`"${place}" -> "${arrow}" is allowed but never used`);

for (const cycle of cycles()) problems.push(`cycle: ${cycle.join(' -> ')}`);

/** Depth-first search over files and packages; each cycle is reported once, from where it closed. */
function cycles(): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (one: string): void => {
    const at = trail.indexOf(one);
    if (at >= 0) found.push([...trail.slice(at), one]);
    if (at >= 0 || done.has(one)) return;
    trail.push(one);
    for (const next of edges.get(one) ?? (one.startsWith(scope) ? allowed.get(one) : undefined) ?? [])
      visit(next);
    trail.pop();
    done.add(one);
  };
  for (const one of [...edges.keys(), ...allowed.keys()]) visit(one);
  return found;
}

for (const problem of problems) console.error(problem);
if (problems.length === 0)
  console.log(`${edges.size} files in ${allowed.size} packages and rooms, arrows kept, no cycles`);
process.exitCode = problems.length === 0 ? 0 : 1;
