import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Order } from '../../job/job.ts';
import { attemptFiles, attemptFolder } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { formatSize } from '../../job/units.ts';
import { isAgentEntry } from '../../journal/codec.ts';
import type { AgentEntry } from '../../journal/entry.ts';
import { readJournal } from '../../journal/tail.ts';
import type { Evidence } from './proofs.ts';
import type { Rehearsal } from './rehearse-run.ts';

/** All that a rehearsal left to be judged by. */
export async function gatherEvidence(plan: Plan, rehearsal: Rehearsal): Promise<Evidence> {
  const { folder, state, evictions } = rehearsal;
  const [job = { id: '', status: 'ended' as const, stopRequested: false, attempts: [] }] = state.jobs;
  const journals = new Map<number, readonly AgentEntry[]>();
  const left: string[] = [];
  for (const { attempt } of job.attempts) {
    const place = attemptFolder(folder, job.id, attempt);
    const { entries } = await readJournal(path.join(place, attemptFiles.journal));
    journals.set(attempt, entries.filter(isAgentEntry));
    const scratch = await scratchOf(place);
    if (scratch !== undefined && (await stat(scratch).catch(() => undefined)) !== undefined)
      left.push(scratch);
  }
  const { checkpoint } = plan.spec.train;
  return { job, evictions, journals, hasData: plan.data.length > 0, checkpoint, left, showSize: formatSize };
}

/** On the local pool the order tells where the attempt had its scratch; elsewhere it was the scheduler's. */
async function scratchOf(folder: string): Promise<string | undefined> {
  const text = await readFile(path.join(folder, attemptFiles.order), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Order).scratchParent;
}
