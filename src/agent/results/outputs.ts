import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, realpath, stat, writeFile, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { unlessGone, readJsonFile } from '@updraft/base';
import { walkFiles, ensureFolder, removeTree } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import { randomBytes } from 'node:crypto';
import type { Attempt } from '../attempt.ts';
import { scratchAt, type Scratch } from '../scratch.ts';
import { lastErrorLines } from '../training/log-tail.ts';
import { listNames } from '../training/failure-advice.ts';
import { startShell, stopShell } from '../training/shell.ts';
import { isWithin, copyTree, isCutZip } from './copy-tree.ts';
import type { WorkOrder } from '../../job/job.ts';

/** What was there before the training, by the file system's own clock, which may differ from the machine's. */
export interface OutputSnapshot {
  startedNs: bigint;
  states: Map<string, string | undefined>;
}

/** Records the declared outputs just before the training starts, so that stale files cannot pass as results. */
export async function snapshotOutputs(outputs: string[], scratch: Scratch): Promise<OutputSnapshot> {
  const marker = path.join(scratch.root, 'started');
  await writeFile(marker, '');
  const { mtimeNs } = await stat(marker, { bigint: true });
  const states = new Map<string, string | undefined>();
  for (const output of outputs) states.set(output, await stateOf(path.join(scratch.work, output)));
  return { startedNs: mtimeNs, states };
}

/** Throws a Fault that names what is missing, empty, cut, older than the training or outside its folder. */
export async function checkOutputs(
  outputs: string[],
  scratch: Scratch,
  before: OutputSnapshot,
): Promise<void> {
  const problems: string[] = [];
  for (const output of outputs) {
    const problem = await problemOf(output, scratch.work, before);
    if (problem !== undefined) problems.push(`${output} ${problem}`);
  }
  if (problems.length === 0) return;
  throw new Fault('wrong-output', `the training ended without a valid result: ${problems.join('; ')}`, {
    fix:
      `make the training write ${outputs.join(', ')} to the ` +
      `folder it starts in${await listWorkFolder(scratch.work)}`,
    about: outputs.join(', '),
  });
}

/** Runs the user's own command to check the result. */
export async function checkByCommand(command: string, attempt: Attempt, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const shell = await startShell(command, attempt);
  const stop = (): void => void stopShell(shell, attempt.context);
  signal.addEventListener('abort', stop, { once: true });
  const ended = await shell.ended;
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  if (ended.status === 0) return;
  const how =
    ended.status === null
      ? `was killed by ${ended.signal ?? 'a signal'}`
      : `exited with code ${ended.status}`;
  const line = lastErrorLines(attempt.order).at(-1) ?? '';
  throw new Fault('wrong-output', `the check \`${command}\` ${how}${line === '' ? '' : `: ${line}`}`, {
    fix: 'see what the check printed in out.log and err.log: the result exists but is not valid',
    about: command,
  });
}

async function problemOf(output: string, work: string, before: OutputSnapshot): Promise<string | undefined> {
  const file = path.join(work, output);
  const target = await unlessGone(realpath(file));
  if (target === undefined) return 'is missing';
  if (!isWithin(target, work)) return `is a link to ${target}, outside the work folder`;
  const newest = await newestFile(target);
  if (newest === undefined) return 'is empty';
  if (newest < before.startedNs) return 'is older than the start of the training';
  const old = before.states.get(output);
  if (old !== undefined && old === (await stateOf(file))) return 'was there before and is unchanged';
  const files = (await stat(target)).isDirectory() ? await walkFiles(target) : [''];
  const cut = files.find((name) => isCutZip(path.join(target, name)));
  if (cut === undefined) return undefined;
  return (
    `${cut === '' ? '' : `has ${cut}, which `}is cut short: ` +
    'it begins as a zip, as torch.save writes it, and has no end'
  );
}

/** When the newest non-empty file of a tree changed; undefined if there is none. */
async function newestFile(file: string): Promise<bigint | undefined> {
  const info = await stat(file, { bigint: true }).catch(() => undefined);
  if (info?.isFile()) return info.size > 0n ? info.mtimeNs : undefined;
  if (!info?.isDirectory()) return undefined;
  let newest: bigint | undefined;
  for (const entry of await readdir(file, { withFileTypes: true })) {
    // Links to folders are not followed: they may lead back.
    if (!entry.isFile() && !entry.isDirectory()) continue;
    const time = await newestFile(path.join(file, entry.name));
    if (time !== undefined && (newest === undefined || time > newest)) newest = time;
  }
  return newest;
}

