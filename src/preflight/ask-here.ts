import { access, constants, open } from 'node:fs/promises';
import path from 'node:path';
import { errorReason, isProgram, isThere } from '@updraft/base';
import { machinePaths, type PathContext, type JobCode, programsOf } from '../check/code/read-code.ts';
import type { FolderFact, HereFacts } from '../check/facts.ts';
import { runsFolder } from '@updraft/account/run-folder';
import type { Plan } from '../job/plan.ts';
import { poolTraits } from '../job/pool-traits.ts';
import type { Asking } from './asking.ts';
import { askPython, type PythonQuestion } from './ask-python.ts';
import type { Gathered } from './gathered.ts';

/** More names are not looked up. */
const maxPaths = 500;

/** What this machine shows about a job: its files, the paths it names, its folder. */
export async function askHere(
  asking: Asking,
  plan: Plan,
  code: JobCode,
): Promise<Gathered<HereFacts['here']>> {
  const [existing, notExecutable, python, folder] = await Promise.all([
    existingPaths(asking, code, {
      folder: plan.folder,
      env: Object.values(plan.spec.train.env).map((value) => ({ value, place: { file: '', line: 0 } })),
    }),
    filesNotExecutable(plan, code),
    askPython(asking, pythonOf(plan, code)),
    folderOf(plan),
  ]);
  const { facts: syntax, looked, unchecked } = python;
  return { facts: { existing, notExecutable, syntax, folder }, looked, unchecked };
}

/** Of the paths that the code names, those that exist on this machine. */
export async function existingPaths(
  { env: { HOME: home } }: Asking,
  code: JobCode,
  context: PathContext = {},
): Promise<Set<string>> {
  const texts = [...new Set(machinePaths(code, context).map(({ text }) => text))].slice(0, maxPaths);
  const found = await Promise.all(
    texts.map(async (text) => {
      const place = text.replace(/^(?:~|\$\{?HOME\}?)(?=\/|$)/, home ?? '~');
      return path.isAbsolute(place) && (await isThere(place));
    }),
  );
  return new Set(texts.filter((_, index) => found[index]));
}

async function filesNotExecutable({ folder, files }: Plan, { commands }: JobCode): Promise<Set<string>> {
  const run = new Set(
    commands.flatMap(({ words }) => programsOf(words)).map((word) => path.posix.normalize(word)),
  );
  const names = files.map((file) => file.path).filter((file) => run.has(file));
  const mayRun = await Promise.all(
    names.map((name) => isExecutable(path.join(folder, name)).catch(() => true)),
  );
  return new Set(names.filter((_, index) => mayRun[index] === false));
}

/** By its mode, or because it becomes executable as it is sent. */
async function isExecutable(file: string): Promise<boolean> {
  await using handle = await open(file);
  if (((await handle.stat()).mode & 0o111) !== 0) return true;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  return isProgram(buffer.subarray(0, bytesRead));
}

const pythonOf = ({ folder, spec, environment }: Plan, { files, commands }: JobCode): PythonQuestion => {
  const { image, python: modules } = spec.environment;
  const isOwn = image === undefined && environment === undefined;
  return {
    folder,
    files: files.filter(({ kind }) => kind === 'python').map(({ file }) => file),
    // A job with modules of its own may run in any interpreter that has them.
    isItsOwn: poolTraits[spec.run.pool].runsHere && isOwn && modules.length === 0,
    names: commands.flatMap(({ words }) => programsOf(words)).filter((word) => /^python[\d.]*$/.test(word)),
  };
};

async function folderOf({ folder }: Plan): Promise<FolderFact> {
  const runs = path.join(folder, runsFolder);
  const place = (await isThere(runs)) ? runs : folder;
  const unwritable = await access(place, constants.W_OK | constants.X_OK).then(() => undefined, errorReason);
  return { path: place, unwritable };
}
