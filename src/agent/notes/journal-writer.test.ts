import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  type AgentBody,
  decodeLive,
  type Journal,
  openAgentJournal,
  readJournal,
} from '@updraft/account/journal';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { WorkOrder } from '../../job/job.ts';
import type { Chirp } from './chirp.ts';
import { JournalWriter, liveRecorder } from './journal-writer.ts';

class SmallDisk implements Journal<AgentBody> {
  full = false;
  readonly written: AgentBody['kind'][] = [];

  readonly at: number[] = [];
  #now = 0;
  readonly #step: number;

  /** Each call of `now` takes a second. */
  constructor(step = 1000) {
    this.#step = step;
  }

  now(): number {
    return (this.#now += this.#step);
  }

  append(): Promise<void> {
    return Promise.reject(new Error('an entry has the time at which it was recorded'));
  }

  appendAt(at: number, ...bodies: AgentBody[]): Promise<void> {
    if (this.full) return Promise.reject(new Error('no room'));
    this.written.push(...bodies.map(({ kind }) => kind));
    this.at.push(at);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

test('entries that did not fit are written, in order, once there is space', async () => {
  const disk = new SmallDisk();
  const notes = new JournalWriter(disk);
  disk.full = true;
  notes.record({ kind: 'phase', phase: 'training' });
  notes.record({ kind: 'cleaned', bytes: 7 });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(disk.written, []);
  disk.full = false;
  notes.record({ kind: 'agent-ended', outcome: 'success', exit: 0 });
  assert.equal(await notes.close(), true);
  assert.deepEqual(disk.written, ['phase', 'cleaned', 'agent-ended']);
  assert.deepEqual(disk.at, [1000, 2000, 3000], 'each when it was recorded');
});

test('a disk that stays full for hours does not fill the memory with heartbeats', async () => {
  const disk = new SmallDisk();
  const notes = new JournalWriter(disk);
  disk.full = true;
  for (let beat = 0; beat < 10_000; beat++)
    notes.record({ kind: 'heartbeat', memoryBytes: 0, quietSeconds: 0 });
  notes.record({ kind: 'agent-ended', outcome: 'failed', exit: 107 });
  disk.full = false;
  assert.equal(await notes.close(), true);
  assert.ok(disk.written.length < 200);
  assert.equal(disk.written.at(-1), 'agent-ended');
});

test('a burst of reports is written whole, and together', async () => {
  const disk = new SmallDisk(0);
  const notes = new JournalWriter(disk);
  for (let step = 0; step < 1500; step++) notes.record({ kind: 'progress', step });
  notes.record({ kind: 'phase', phase: 'returning' });
  assert.equal(await notes.close(), true);
  assert.equal(disk.written.length, 1501);
  assert.equal(disk.written.at(-1), 'phase');
  assert.equal(disk.at.length, 2, 'calls');
});

test('reports that wait do not push out a heartbeat', async () => {
  const disk = new SmallDisk();
  const notes = new JournalWriter(disk);
  disk.full = true;
  for (let step = 0; step < 150; step++) notes.record({ kind: 'progress', step });
  notes.record({ kind: 'heartbeat', memoryBytes: 0, quietSeconds: 0 });
  await notes.flush();
  disk.full = false;
  assert.equal(await notes.close(), true);
  assert.deepEqual([disk.written.length, disk.written.at(-1)], [151, 'heartbeat']);
});

test('of reports that fit only in part, the others alone are written again', async (t) => {
  const file = path.join(await temporaryFolder(t), 'agent.jsonl');
  const notes = new JournalWriter(
    await openAgentJournal(file, { job: '0000', attempt: 1 }, new ManualClock()),
  );
  const handle = await open(file);
  t.after(() => handle.close());
  type Write = (bytes: Buffer) => Promise<{ bytesWritten: number }>;
  const prototype = Object.getPrototypeOf(handle) as { write: Write };
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its handle
  const { write } = prototype;
  let shorts = 0;
  t.mock.method(
    prototype,
    'write',
    function (this: unknown, bytes: Buffer) {
      const line = bytes.lastIndexOf(0x0a, bytes.length / 2);
      shorts += 1;
      return write.call(this as typeof prototype, bytes.subarray(0, shorts % 2 === 0 ? line : line + 9));
    },
    { times: 4 },
  );
  for (let step = 0; step < 250; step++) notes.record({ kind: 'progress', step });
  assert.equal(await notes.close(), true);
  assert.equal(shorts, 4);
  const { entries } = await readJournal(file);
  assert.deepEqual(
    entries.map((entry) => entry.kind === 'progress' && entry.step),
    Array.from({ length: 250 }, (_, step) => step),
  );
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    Array.from({ length: 250 }, (_, step) => step),
  );
});

test('the pool sees the best so far, and not only what was best when it was sent', async () => {
  const clock = new ManualClock();
  const sent: string[] = [];
  const chirp = { log: (text: string) => void sent.push(text) } as unknown as Chirp;
  const record = liveRecorder(
    { job: { id: '0000' }, attempt: 1, liveSeconds: 60 } as WorkOrder,
    chirp,
    clock,
  );
  for (const [second, loss] of [3, 2, 0.5, 4, 2].entries()) {
    record({ kind: 'progress', step: second, loss });
    await clock.pass(20_000);
  }
  const seen = sent.map((line) => decodeLive(line)).map((entry) => entry?.kind === 'progress' && entry.loss);
  assert.deepEqual(seen, [3, 0.5, 4]);
});

test('the pool sees the heartbeats that know the GPU, and else one a minute', async () => {
  const clock = new ManualClock();
  const sent: string[] = [];
  const chirp = { log: (text: string) => void sent.push(text) } as unknown as Chirp;
  const record = liveRecorder({ job: { id: '0000' }, attempt: 1 } as WorkOrder, chirp, clock);
  const beat = { kind: 'heartbeat', memoryBytes: 0, quietSeconds: 0 } as const;
  for (let at = 10; at <= 150; at += 10) {
    record({ ...beat, ...(at % 60 === 20 && { gpuPercent: at }) });
    await clock.pass(10_000);
  }
  const seen = sent.map((line) => decodeLive(line)).map((one) => one?.kind === 'heartbeat' && one.gpuPercent);
  assert.deepEqual(seen, [undefined, 20, 80, 140]);
});

test('close reports an incomplete journal', async () => {
  const disk = new SmallDisk();
  const notes = new JournalWriter(disk);
  disk.full = true;
  notes.record({ kind: 'phase', phase: 'training' });
  assert.equal(await notes.close(), false);
});