async function stateOf(file: string): Promise<string | undefined> {
  const info = await stat(file, { bigint: true }).catch(() => undefined);
  if (info === undefined || info.isDirectory()) return undefined;
  return `${info.ino} ${info.size} ${info.mtimeNs} ${info.ctimeNs}`;
}

async function listWorkFolder(work: string): Promise<string> {
  const names = await listNames(work);
  return names === '' ? '; it left nothing there' : `; the folder now has ${names}`;
}

/** What a paused attempt leaves for the agent that is restarted in the same sandbox. */
export interface Paused {
  attempt: number;
  scratch: Scratch;
  before: OutputSnapshot;
  /** The version of the code. */
  code: string;
  /** Of its CheckpointSaver. */
  standstills: number;
}

const markFile = '.updraft-paused.json';

export function savePauseMark(folder: string, { scratch, before, ...kept }: Paused): void {
  const states = [...before.states].map(([name, state]) => [name, state ?? null]);
  const mark = { ...kept, root: scratch.root, startedNs: String(before.startedNs), states };
  writeFileSync(path.join(folder, markFile), `${JSON.stringify(mark)}\n`);
}

/** The attempt that paused here, if it is this one; it can be resumed once. */
export function takePauseMark(folder: string, attempt: number): Paused | undefined {
  const file = path.join(folder, markFile);
  if (!existsSync(file)) return undefined;
  const mark = JSON.parse(readFileSync(file, 'utf8')) as Omit<Paused, 'scratch' | 'before'> & {
    root: string;
    startedNs: string;
    states: [string, string | null][];
  };
  rmSync(file);
  if (mark.attempt !== attempt || !existsSync(mark.root)) return undefined;
  const states = new Map(mark.states.map(([name, state]) => [name, state ?? undefined]));
  const before = { startedNs: BigInt(mark.startedNs), states };
  return { ...mark, scratch: scratchAt(mark.root), before };
}

/** Names the owner of the results, so that no other job's attempt replaces them. */
const ownerFile = '.updraft.json';

interface Owner {
  run: string;
  job: string;
  attempt: number;
  /** The version of the code that made them. */
  code: string;
}

/** Refuses, before any work is done, a results folder that holds anything but this job's earlier results. */
export async function checkResultsFolder(order: WorkOrder): Promise<void> {
  const { run, job, resultsTo } = order;
  const names = (await unlessGone(readdir(resultsTo))) ?? [];
  if (names.length === 0) return;
  const owner = await readOwner(resultsTo);
  if (owner?.run === run && owner.job === job.id) return;
  const whose =
    owner === undefined ? 'something else' : `the results of job ${owner.job} of run ${owner.run}`;
  throw new Fault('order-invalid', `the results folder ${resultsTo} already holds ${whose}`, {
    fix: `move ${resultsTo} away`,
    about: resultsTo,
  });
}

/** Copies the outputs next to the results folder, then swaps them in atomically. */
export async function publishResults(
  { order, scratch, record }: Attempt,
  code: string,
  signal: AbortSignal,
): Promise<void> {
  await checkResultsFolder(order);
  const { resultsTo } = order;
  await ensureFolder(path.dirname(resultsTo));
  const draft = siblingPath(resultsTo, 'new');
  try {
    await mkdir(draft);
    for (const output of order.job.train.outputs)
      await copyTree(output, scratch.work, draft, {
        signal,
        within: scratch.work,
        onCopied: (copied) => record({ kind: 'output', ...copied }),
      });
    const owner: Owner = { run: order.run, job: order.job.id, attempt: order.attempt, code };
    await writeFile(path.join(draft, ownerFile), `${JSON.stringify(owner)}\n`);
    signal.throwIfAborted();
    await swap(draft, resultsTo);
  } catch (error) {
    await removeTree(draft);
    throw error;
  }
}

async function swap(draft: string, target: string): Promise<void> {
  const old = siblingPath(target, 'old');
  const replaced = await unlessGone(rename(target, old).then(() => true));
  await rename(draft, target);
  if (replaced) await removeTree(old);
}

const siblingPath = (folder: string, what: string): string =>
  path.join(path.dirname(folder), `.${path.basename(folder)}.${what}-${randomBytes(6).toString('hex')}`);

/** Whose results a folder holds, if any. */
export const readOwner = (folder: string): Promise<Owner | undefined> =>
  readJsonFile<Owner>(path.join(folder, ownerFile));
