import { constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { walkFiles } from '@updraft/base/disk';
import { resultsFolder } from '@updraft/account/run-folder';
import type { ResultFile } from './page-data.ts';

/** A result may be a folder of many small files; those have no use as single downloads. */
const maxFiles = 100;

/** The plain files of a job's results, the largest first. Links are left out, and names with a dot: our own notes. */
export async function listResults(runFolder: string, job: string): Promise<ResultFile[]> {
  const root = await resultsRoot(runFolder, job);
  if (root === undefined) return [];
  const names = (await walkFiles(root).catch(() => [])).filter(
    (name) => !path.basename(name).startsWith('.'),
  );
  const files = await Promise.all(
    names.slice(0, maxFiles).map(async (name) => {
      const found = await stat(path.join(root, name)).catch(() => undefined);
      return found === undefined ? [] : [{ name, bytes: found.size }];
    }),
  );
  return files.flat().sort((a, b) => b.bytes - a.bytes || a.name.localeCompare(b.name));
}

/** An open file of a job's results; undefined for anything that is not a plain file inside its folder. */
export async function openResult(
  runFolder: string,
  job: string,
  name: string,
): Promise<{ handle: FileHandle; bytes: number } | undefined> {
  const root = await resultsRoot(runFolder, job);
  if (root === undefined || name.includes('\0')) return undefined;
  const file = await realpath(path.join(root, name)).catch(() => undefined);
  // A link, or `..`, would make its real path another.
  if (file === undefined || file !== path.join(root, name) || !file.startsWith(root + path.sep))
    return undefined;
  // Without waiting for the writer of a named pipe.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch(() => undefined);
  const found = await handle?.stat();
  if (handle !== undefined && found?.isFile() === true) return { handle, bytes: found.size };
  await handle?.close();
  return undefined;
}

/** The real folder of a job's results. The folder of all results may be a link, to a larger disk; a job's may not. */
async function resultsRoot(runFolder: string, job: string): Promise<string | undefined> {
  if (job === '' || path.basename(job) !== job || job === '.' || job === '..') return undefined;
  const all = await realpath(path.dirname(resultsFolder(runFolder, job))).catch(() => undefined);
  if (all === undefined) return undefined;
  const root = path.join(all, job);
  return (await realpath(root).catch(() => undefined)) === root ? root : undefined;
}

const types: Record<string, string> = {
  '.json': 'application/json',
  '.csv': 'text/csv; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.log': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.zip': 'application/zip',
  '.gz': 'application/gzip',
  '.tar': 'application/x-tar',
};

/**
 * How a browser must treat a result: save it, under a name that also says the run and the job. What it could run as a
 * page of ours, like HTML or SVG, is only bytes to it.
 */
export function downloadHeaders(run: string, job: string, name: string): Record<string, string> {
  const saved = [run, job, ...name.split('/')].filter((part) => part !== '').join('-');
  const plain = saved.replaceAll(/[^\w.+=-]/g, '_');
  const encoded = encodeURIComponent(saved).replaceAll(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    'Content-Type': types[path.extname(name).toLowerCase()] ?? 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`,
  };
}
