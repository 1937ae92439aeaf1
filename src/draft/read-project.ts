import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '@updraft/base';
import { localModules } from '../script/python-imports.ts';
import { readScript, type ScriptFacts } from '../script/read-script.ts';
import type { Passed } from '../script/static-value.ts';

/** A training script with what stands around it. Paths are relative to the folder of the job file, with `/`. */
export interface Project {
  /** The folder of the job file. */
  folder: string;
  script: string;
  /** The subcommand that trains, if the script has some. */
  subcommand?: string;
  /** Its arguments are those of the subcommand. */
  facts: ScriptFacts;
  /** Python files of the project that it imports, directly or not. */
  modules: Module[];
  /** It imports what Python does not look for beside it. */
  importsFromAbove: boolean;
  /** What a path of the script is on this machine. */
  look(file: string): Promise<'file' | 'folder' | undefined>;
  /** A path with the user's home for `~`. */
  expand(file: string): string;
}

/** A Python file of the project. */
export interface Module {
  file: string;
  facts: ScriptFacts;
  /** Nothing imports it that surely runs. */
  isOptional?: boolean;
}

/** Folders that hold no code of the project. */
const skipped =
  /^(\.|__pycache__$|node_modules$|site-packages$|venv$|env$|runs$|wandb$|lightning_logs$|build$|dist$)/;
const maxFiles = 3000;
const deepest = 6;

export async function readProject(
  folder: string,
  script: string,
  { home, words }: { home: string; words: readonly string[] },
): Promise<Project> {
  const { subcommand, facts } = ofSubcommand(await readPython(folder, script, { words }));
  const beside = path.posix.dirname(script);
  const above = beside === '.' ? [] : await listPython(folder);
  const python = { below: await listPython(path.join(folder, beside)), above, beside };
  let importsFromAbove = false;
  const modules = new Map<string, Module>();
  const waiting: Module[] = [{ file: path.posix.basename(script), facts }];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
    // What is surely imported comes first.
    for (const found of next.facts.imports.toSorted((a, b) => order.indexOf(a.when) - order.indexOf(b.when)))
      for (const [file, isAbove] of imported(found, next.file, python)) {
        importsFromAbove ||= isAbove;
        if (modules.has(file) || file === path.posix.basename(script)) continue;
        const importer = next.facts.passed;
        const read = await readPython(folder, path.posix.join(beside, file), { importer });
        const module = { file, facts: read, isOptional: next.isOptional === true || found.when !== 'always' };
        modules.set(file, module);
        waiting.push(module);
      }
  const expand = (file: string): string => file.replace(/^~(?=\/|$)/, home);
  return {
    folder,
    script,
    ...defined({ subcommand }),
    facts,
    importsFromAbove,
    modules: [...modules.values()].map((one) => ({ ...one, file: path.posix.join(beside, one.file) })),
    look: (file) => kindOf(path.resolve(folder, expand(file))),
    expand,
  };
}

/** The facts of the subcommand that trains: the one named so, or the first. */
function ofSubcommand(facts: ScriptFacts): { subcommand?: string | undefined; facts: ScriptFacts } {
  const all = [...new Set(facts.args.flatMap(({ command }) => command ?? []))];
  const subcommand = all.find((name) => /train|fit/.test(name)) ?? all[0];
  const args = facts.args.filter(({ command }) => command === undefined || command === subcommand);
  return { subcommand, facts: { ...facts, args } };
}

/** Beside the script, or, marked, in the folder of the job file; a relative import starts at its own file. */
function imported(
  { module, names }: { module: string; names: string[] },
  importer: string,
  { below, above, beside }: { below: readonly string[]; above: readonly string[]; beside: string },
): [file: string, isAbove: boolean][] {
  const isRelative = module.startsWith('.');
  const from = (place: string, files: readonly string[]): string[] => {
    const all = files.map((file) => ({ file }));
    return localModules({ module: isRelative ? module : `.${module}`, names }, place, all).map(
      ({ file }) => file,
    );
  };
  const near = above.map((file) => path.posix.relative(beside, file));
  const found = from(isRelative ? importer : 'script.py', [...below, ...(isRelative ? near : [])]);
  const higher = found.length > 0 || isRelative ? [] : from('script.py', above);
  // Scripts that change sys.path find what is beside the importer.
  if (found.length + higher.length === 0) found.push(...from(importer, below));
  return [
    ...found.map((file): [string, boolean] => [file, false]),
    ...higher.map((file): [string, boolean] => [path.posix.relative(beside, file), true]),
  ];
}

const readPython = async (
  folder: string,
  file: string,
  started?: { importer?: Passed; words?: readonly string[] },
): Promise<ScriptFacts> => readScript(await readFile(path.join(folder, file), 'utf8'), { file, ...started });

const order = ['always', 'perhaps', 'guarded'];

async function listPython(folder: string, below = '', found: string[] = []): Promise<string[]> {
  const entries = await readdir(path.join(folder, below), { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (found.length >= maxFiles) break;
    const file = path.posix.join(below, entry.name);
    if (entry.isFile() && entry.name.endsWith('.py')) found.push(file);
    if (entry.isDirectory() && !skipped.test(entry.name) && file.split('/').length < deepest)
      await listPython(folder, file, found);
  }
  return found;
}

async function kindOf(file: string): Promise<'file' | 'folder' | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isDirectory() === true ? 'folder' : found?.isFile() === true ? 'file' : undefined;
}

const usualNames = /^(train|main|run|finetune|fine_tune|pretrain)\w*\.py$/;

/** The scripts in a folder that look like a training to start, the likeliest first. */
export async function findScripts(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch((): string[] => [])).filter((name) => name.endsWith('.py'));
  const found: string[] = [];
  for (const name of names.slice(0, 50)) {
    const { isProgram, saves } = await readPython(folder, name);
    if (isProgram && (saves.length > 0 || usualNames.test(name))) found.push(name);
  }
  const usual = found.filter((name) => usualNames.test(name));
  return usual.length === 1 ? usual : found;
}
