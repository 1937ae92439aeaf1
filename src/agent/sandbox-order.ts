import { readFileSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Env } from '../base/env.ts';
import type { Order } from '../job/job.ts';
import { attemptFiles, attemptFolder, resultsFolder, runFiles, sandboxFiles } from '../job/layout.ts';
import { readOrder } from './order.ts';

/**
 * The order of an attempt in a scheduler's sandbox. The sandbox is laid out as the run's folder is, so that what
 * the scheduler brings back falls into place; which attempt this is, the scheduler knows.
 */
export async function readSandboxOrder(file: string, cwd: string, env: Env): Promise<Order> {
  const started = attemptNumber(env);
  const order = await readOrder(file, (value) => placed(value as Order, cwd, started));
  await mkdir(order.attemptFolder, { recursive: true });
  await mkdir(path.join(cwd, runFiles.results), { recursive: true });
  await adoptCheckpoint(order, cwd);
  return order;
}

function placed(order: Order, cwd: string, started: number): Order {
  const id = (order as Partial<Order>).job?.id ?? '';
  const attempt = (order.attemptsBefore ?? 0) + started;
  return {
    ...order,
    attempt,
    filesFrom: path.join(cwd, runFiles.files),
    scratchParent: cwd,
    resultsTo: resultsFolder(cwd, id),
    attemptFolder: attemptFolder(cwd, id, attempt),
    data: (order as Partial<Order>).data?.map((source) => ({
      ...source,
      ...(source.delivered === undefined ? {} : { delivered: path.resolve(cwd, source.delivered) }),
      ...(source.tokenFile === undefined ? {} : { tokenFile: path.resolve(cwd, source.tokenFile) }),
    })) as Order['data'],
  };
}

/** HTCondor counts how often it tried to start the job; this start is counted already. */
function attemptNumber(env: Env): number {
  const file = env['_CONDOR_JOB_AD'];
  if (file === undefined) return 1;
  try {
    const ad = readFileSync(file, 'latin1');
    return Math.max(1, Number(/^NumShadowStarts\s*=\s*(\d+)/m.exec(ad)?.[1] ?? 1));
  } catch {
    return 1;
  }
}

/**
 * A checkpoint comes back to the sandbox from the scheduler's spool after an eviction, and from the access point
 * after a failure: the later one counts.
 */
async function adoptCheckpoint(order: Order, cwd: string): Promise<void> {
  const sent = path.join(cwd, sandboxFiles.checkpoint);
  const spooled = path.join(path.dirname(order.attemptFolder), sandboxFiles.checkpoint);
  const sentBy = await savedBy(sent);
  if (sentBy <= (await savedBy(spooled))) return;
  await rm(spooled, { recursive: true, force: true });
  await rename(sent, spooled);
}

/** The number of the attempt that saved a checkpoint; 0 when there is none. */
async function savedBy(folder: string): Promise<number> {
  const text = await readFile(path.join(folder, attemptFiles.savedBy), 'utf8').catch(() => '0');
  return Number.parseInt(text, 10) || 0;
}
