import { rename } from 'node:fs/promises';
import path from 'node:path';
import type { Order } from '../../job/job.ts';
import { attemptFiles, sandboxFiles } from '../../job/layout.ts';
import { readJournal } from '../../journal/tail.ts';

/**
 * Makes what our plugin wrote down the beginning of the attempt's journal. An agent that is started again in the same
 * sandbox finds nothing: by then the journal has it.
 */
export async function adoptTransfers(order: Order, cwd: string): Promise<Order> {
  const written = path.join(cwd, sandboxFiles.transfers);
  const { entries } = await readJournal(written);
  if (entries.length === 0) return order;
  await rename(written, path.join(order.attemptFolder, attemptFiles.journal));
  return { ...order, brought: entries.flatMap((entry) => (entry.kind === 'fetched' ? [entry] : [])) };
}
