import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Order } from '../../job/job.ts';
import { sandboxFiles } from '../../job/layout.ts';
import { encode } from '../../journal/codec.ts';
import { openAgentJournal } from '../../journal/file.ts';
import type { World } from '../attempt.ts';
import { jobOf } from '../machine/condor-ads.ts';
import { Notes, type Note } from '../notes/notes.ts';
import { peekSandboxOrder } from '../order/place-order.ts';
import type { ResultContext } from './report.ts';

/** What the plugin leaves for the agent of the same attempt; in a job of others it has no order and keeps nothing. */
export interface TransferJournal extends AsyncDisposable {
  order: Order | undefined;
  note: Note;
}

/** Longer than it takes to unpack the agent: then the file's time is another clock's. */
const maxStartMs = 600_000;

/** Opens the journal of what comes in before the agent begins. The time in which the plugin itself started is no transfer. */
export async function openTransfers(
  infile: string,
  direction: ResultContext['direction'],
  world: World,
): Promise<TransferJournal> {
  const job = direction === 'download' ? jobOf(world.env) : undefined;
  const order =
    job === undefined
      ? undefined
      : await peekSandboxOrder(path.join(world.cwd, `${job}.json`), world).catch(() => undefined);
  const none = { order, note: () => undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  if (order === undefined) return none;
  try {
    const file = path.join(world.cwd, sandboxFiles.transfers);
    const attempt = { job: order.job.id, attempt: order.attempt };
    const t = new Date(await calledAt(infile, world.clock.now())).toISOString();
    const first = encode({ v: 1, t, seq: 0, ...attempt, kind: 'phase', phase: 'preparing' });
    await writeFile(file, `${first}\n`, { mode: 0o600 });
    const notes = new Notes(await openAgentJournal(file, attempt, world.clock));
    notes.note({ kind: 'phase', phase: 'fetching' });
    return {
      order,
      note: notes.note,
      async [Symbol.asyncDispose]() {
        notes.note({ kind: 'phase', phase: 'preparing' });
        // Whether the files arrived is not for their journal to decide.
        await notes.close().catch(() => false);
      },
    };
  } catch {
    // A sandbox in which nothing can be written fails the transfer itself, with its own words.
    return none;
  }
}

/** HTCondor writes its questions just before it calls the plugin. */
async function calledAt(infile: string, now: number): Promise<number> {
  const { mtimeMs } = await stat(infile).catch(() => ({ mtimeMs: now }));
  return mtimeMs <= now && now - mtimeMs < maxStartMs ? mtimeMs : now;
}
