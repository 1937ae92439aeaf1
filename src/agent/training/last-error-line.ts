import path from 'node:path';
import type { Order } from '../../job/job.ts';
import { attemptFiles } from '../../job/layout.ts';
import { LogTail } from './log-tail.ts';

/** The last line the training wrote to its error output: as a rule it says why it failed. */
export function lastErrorLine(order: Order): string {
  const tail = new LogTail(path.join(order.attemptFolder, attemptFiles.err));
  const lines = [...tail.read().lines, tail.rest()].map((line) => line.trim()).filter((line) => line !== '');
  return (lines.at(-1) ?? '').slice(0, 300);
}
