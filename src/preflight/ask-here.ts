import { access, constants, open, stat, readdir, readFile, statfs } from 'node:fs/promises';
import path from 'node:path';
import { errorReason, fileSize, findProgram, formatSize, isProgram, isThere } from '@updraft/base';
import { walkTree } from '@updraft/base/disk';
import { machinePaths, type PathContext, type JobCode, programsOf } from '../check/code/read-code.ts';
import type { FolderFact, HereFacts } from '../check/facts.ts';
import { runFiles, runsFolder } from '@updraft/account/run-folder';
import type { Plan } from '../job/plan.ts';
import { poolTraits } from '../job/pool-traits.ts';
import type { Asking } from './asking.ts';
import { askPython, type PythonQuestion, outputOf } from './ask-python.ts';
import type { Gathered } from './gathered.ts';

/** More names are not looked up. */
const maxPaths = 500;

/** What this machine shows about a job: its files, the paths it names, its folder. */
export async function askHere(
  asking: Asking,
  plan: Plan,
  code: JobCode,
  isQuick: boolean,
): Promise<Gathered<HereFacts['here']>> {
  const [existing, notExecutable, python, folder] = await Promise.all([
    existingPaths(asking, code, {
      folder: plan.folder,
      env: Object.values(plan.spec.train.env).map((value) => ({ value, place: { file: '', line: 0 } })),
    }),
    filesNotExecutable(plan, code),
    askPython(asking, pythonOf(plan, code)),
    folderOf(asking, plan, isQuick),
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

async function folderOf(asking: Asking, plan: Plan, isQuick: boolean): Promise<FolderFact> {
  const runs = path.join(plan.folder, runsFolder);
  const place = (await isThere(runs)) ? runs : plan.folder;
  const unwritable = await access(place, constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => errorReason(error),
  );
  const room = await askRoom(asking, plan, { place, isQuick });
  return { path: place, ...room, ...(unwritable === undefined ? {} : { unwritable }) };
}

/** Journals and logs of one job; its outputs come on top. */
const logs = { bytes: 1e6, files: 12 };
/** Servers that do not know their quotas answer late. */
const quotaMs = 3000;
/** Larger results are only measured in part. */
const maxMeasured = 2000;

type Room = FolderFact['rooms'][number];

/** What is left where a run is kept, and what the run will bring home. */
async function askRoom(
  asking: Asking,
  plan: Plan,
  { place, isQuick }: { place: string; isQuick: boolean },
): Promise<Pick<FolderFact, 'rooms' | 'needs'>> {
  const [mount, needs] = await Promise.all([mountOf(place), needsOf(plan)]);
  const quota = isQuick ? undefined : await quotaOf(asking, mount.source);
  const disk = await statfs(place).catch(() => undefined);
  const rooms: Room[] = [];
  if (disk !== undefined && disk.blocks > 0)
    rooms.push({
      name: `the file system ${mount.folder}`,
      freeBytes: disk.bavail * disk.bsize,
      // Some file systems create inodes as they need them, and count none.
      ...(disk.files > 0 ? { freeFiles: disk.ffree } : {}),
    });
  return { rooms: quota === undefined ? rooms : [...rooms, quota], needs };
}

/** The file system of a folder. */
async function mountOf(place: string): Promise<{ folder: string; source: string }> {
  const table = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  const mounts = table.split('\n').map((line) => line.split(' '));
  const around = mounts.filter(([, folder = '']) =>
    `${place}/`.startsWith(folder === '/' ? '/' : `${folder}/`),
  );
  const [source = '', folder = '/'] =
    around.toSorted(([, a = ''], [, b = '']) => a.length - b.length).at(-1) ?? [];
  return { source, folder };
}

/** As the last run of this name did; its logs alone, if there is none. */
async function needsOf({ folder, spec, jobs, files }: Plan): Promise<FolderFact['needs']> {
  const sent = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const last = await lastResults(path.join(folder, runsFolder), spec.name);
  const each = { bytes: logs.bytes + (last?.bytes ?? 0), files: logs.files + (last?.files ?? 0) };
  const why =
    last === undefined
      ? `${formatSize(logs.bytes)} of logs each; outputs come on top`
      : `${formatSize(each.bytes)} each, as in its last run`;
  return { bytes: sent + each.bytes * jobs.length, files: each.files * jobs.length, why };
}

/** The size of a result of the newest run of this name. */
async function lastResults(
  runs: string,
  name: string,
): Promise<{ bytes: number; files: number } | undefined> {
  const names = (await readdir(runs).catch(() => [])).filter((one) => one.startsWith(`${name}-`));
  const times = await Promise.all(
    names.map(async (one) => ({
      one,
      time: (await stat(path.join(runs, one)).catch(() => undefined))?.mtimeMs ?? 0,
    })),
  );
  for (const { one } of times.toSorted((a, b) => b.time - a.time)) {
    const results = path.join(runs, one, runFiles.results);
    const [job] = await readdir(results).catch(() => []);
    if (job !== undefined) return await sizeOf(path.join(results, job));
  }
  return undefined;
}

async function sizeOf(folder: string): Promise<{ bytes: number; files: number }> {
  const entries = await walkTree(folder).catch(() => []);
  const files = entries.filter(({ kind }) => kind === 'file').slice(0, maxMeasured);
  const sizes = await Promise.all(files.map(({ name }) => fileSize(path.join(folder, name))));
  return { bytes: sizes.reduce<number>((sum, size = 0) => sum + size, 0), files: entries.length };
}

/** What `quota` says about the user's quota on a file system; undefined if it has none, or nobody says. */
async function quotaOf(asking: Asking, source: string): Promise<Room | undefined> {
  const program = await findProgram(['quota'], asking.env);
  if (program === undefined) return undefined;
  const output = await outputOf(asking, program, ['-w'], { timeoutMs: quotaMs, anyStatus: true });
  return readQuota(output, source);
}

/** Reads `quota -w`: used, soft and hard limit of blocks of 1 KiB, then of files. */
export function readQuota(output: string, source: string): Room | undefined {
  const line = output.split('\n').find((one) => one.trim().split(/\s+/)[0] === source);
  const [used, soft, hard, ...rest] = (line ?? '').trim().split(/\s+/).slice(1).map(figure);
  const [fileUsed, fileSoft, fileHard] = rest.filter((one) => !Number.isNaN(one)).slice(-3);
  const left = (now = NaN, limits: (number | undefined)[] = []): number | undefined => {
    const limit = limits.find((one) => one !== undefined && one > 0);
    return limit === undefined || Number.isNaN(now) ? undefined : Math.max(0, limit - now);
  };
  const blocks = left(used, [hard, soft]);
  const files = left(fileUsed, [fileHard, fileSoft]);
  if (blocks === undefined && files === undefined) return undefined;
  return {
    name: `your quota on ${source}`,
    ...(blocks === undefined ? {} : { freeBytes: blocks * 1024 }),
    ...(files === undefined ? {} : { freeFiles: files }),
  };
}

/** An exceeded figure is marked with a star; a grace time is no figure. */
const figure = (text: string): number => (/^\d+\*?$/.test(text) ? Number.parseInt(text, 10) : NaN);
