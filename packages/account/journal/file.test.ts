import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, appendFile, open, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { type Clock, readPlainFile, succeeds, systemClock } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { encode } from './codec.ts';
import type { Entry, RunBody } from './entry.ts';
import { openAgentJournal, openJournal } from './file.ts';
import { JournalTail, readJournal } from './tail.ts';

const start = (attempt: number): RunBody => ({ kind: 'attempt-started', job: '0000', attempt, why: 'tried' });
const line = (seq: number): string =>
  encode({ v: 1, t: '2026-01-02T03:04:05.678Z', seq, ...start(seq) } satisfies Entry);
const attempts = (entries: Entry[]): unknown[] => entries.map((entry) => 'attempt' in entry && entry.attempt);

test('a reopened journal continues its numbers', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  for (const attempt of [1, 2, 3]) {
    await using journal = await openJournal(file, systemClock);
    await journal.append(start(attempt));
  }
  const { entries, garbled } = await readJournal(file);
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    [0, 1, 2],
  );
  assert.equal(garbled, 0);
});

test('a pipe in place of a journal or a text is not waited for', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  execFileSync('mkfifo', [file]);
  const late = setTimeout(5000, undefined, { ref: false });
  const read = await Promise.race([new JournalTail(file).read(), late]);
  // Who still waits for it goes on.
  await using _ = await open(file, 'r+');
  assert.deepEqual(read, { entries: [], restarted: false });
  await assert.rejects(readPlainFile(file), /is not a file/);
});

test('entries appended together get consecutive numbers', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  await using journal = await openJournal(file, systemClock);
  await journal.append(start(1), start(2));
  await journal.append(start(3));
  const { entries } = await readJournal(file);
  assert.deepEqual(
    [entries.map(({ seq }) => seq), attempts(entries)],
    [
      [0, 1, 2],
      [1, 2, 3],
    ],
  );
});

test('entries are on disk in the order of the calls, with the time of the call', async (t) => {
  const file = path.join(await temporaryFolder(t), 'agent.jsonl');
  const now = (): number => Date.parse('2026-01-01T00:00:00Z');
  let passed = -1;
  const clock: Clock = { ...systemClock, now, monotonic: () => Math.max(0, passed++), boot: () => undefined };
  await using journal = await openAgentJournal(file, { job: '0007', attempt: 2 }, clock);
  await Promise.all([0, 1, 2].map((bytes) => journal.append({ kind: 'cleaned', bytes })));
  const { entries } = await readJournal(file);
  assert.deepEqual(
    entries,
    [0, 1, 2].map((n) => ({
      v: 1,
      t: `2026-01-01T00:00:00.00${n}Z`,
      seq: n,
      job: '0007',
      attempt: 2,
      kind: 'cleaned',
      bytes: n,
    })),
  );
});

test('after a torn last line nothing before it is lost, and writing continues behind it', async (t) => {
  const folder = await temporaryFolder(t);
  const [kept, last] = [`${line(0)}\n${line(1)}\n`, `${line(2)}\n`];
  for (let cut = 0; cut <= last.length; cut++) {
    const file = path.join(folder, `${cut}.jsonl`);
    await writeFile(file, kept + last.slice(0, cut));
    await using journal = await openJournal(file, systemClock);
    await journal.append(start(9));
    const { entries, garbled } = await readJournal(file);
    const whole = cut >= last.length - 1;
    assert.deepEqual(attempts(entries), whole ? [0, 1, 2, 9] : [0, 1, 9], `cut at ${cut}`);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      whole ? [0, 1, 2, 3] : [0, 1, 2],
      `cut at ${cut}`,
    );
    assert.equal(garbled, whole || cut === 0 ? 0 : 1, `cut at ${cut}`);
    assert.ok((await readFile(file, 'utf8')).startsWith(kept + last.slice(0, cut)), 'nothing was cut off');
  }
});

test('a reader counts a torn last line as garbled', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  for (let cut = 0; cut < line(1).length; cut++) {
    await writeFile(file, `${line(0)}\n${line(1).slice(0, cut)}`);
    const { entries, garbled } = await readJournal(file);
    assert.deepEqual([attempts(entries), garbled], [[0], cut === 0 ? 0 : 1], `cut at ${cut}`);
  }
});

test('garbled lines in the middle are counted and kept', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  await writeFile(file, `${line(0)}\n\0\0\0\0\n<html>\n${line(1)}\n`);
  await using journal = await openJournal(file, systemClock);
  await journal.append(start(2));
  const { entries, garbled } = await readJournal(file);
  assert.deepEqual([attempts(entries), garbled], [[0, 1, 2], 2]);
  assert.match(await readFile(file, 'utf8'), /<html>/);
});

