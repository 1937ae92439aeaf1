import { lstat, mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '@updraft/base/disk';
import type { Fault } from '../../fault/fault.ts';
import { isFull, runFolderFull } from '../../job/full-disk.ts';
import type { WorkOrder } from '../../job/job.ts';
import { keptFolder } from '../../job/layout.ts';
import type { Attempt } from '../attempt.ts';
import { publishResults, readOwner } from './publish-results.ts';

const resultsIn = (folder: string): string => path.join(folder, 'results');

/**
 * Publishes valid results. If the run's folder is full, keeps them on the scratch disk, and throws a Fault that names
 * both. `code` is the version of the code that made them.
 */
export async function publishOrKeep(attempt: Attempt, code: string, signal: AbortSignal): Promise<void> {
  await publishResults(attempt, code, signal).catch(async (error: unknown) => {
    const { poolCleans } = attempt.context;
    // In a sandbox the results are on the scratch disk.
    if (!isFull(error) || poolCleans === 'always') throw error;
    // Elsewhere the pool removes everything, and the next attempt is on another machine.
    const kept = poolCleans === undefined ? await keep(attempt, code, signal) : undefined;
    throw doesNotFit(attempt.order, error, kept);
  });
}

interface Kept {
  folder: string;
  bytes?: number;
}

const doesNotFit = ({ resultsTo }: WorkOrder, error: unknown, kept: Kept | undefined): Fault =>
  runFolderFull({
    what: `the results do not fit into ${resultsTo}${kept === undefined ? ', and are lost' : ''}`,
    folder: path.dirname(resultsTo),
    error,
    neededBytes: kept?.bytes,
    kept: kept && resultsIn(kept.folder),
  });

/** Undefined if they do not fit on the scratch disk either. */
async function keep(attempt: Attempt, code: string, signal: AbortSignal): Promise<Kept | undefined> {
  const { order, context } = attempt;
  const folder = keptFolder(order);
  let bytes = 0;
  const record: Attempt['record'] = (body) => void (bytes += body.kind === 'output' ? body.bytes : 0);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (!(await isOwn(folder, context.uid))) return undefined;
    const elsewhere = { ...order, resultsTo: resultsIn(folder) };
    await publishResults({ ...attempt, order: elsewhere, record }, code, signal);
    return { folder, bytes };
  } catch {
    return undefined;
  }
}

/** Publishes what an earlier attempt with the same code could not return; false if there is nothing. */
export async function returnKept(attempt: Attempt, code: string): Promise<boolean> {
  const { order, scratch, context, record } = attempt;
  const folder = keptFolder(order);
  if (context.poolCleans !== undefined || !(await isOwn(folder, context.uid))) return false;
  const isSame = (await readOwner(resultsIn(folder)))?.code === code;
  if (isSame) {
    record({ kind: 'phase', phase: 'returning' });
    const work = await realpath(resultsIn(folder));
    const kept = { ...attempt, scratch: { ...scratch, work } };
    await publishResults(kept, code, context.signal).catch((error: unknown) => {
      throw isFull(error) ? doesNotFit(order, error, { folder }) : error;
    });
  }
  await removeTree(folder);
  return isSame;
}

/** The name can be guessed: a folder that another user could have made is ignored. */
async function isOwn(folder: string, user: number): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === user && (found.mode & 0o077) === 0;
}
