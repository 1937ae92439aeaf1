import { open, type FileHandle } from 'node:fs/promises';
import nodePath from 'node:path';
import { type Boot, type Clock, defined } from '@updraft/base';
import { appendHere, ignoreUnsyncable, syncPath } from '@updraft/base/disk';
import { Fault } from '../fault/fault.ts';
import { describeFull, isFull } from './full-disk.ts';
import { decode, encode } from './codec.ts';
import type { AgentBody, AgentEntry, Entry, Envelope, RunBody, RunEntry } from './entry.ts';
import { JournalTail } from './tail.ts';

/** A journal open for writing. Other processes may append to the same file at the same time. */
export interface Journal<Body> {
  /** Writes the entries together, in the order of the calls; resolves when they are on disk. */
  append(...bodies: Body[]): Promise<void>;
  /** The same for an event of an earlier time, by the clock of `now`. */
  appendAt(at: number, ...bodies: Body[]): Promise<void>;
  /** The clock of the entries, in milliseconds since the epoch. */
  now: () => number;
  /** Waits for pending appends. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The cause of a Fault if only the first `written` of the entries fit on the disk: these are in the journal. */
export class ShortWrite extends Error {
  readonly code = 'ENOSPC';
  readonly written: number;

  constructor(written: number) {
    super('short write');
    this.written = written;
  }
}

/** Opens or creates the journal of a run; `anchors` if no scheduler's log has the times as well. */
export const openJournal = (path: string, clock: Clock, anchors = false): Promise<Journal<RunBody>> =>
  openFile<RunBody>(path, clock, anchors, (body, stamp) => ({ ...stamp, ...body }) satisfies RunEntry);

/** Opens or creates the journal of an attempt. */
export function openAgentJournal(
  path: string,
  { job, attempt }: { job: string; attempt: number },
  clock: Clock,
): Promise<Journal<AgentBody>> {
  return openFile<AgentBody>(
    path,
    clock,
    true,
    (body, stamp) => ({ ...stamp, job, attempt, ...body }) satisfies AgentEntry,
  );
}

async function openFile<Body>(
  path: string,
  clock: Clock,
  anchors: boolean,
  make: (body: Body, stamp: Envelope) => Entry,
): Promise<Journal<Body>> {
  const file = await open(path, appendHere, 0o600).catch((error: unknown) => {
    throw writeFault(path, error);
  });
  const writer = new Writer(path, file);
  const before = await writer.catchUp().catch(() => []);
  const { now, anchorAt } = journalClock(clock, before, anchors);
  let anchor = anchorAt;
  let last: Promise<void> = syncPath(nodePath.dirname(path));
  const close = async () => {
    await last.catch(() => undefined);
    await file.close();
  };
  const appendAt = (at: number, ...bodies: Body[]): Promise<void> => {
    const t = new Date(at).toISOString();
    const boot = anchor?.(at);
    anchor = undefined;
    const stamp = (seq: number, nth: number): Envelope => ({
      v: 1,
      t,
      seq: seq + nth,
      ...(nth === 0 ? defined({ boot }) : {}),
    });
    // A failed append was reported to its caller; later ones are still tried.
    const turn = last
      .catch(() => undefined)
      .then(() => writer.write((seq) => bodies.map((body, nth) => make(body, stamp(seq, nth)))));
    last = turn;
    return turn;
  };
  return {
    append: (...bodies) => appendAt(now(), ...bodies),
    appendAt,
    now,
    close,
    [Symbol.asyncDispose]: close,
  };
}

class Writer {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #tail: JournalTail;
  #next = 0;

  constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
    this.#tail = new JournalTail(path);
  }

  async write(make: (seq: number) => Entry[]): Promise<void> {
    try {
      await this.catchUp();
      // A journal is never truncated: readers count and skip the torn line of a writer that died, and truncating
      // could hit a line that another process is writing now.
      const start = this.#tail.unfinished === undefined ? '' : '\n';
      const lines = make(this.#next).map((entry) => `${encode(entry)}\n`);
      const bytes = Buffer.from(`${start}${lines.join('')}`);
      const { bytesWritten } = await this.#file.write(bytes);
      if (bytesWritten < bytes.length) {
        // An entry that lacks only its line end is whole, too: the next one begins with it.
        const ends = bytes.subarray(start.length, bytesWritten + 1).filter((byte) => byte === 0x0a);
        throw new ShortWrite(ends.length);
      }
      await this.#file.datasync().catch(ignoreUnsyncable);
    } catch (error) {
      throw writeFault(this.#path, error);
    }
  }

  /** Reads what this and other processes appended, to know the next number and whether the last line is torn. */
  async catchUp(): Promise<Entry[]> {
    const { entries, restarted } = await this.#tail.read();
    if (restarted) this.#next = 0;
    const unfinished = decode(this.#tail.unfinished ?? '');
    for (const entry of typeof unfinished === 'string' ? entries : [...entries, unfinished])
      this.#next = Math.max(this.#next, entry.seq + 1);
    return entries;
  }
}

function writeFault(path: string, error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (isFull(error))
    return new Fault('disk-full', `cannot write to ${path}: ${describeFull(path, error)}`, {
      about: path,
      fix: 'free some space or quota there and run the same command again: the journal is intact',
      cause: error,
    });
  const reason = error instanceof Error ? error.message : String(error);
  return new Fault('scratch-unusable', `cannot write to ${path}: ${reason}`, {
    about: path,
    fix: `make ${nodePath.dirname(path)} a folder you can write in`,
    cause: error,
  });
}

interface JournalClock {
  now: () => number;
  /** The anchor for the first entry, by which later processes continue the same clock. */
  anchorAt?: (at: number) => Boot;
}

/**
 * A clock that starts at the current time and advances evenly, even if the wall clock is set. A process that continues
 * another's journal since the same boot continues its clock. This applies only to journals whose first entry has an
 * anchor (`anchors`): others are read together with logs that use the wall clock.
 */
function journalClock(clock: Clock, entries: readonly Entry[], anchors: boolean): JournalClock {
  const boot = clock.boot?.();
  const anchored = entries.filter((entry) => entry.boot !== undefined);
  const known = anchored.findLast((entry) => entry.boot?.id === boot?.id);
  const from = clock.monotonic();
  const start =
    known?.boot === undefined || boot === undefined
      ? clock.now()
      : Date.parse(known.t) + boot.up - known.boot.up;
  const isNew = known === undefined && (entries.length === 0 ? anchors : anchored.length > 0);
  return {
    now: () => Math.round(start + clock.monotonic() - from),
    ...(isNew && boot !== undefined ? { anchorAt: (at) => ({ ...boot, up: boot.up + at - start }) } : {}),
  };
}