test('an endless line is skipped without filling memory', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  await writeFile(file, `${line(0)}\n${'x'.repeat(5 << 20)}`);
  assert.deepEqual(attempts((await readJournal(file)).entries), [0]);
  await appendFile(file, `\n${line(1)}\n`);
  const { entries, garbled } = await readJournal(file);
  assert.deepEqual([attempts(entries), garbled], [[0, 1], 1]);
});

test('several writers of one journal lose no entries', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  const writers = await Promise.all([1, 2, 3, 4].map(() => openJournal(file, systemClock)));
  await Promise.all(
    writers.flatMap((journal, writer) =>
      Array.from({ length: 25 }, (_, n) => journal.append(start(writer * 100 + n))),
    ),
  );
  await Promise.all(writers.map((journal) => journal.close()));
  const { entries, garbled } = await readJournal(file);
  const numbers = attempts(entries) as number[];
  assert.equal(garbled, 0);
  assert.equal(new Set(numbers).size, 100);
  for (const writer of [0, 1, 2, 3]) {
    const own = numbers.filter((number) => Math.floor(number / 100) === writer);
    assert.deepEqual(
      own,
      own.toSorted((a, b) => a - b),
      'each keeps its own order',
    );
  }
});

test('a writer that is killed loses no entry whose append had resolved', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  const program = `
    import { openJournal } from ${JSON.stringify(path.join(import.meta.dirname, 'file.ts'))};
    import { systemClock } from ${JSON.stringify(path.join(import.meta.dirname, '../../base/clock.ts'))};
    const journal = await openJournal(${JSON.stringify(file)}, systemClock);
    const [first, last] = process.argv.slice(1).map(Number);
    for (let n = first; ; n++) {
      const appended = journal.append({ kind: 'attempt-started', job: '0000', attempt: n, why: 'x'.repeat(3000) });
      // Killed by itself, in the middle of an append: what a slow reader of its output had not seen yet would be lost.
      if (n === last) setImmediate(() => process.kill(process.pid, 'SIGKILL'));
      await appended;
      process.stdout.write(n + '\\n');
    }`;
  let safe = 0;
  for (let round = 0; round < 3; round++) {
    const numbers = [safe + 1, safe + 20 + round].map(String);
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, ...numbers], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    for await (const number of createInterface({ input: child.stdout })) safe = Number(number);
    assert.equal((await exited)[1], 'SIGKILL');
    const { entries } = await readJournal(file);
    const found = new Set(attempts(entries));
    for (let n = 1; n <= safe; n++) assert.ok(found.has(n), `entry ${n} of ${safe} is there`);
    assert.ok(entries.length <= safe + round + 1, 'nothing is there twice');
  }
});

test('a full disk is a fault with the path and a fix', async (t) => {
  if (!(await succeeds(access('/dev/full', constants.W_OK)))) {
    t.skip('this machine has no /dev/full');
    return;
  }
  await using journal = await openJournal('/dev/full', systemClock);
  await assert.rejects(journal.append(start(1)), (thrown) => {
    assert.ok(thrown instanceof Fault);
    assert.equal(thrown.kind, 'disk-full');
    assert.match(thrown.message, /\/dev\/full/);
    assert.ok(thrown.fix !== undefined);
    return true;
  });
});

test('after a failed append the next one is tried', async (t) => {
  const file = path.join(await temporaryFolder(t), 'journal.jsonl');
  await using journal = await openJournal(file, systemClock);
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const bad: RunBody = Object.assign(start(1), { extra: circular });
  const results = await Promise.allSettled([journal.append(bad), journal.append(start(2))]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
  assert.deepEqual(attempts((await readJournal(file)).entries), [2]);
});

test('opening a journal in a missing folder is a fault, and a missing journal reads as empty', async (t) => {
  const file = path.join(await temporaryFolder(t), 'gone', 'journal.jsonl');
  await assert.rejects(
    openJournal(file, systemClock),
    (thrown) => thrown instanceof Fault && thrown.about === file,
  );
  assert.deepEqual(await readJournal(file), { entries: [], garbled: 0 });
  await assert.rejects(stat(file));
});

test('the fault for an unreadable journal has its path and the reason', async (t) => {
  const folder = await temporaryFolder(t);
  await assert.rejects(readJournal(folder), (thrown) => {
    assert.ok(thrown instanceof Fault);
    assert.match(thrown.message, /cannot read the journal .*EISDIR/);
    return thrown.about === folder;
  });
});

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
