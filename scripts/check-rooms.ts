import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { walkFiles } from '@updraft/base/disk';

/** Enforces `rooms.json`: which room may import which, including types; no cycles; no imports of a main. */
const root = path.dirname(import.meta.dirname);
const source = path.join(root, 'src');
const rooms = JSON.parse(readFileSync(path.join(root, 'rooms.json'), 'utf8')) as Record<string, string[]>;

const roomOf = (file: string): string => {
  const [first = '.', ...rest] = path.relative(source, file).split(path.sep);
  return rest.length === 0 ? '.' : first;
};

const files = (await walkFiles(source))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => path.join(source, name));

const problems: string[] = [];
const edges = new Map<string, string[]>();
const used = new Map<string, Set<string>>();

for (const file of files) {
  const targets: string[] = [];
  for (const { fileName: specifier } of ts.preProcessFile(readFileSync(file, 'utf8'), true, true)
    .importedFiles)
    checkImport(file, specifier, targets);
  edges.set(file, targets);
}

function checkImport(file: string, specifier: string, targets: string[]): void {
  const from = roomOf(file);
  const allowed = rooms[from] ?? [];
  const place = path.relative(root, file);
  const arrows = used.get(from) ?? new Set();
  used.set(from, arrows);
  if (isBuiltin(specifier)) return;
  if (!specifier.startsWith('.')) {
    const name = `npm:${specifier
      .split('/')
      .slice(0, specifier.startsWith('@') ? 2 : 1)
      .join('/')}`;
    arrows.add(name);
    if (!allowed.includes(name)) problems.push(`${place} imports ${specifier}, which room "${from}" may not`);
    return;
  }
  const target = path.resolve(path.dirname(file), specifier);
  if (!target.startsWith(source + path.sep)) return;
  targets.push(target);
  const to = roomOf(target);
  arrows.add(to);
  if (to !== from && !allowed.includes(to))
    problems.push(`${place} -> ${path.relative(root, target)}: room "${from}" may not import "${to}"`);
}

for (const [room, allowed] of Object.entries(rooms))
  for (const arrow of allowed)
    if (!used.get(room)?.has(arrow))
      problems.push(`rooms.json: "${room}" -> "${arrow}" is allowed but never used`);

for (const cycle of cycles())
  problems.push(`import cycle: ${cycle.map((file) => path.relative(root, file)).join(' -> ')}`);

/** Depth-first search; each cycle is reported once, from the file where it closed. */
function cycles(): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): void => {
    const at = trail.indexOf(file);
    if (at >= 0) found.push([...trail.slice(at), file]);
    if (at >= 0 || done.has(file)) return;
    trail.push(file);
    for (const next of edges.get(file) ?? []) visit(next);
    trail.pop();
    done.add(file);
  };
  for (const file of edges.keys()) visit(file);
  return found;
}

for (const problem of problems) console.error(problem);
if (problems.length === 0)
  console.log(`${files.length} files in ${Object.keys(rooms).length} rooms, arrows kept, no cycles`);
process.exitCode = problems.length === 0 ? 0 : 1;
