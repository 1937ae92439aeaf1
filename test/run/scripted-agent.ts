// An agent that follows the contract of claim and journal and ends as its job's command says: one fault kind per
// attempt, separated by spaces, or `success`.
import path from 'node:path';
import process from 'node:process';
import { readFile } from 'node:fs/promises';
import { systemClock } from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';
import { type FaultKind, kinds } from '@updraft/account/fault';
import { makeClaim } from '../../src/job/claim.ts';
import type { WorkOrder } from '../../src/job/job.ts';
import { attemptFiles } from '@updraft/account/run-folder';
import { openAgentJournal } from '@updraft/account/journal';

const order = JSON.parse(await readFile(process.argv[3] ?? '', 'utf8')) as WorkOrder;
const { job, attempt, attemptFolder } = order;
if (!(await makeClaim(attemptFolder, identifyProcess(process.pid)!)))
  process.exit(kinds['order-invalid'].exit);
const journal = await openAgentJournal(
  path.join(attemptFolder, attemptFiles.journal),
  { job: job.id, attempt },
  systemClock,
);
const words = job.train.command.split(' ');
const word = words[Math.min(attempt, words.length) - 1] ?? 'success';
if (word === 'crash') process.kill(process.pid, 'SIGKILL');
const kind = word === 'success' ? undefined : (word as FaultKind);
if (kind !== undefined)
  await journal.append({ kind: 'fault', fault: { kind, message: `attempt ${attempt}` } });
const exit = kind === undefined ? 0 : kinds[kind].exit;
await journal.append({ kind: 'agent-ended', outcome: kind === undefined ? 'success' : 'failed', exit });
process.exit(exit);
