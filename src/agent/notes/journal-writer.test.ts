import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentBody } from '../../journal/entry.ts';
import type { Journal } from '../../journal/file.ts';
import { JournalWriter } from './journal-writer.ts';

class SmallDisk implements Journal<AgentBody> {
  full = false;
  readonly written: AgentBody['kind'][] = [];

  readonly at: number[] = [];
  #now = 0;

  /** Each call takes a second. */
  now(): number {
    return (this.#now += 1000);
  }

  append(): Promise<void> {
    return Promise.reject(new Error('an entry has the time at which it was recorded'));
  }

  appendAt(at: number, body: AgentBody): Promise<void> {
    if (this.full) return Promise.reject(new Error('no room'));
    this.written.push(body.kind);
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

test('close reports an incomplete journal', async () => {
  const disk = new SmallDisk();
  const notes = new JournalWriter(disk);
  disk.full = true;
  notes.record({ kind: 'phase', phase: 'training' });
  assert.equal(await notes.close(), false);
});
