import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { counted, type Env, errorReason, isThere, readJsonFile, shellQuote } from '@updraft/base';
import { removeTree } from '@updraft/base/disk';
import { Fault } from '../fault/fault.ts';
import { describeFull, isFull } from '../job/full-disk.ts';
import type { WorkOrder } from '../job/job.ts';
import { attemptFiles, attemptFolder, keptFolder } from '../job/layout.ts';
import { isOpen } from '../journal/state.ts';
import { poolKind } from '../pool/open-pool.ts';
import { deleteSecrets } from '../pool/stored-secrets.ts';
import { draftName } from './create-run.ts';
import { readRunOutline } from './run-states.ts';

/** Throws a Fault unless the folder is a run of its own that has ended, so that it can be removed. */
export async function assertRemovable(folder: string): Promise<void> {
  const run = path.basename(folder);
  if (!(await lstat(folder)).isDirectory())
    throw new Fault('usage', `${folder} is a link: it is not followed`, {
      about: folder,
      fix: 'remove the link with `rm`, or name the run in its own folder',
    });
  const { jobs, pool } = await readRunOutline(folder);
  const open = jobs.filter((job) => isOpen(job) && !job.isKeptBack).length;
  const supervisor = await poolKind(pool)?.supervisor?.(folder);
  if (open === 0 && supervisor?.state !== 'running') return;
  throw new Fault('usage', `${run} has not ended: ${counted(open, 'job')} waiting, running or held`, {
    about: folder,
    fix: `updraft stop ${shellQuote(run)}`,
  });
}

/** Removes a run. It disappears at once; if that is interrupted, the next command removes the rest. */
export async function removeRun(folder: string, env: Env): Promise<void> {
  const run = path.basename(folder);
  const doomed = path.join(path.dirname(folder), draftName(run));
  const kept = await keptFolders(folder);
  await rename(folder, doomed);
  for (const one of kept) await removeTree(one);
  await deleteSecrets(run, env);
  await removeTree(doomed).catch((cause: unknown) => {
    throw new Fault('file-invalid', `${run} is not removed completely: ${errorReason(cause)}`, {
      fix: `correct that; the next \`updraft run\` removes what is left in ${doomed}`,
      about: doomed,
      cause,
    });
  });
}

/** The results of the run that did not fit into its folder, on this machine. */
async function keptFolders(folder: string): Promise<string[]> {
  const { jobs } = await readRunOutline(folder);
  const full = jobs.flatMap(({ id, attempts }) => {
    const last = attempts.findLast(({ fault }) => fault?.kind === 'run-folder-full');
    return last === undefined ? [] : [attemptFolder(folder, id, last.attempt)];
  });
  const orders = await Promise.all(
    full.map((attempt) => readJsonFile<WorkOrder>(path.join(attempt, attemptFiles.order))),
  );
  return orders.flatMap((order) => (order?.run === path.basename(folder) ? [keptFolder(order)] : []));
}

/** Only names, contents, modes and times of the files count, not who packs them or when. */
const tarOptions = [
  '--create',
  '--sort=name',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--format=posix',
  '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
];

export interface Archive {
  file: string;
  bytes: number;
}

/** Packs a run into `NAME.tar.gz` in a folder, verifies it, and then removes the run. */
export async function archiveRun(
  folder: string,
  to: string,
  { env, signal }: { env: Env; signal: AbortSignal },
): Promise<Archive> {
  const run = path.basename(folder);
  const file = path.join(to, `${run}.tar.gz`);
  const real = await realpath(to).catch(() => to);
  if (`${real}/`.startsWith(`${await realpath(folder)}/`))
    throw new Fault('usage', `${to} is in the run itself, which is removed`, { fix: 'use --to FOLDER' });
  if (await isThere(file))
    throw new Fault('usage', `${file} exists already`, {
      about: file,
      fix: `move it away: mv ${shellQuote(file)} …`,
    });
  const draft = path.join(to, `.${run}.tar.gz.draft`);
  try {
    // What is there was left by a killed command, or is a link that would be written through.
    await rm(draft, { force: true });
    await pack(folder, draft, signal);
    // What cannot be listed could not be unpacked.
    await promisify(execFile)('tar', ['-tzf', draft], { maxBuffer: 1 << 30, signal });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    signal.throwIfAborted();
    throw cannotArchive(run, file, error);
  }
  await removeRun(folder, env);
  return { file, bytes: (await stat(file)).size };
}

async function pack(folder: string, draft: string, signal: AbortSignal): Promise<void> {
  const args = [...tarOptions, '-C', path.dirname(folder), `./${path.basename(folder)}`];
  const tar = spawn('tar', args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
  let said = '';
  tar.stderr.on('data', (data) => (said += String(data)));
  const ended = once(tar, 'close') as Promise<[number | null]>;
  const output = createWriteStream(draft, { mode: 0o600, flags: 'wx' });
  await Promise.all([ended, pipeline(tar.stdout, createGzip(), output)]);
  const [status] = await ended;
  if (status !== 0) throw new Error(`tar exited with ${status ?? 'a signal'}: ${said.trim().slice(0, 300)}`);
  await using written = await open(draft, 'r');
  await written.sync();
}

function cannotArchive(run: string, file: string, error: unknown): Fault {
  if (isFull(error))
    return new Fault('disk-full', `${run} is not archived: ${describeFull(path.dirname(file), error)}`, {
      fix: 'write the archive to another disk with --to FOLDER',
      about: file,
      cause: error,
    });
  return new Fault('file-invalid', `${run} is not archived: ${(error as Error).message}`, {
    fix: 'nothing was removed: fix that, and run the same command again',
    about: file,
    cause: error,
  });
}
