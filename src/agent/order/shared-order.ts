import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Env } from '../../base/env.ts';
import type { Order } from '../../job/job.ts';
import { attemptFolder, resultsFolder, runFiles } from '../../job/layout.ts';
import { readOrder } from './order.ts';
import type { World } from '../attempt.ts';

/** What is left of a limit of Slurm's to clean up and to hand back what is there: this, or a tenth of a short one. */
const spareSeconds = 90;

/** Where an attempt runs that shares the run's folder with the access point, and which one it is. */
export interface SharedPlace {
  run: string;
  attempt: number;
}

/**
 * The order of an attempt on a node of a cluster that shares the run's folder: journals, checkpoints and results are
 * written there, and everything else in the folder in which the agent is started.
 */
export async function readSharedOrder(
  file: string,
  place: SharedPlace,
  { cwd, env, clock }: World,
): Promise<Order> {
  const order = await readOrder(file, (value) =>
    placed(value as Order, place, cwd, timeLeft(env, clock.now())),
  );
  await mkdir(order.attemptFolder, { recursive: true });
  return order;
}

function placed(order: Order, { run, attempt }: SharedPlace, cwd: string, left: number): Order {
  const id = (order as Partial<Order>).job?.id ?? '';
  const time = Math.min((order as Partial<Order>).resources?.timeSeconds ?? Infinity, left);
  return {
    ...order,
    attempt,
    resources: { ...order.resources, ...(time === Infinity ? {} : { timeSeconds: time }) },
    filesFrom: path.resolve(run, (order as Partial<Order>).filesFrom ?? runFiles.files),
    scratchParent: cwd,
    resultsTo: resultsFolder(run, id),
    attemptFolder: attemptFolder(run, id, attempt),
    notesFolder: path.join(run, runFiles.notes),
  };
}

/** Seconds until Slurm would end the job, less what its end takes; Infinity where nobody says. */
function timeLeft(env: Env, now: number): number {
  const end = Number(env['SLURM_JOB_END_TIME'] ?? NaN);
  if (!(end > 0)) return Infinity;
  const left = Math.max(0, end - now / 1000);
  return Math.round(left - Math.min(spareSeconds, left / 10));
}
