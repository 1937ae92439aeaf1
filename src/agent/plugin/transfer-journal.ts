import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WorkOrder } from '../../job/job.ts';
import { sandboxFiles } from '../../job/layout.ts';
import { encode } from '../../journal/codec.ts';
import { openAgentJournal } from '../../journal/file.ts';
import type { Context } from '../attempt.ts';
import { jobIdOf } from '../machine/condor-ads.ts';
import { JournalWriter, type Recorder } from '../notes/journal-writer.ts';
import { peekSandboxOrder } from '../order/sandbox-order.ts';
import type { ResultContext } from './report.ts';

/** What the plugin leaves for the agent of the same attempt; in a job that is not ours it has no order and records nothing. */
export interface TransferJournal extends AsyncDisposable {
  order: WorkOrder | undefined;
  record: Recorder;
}

/** Longer than unpacking the agent takes: then the file's time is another clock's. */
const maxStartMs = 600_000;

/** Opens the journal of what is transferred before the agent starts. The plugin's own start-up is not a transfer. */
export async function openTransferJournal(
  infile: string,
  direction: ResultContext['direction'],
  context: Context,
): Promise<TransferJournal> {
  const job = direction === 'download' ? jobIdOf(context.env) : undefined;
  const order =
    job === undefined
      ? undefined
      : await peekSandboxOrder(path.join(context.cwd, `${job}.json`), context).catch(() => undefined);
  const none = { order, record: () => undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  if (order === undefined) return none;
  try {
    const file = path.join(context.cwd, sandboxFiles.transfers);
    const attempt = { job: order.job.id, attempt: order.attempt };
    const t = new Date(await calledAt(infile, context.clock.now())).toISOString();
    const first = encode({ v: 1, t, seq: 0, ...attempt, kind: 'phase', phase: 'preparing' });
    await writeFile(file, `${first}\n`, { mode: 0o600 });
    const notes = new JournalWriter(await openAgentJournal(file, attempt, context.clock));
    notes.record({ kind: 'phase', phase: 'fetching' });
    return {
      order,
      record: notes.record,
      async [Symbol.asyncDispose]() {
        notes.record({ kind: 'phase', phase: 'preparing' });
        // A failing journal must not fail the transfer.
        await notes.close().catch(() => false);
      },
    };
  } catch {
    // A sandbox that cannot be written to fails the transfer itself, with a message of its own.
    return none;
  }
}

/** HTCondor writes its requests just before it calls the plugin. */
async function calledAt(infile: string, now: number): Promise<number> {
  const { mtimeMs } = await stat(infile).catch(() => ({ mtimeMs: now }));
  return mtimeMs <= now && now - mtimeMs < maxStartMs ? mtimeMs : now;
}
