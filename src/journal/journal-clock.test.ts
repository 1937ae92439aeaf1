import assert from 'node:assert/strict';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { openAgentJournal, openJournal } from './file.ts';
import { readJournal } from './tail.ts';

const hour = 3_600_000;

/** A machine whose wall clock can be set, with processes that each have their own monotonic clock. */
class Machine {
  wall = Date.parse('2026-03-04T10:00:00Z');
  boot = 'boot-1';
  #up = 500_000;
  #origin = 0;

  pass(ms: number): void {
    this.wall += ms;
    this.#up += ms;
  }

  process(): Clock {
    const origin = (this.#origin = this.#up);
    return {
      ...systemClock,
      now: () => this.wall,
      monotonic: () => this.#up - origin,
      boot: () => ({ id: this.boot, up: this.#up }),
    };
  }
}

const about = { job: '0000', attempt: 1 };

async function journalFile(t: TestContext): Promise<string> {
  return path.join(await temporaryFolder(t, {}), 'journal.jsonl');
}

async function seconds(file: string): Promise<number[]> {
  const times = (await readJournal(file)).entries.map(({ t }) => Date.parse(t));
  return times.map((time) => (time - times[0]!) / 1000);
}

for (const step of [2 * hour, 8760 * hour, -10_000, -2 * hour, -8760 * hour]) {
  test(`a clock that is set by ${step / 1000} s changes no time in a journal, nor between two processes`, async (t) => {
    const [file, machine] = [await journalFile(t), new Machine()];
    const first = await openAgentJournal(file, about, machine.process());
    await first.append({ kind: 'phase', phase: 'fetching' });
    machine.pass(30_000);
    machine.wall += step;
    await first.append({ kind: 'phase', phase: 'training' });
    machine.pass(10_000);
    await first.append({ kind: 'agent-paused' });
    await first.close();
    machine.wall += step;
    machine.pass(5_000);
    await using second = await openAgentJournal(file, about, machine.process());
    await second.append({ kind: 'phase', phase: 'saving' });
    assert.deepEqual(await seconds(file), [0, 30, 40, 45]);
  });
}

test('after a reboot the wall clock is read again, and kept', async (t) => {
  const [file, machine] = [await journalFile(t), new Machine()];
  const stop = { kind: 'stop-requested', jobs: 'all' } as const;
  for (const boot of ['boot-1', 'boot-2', 'boot-2']) {
    machine.boot = boot;
    await using journal = await openJournal(file, machine.process(), true);
    await journal.append(stop);
    machine.pass(60_000);
    if (boot === 'boot-2') machine.wall += hour;
  }
  assert.deepEqual(await seconds(file), [0, 60, 120]);
});

test("a journal that is read beside a scheduler's log goes by the wall clock of whoever opens it", async (t) => {
  const [file, machine] = [await journalFile(t), new Machine()];
  for (let round = 0; round < 2; round++) {
    await using journal = await openJournal(file, machine.process());
    await journal.append({ kind: 'stop-requested', jobs: 'all' });
    machine.wall += hour;
  }
  assert.deepEqual(await seconds(file), [0, 3600]);
});
