import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { attemptFiles, attemptFolder, resultsFolder } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import { renderOrder } from '../../src/pool/local/order.ts';

const job = '0000';

export const orderIn = (folder: string): string =>
  path.join(attemptFolder(path.join(folder, 'run'), job, 1), attemptFiles.order);

/** Seconds until the attempt's environment was ready. */
export function readyIn(folder: string): number {
  const journal = readFileSync(path.join(path.dirname(orderIn(folder)), attemptFiles.journal), 'utf8');
  return Number(/"environment-ready".*?"seconds":([\d.]+)/.exec(journal)?.[1] ?? NaN);
}

export const resultsIn = (folder: string): string => resultsFolder(path.join(folder, 'run'), job);

/** Writes the work order of the only attempt of the folder's job file, for `updraft-agent run ORDER`. */
export async function writeOrder(folder: string): Promise<void> {
  const plan = await loadPlan(folder);
  const [only] = plan.jobs;
  if (only === undefined) throw new Error('the job file has no job');
  const scratch = path.join(folder, 'scratch');
  const order = renderOrder(path.join(folder, 'run'), plan, only, 1, scratch);
  for (const one of [scratch, path.dirname(orderIn(folder))]) await mkdir(one, { recursive: true });
  await writeFile(orderIn(folder), JSON.stringify(order));
}
