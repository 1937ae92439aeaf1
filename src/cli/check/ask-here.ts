import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorReason } from '../../base/error-reason.ts';
import { machinePaths, type PathContext } from '../../check/code/machine-paths.ts';
import type { JobCode } from '../../check/code/code.ts';
import { programsOf } from '../../check/code/uses.ts';
import type { FolderFact, HereFacts } from '../../check/facts.ts';
import { runsFolder } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import type { Cli } from '../cli.ts';
import { askPython, type PythonQuestion } from './ask-python.ts';
import { askRoom } from './ask-room.ts';
import type { Gathered } from './gathered.ts';

/** More names are not looked up. */
const maxPaths = 500;

/** What this machine shows about a job: its files, the paths it names, its folder. */
export async function askHere(
  cli: Cli,
  plan: Plan,
  code: JobCode,
  isQuick: boolean,
): Promise<Gathered<HereFacts['here']>> {
  const [existing, notExecutable, python, folder] = await Promise.all([
    existingPaths(cli, code, {
      folder: plan.folder,
      env: Object.values(plan.spec.train.env).map((value) => ({ value, place: { file: '', line: 0 } })),
    }),
    filesNotExecutable(plan, code),
    askPython(cli, pythonOf(plan, code)),
    folderOf(cli, plan, isQuick),
  ]);
  const { facts: syntax, looked, unchecked } = python;
  return { facts: { existing, notExecutable, syntax, folder }, looked, unchecked };
}

/** Of the paths that the code names, those that exist on this machine. */
export async function existingPaths(
  { env: { HOME: home } }: Cli,
  code: JobCode,
  context: PathContext = {},
): Promise<Set<string>> {
  const texts = [...new Set(machinePaths(code, context).map(({ text }) => text))].slice(0, maxPaths);
  const found = await Promise.all(
    texts.map(async (text) => {
      const place = text.replace(/^(?:~|\$\{?HOME\}?)(?=\/|$)/, home ?? '~');
      return path.isAbsolute(place) && (await stat(place).then(Boolean, () => false));
    }),
  );
  return new Set(texts.filter((_, index) => found[index]));
}

async function filesNotExecutable({ folder, files }: Plan, { commands }: JobCode): Promise<Set<string>> {
  const run = new Set(
    commands.flatMap(({ words }) => programsOf(words)).map((word) => path.posix.normalize(word)),
  );
  const names = files.map((file) => file.path).filter((file) => run.has(file));
  const modes = await Promise.all(
    names.map((name) =>
      stat(path.join(folder, name)).then(
        ({ mode }) => mode,
        () => 0o111,
      ),
    ),
  );
  return new Set(names.filter((_, index) => ((modes[index] ?? 0) & 0o111) === 0));
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

async function folderOf(cli: Cli, plan: Plan, isQuick: boolean): Promise<FolderFact> {
  const runs = path.join(plan.folder, runsFolder);
  const place = await stat(runs).then(
    () => runs,
    () => plan.folder,
  );
  const unwritable = await access(place, constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => errorReason(error),
  );
  const room = await askRoom(cli, plan, { place, isQuick });
  return { path: place, ...room, ...(unwritable === undefined ? {} : { unwritable }) };
}
