import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { findProgram } from '../../base/find-program.ts';
import type { FolderFact } from '../../check/facts.ts';
import { readQuota } from '../../check/read-quota.ts';
import { runFiles, runsFolder } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { formatSize } from '../../job/units.ts';
import type { Cli } from '../cli.ts';
import { outputOf } from './ask-python.ts';

/** Journals and logs of one job; its outputs come on top. */
const logs = { bytes: 1e6, files: 12 };
/** Servers that do not know their quotas answer late. */
const quotaMs = 3000;
/** Larger results are only measured in part. */
const maxMeasured = 2000;

type Room = FolderFact['rooms'][number];

/** What is left where a run is kept, and what the run will bring home. */
export async function askRoom(
  cli: Cli,
  plan: Plan,
  { place, isQuick }: { place: string; isQuick: boolean },
): Promise<Pick<FolderFact, 'rooms' | 'needs'>> {
  const [mount, needs] = await Promise.all([mountOf(place), needsOf(plan)]);
  const quota = isQuick ? undefined : await quotaOf(cli, mount.source);
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
      time: await stat(path.join(runs, one)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
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
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.slice(0, maxMeasured).map((name) =>
      stat(path.join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: entries.length };
}

/** What `quota` says about the user's quota on a file system; undefined if it has none, or nobody says. */
async function quotaOf(cli: Cli, source: string): Promise<Room | undefined> {
  const program = await findProgram(['quota'], cli.env);
  if (program === undefined) return undefined;
  const output = await outputOf(cli, program, ['-w'], { timeoutMs: quotaMs, anyStatus: true });
  return readQuota(output, source);
}
