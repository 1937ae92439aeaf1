import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import type { Order } from '../../job/job.ts';
import type { AgentBody } from '../../journal/entry.ts';
import type { Attempt } from '../attempt.ts';
import { openSharedNotes } from '../notes/shared-notes.ts';
import { Rationed, TrainingWatch } from './training-watch.ts';

function makeWatch(t: TestContext) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'updraft-watch-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = new ManualClock();
  const told: AgentBody[] = [];
  const attempt = {
    order: {
      attemptFolder: folder,
      job: { id: '0000', parameters: {}, train: { quietLimitSeconds: 60 } },
      data: [{ into: 'data', arriving: true }],
      attempt: 1,
      resources: { gpus: 0 },
    },
    scratch: { root: folder, work: folder, progress: path.join(folder, 'progress.jsonl') },
    world: { clock, env: {} },
    shared: openSharedNotes({} as Order, undefined),
    note: (body: AgentBody) => void told.push(body),
  } as unknown as Attempt;
  const print = (text: string): void => appendFileSync(path.join(folder, 'out.log'), text);
  return { watch: new TrainingWatch(attempt), clock, told, print, folder };
}

test('progress is told at most once a second, and nothing of it is lost', async (t) => {
  const { watch, clock, told, print } = makeWatch(t);
  print('epoch=1 loss=3\n');
  watch.look();
  print('epoch=2 loss=2\n');
  await clock.pass(500);
  watch.look();
  print('epoch=3\n');
  await clock.pass(500);
  watch.look();
  print('accuracy: 50%');
  watch.finish(false);
  assert.deepEqual(
    told.filter(({ kind }) => kind === 'progress'),
    [
      { kind: 'progress', epoch: 1, loss: 3 },
      { kind: 'progress', epoch: 3, loss: 2 },
      { kind: 'progress', accuracy: 0.5 },
    ],
  );
});

test('a heartbeat comes every ten seconds and tells how long the training has been quiet', async (t) => {
  const { watch, clock, told, print } = makeWatch(t);
  await clock.pass(4000);
  print('anything at all');
  watch.look();
  await clock.pass(6000);
  watch.look();
  watch.look();
  await clock.pass(10_000);
  watch.look();
  assert.deepEqual(told, [
    { kind: 'heartbeat', memoryBytes: 0, quietSeconds: 6 },
    { kind: 'heartbeat', memoryBytes: 0, quietSeconds: 16 },
  ]);
});

test('a training that waits for its data does not hang; its silence counts from when all is there', async (t) => {
  const { watch, clock, folder } = makeWatch(t);
  mkdirSync(path.join(folder, 'data'));
  writeFileSync(path.join(folder, 'data', '.arriving'), '');
  for (let minute = 0; minute < 10; minute++) {
    await clock.pass(60_000);
    watch.look();
    assert.equal(watch.verdict(), undefined);
  }
  rmSync(path.join(folder, 'data', '.arriving'));
  await clock.pass(59_000);
  assert.equal(watch.verdict(), undefined);
  await clock.pass(12_000);
  assert.equal(watch.verdict()?.kind, 'training-hung');
});

const waits = (told: readonly AgentBody[]) =>
  told.flatMap((body) => (body.kind === 'progress' && body.waited !== undefined ? [body.waited] : []));

test('a training that does nothing while its data arrives waits for it; what comes after is its own', async (t) => {
  const { watch, clock, told, folder } = makeWatch(t);
  mkdirSync(path.join(folder, 'data'));
  writeFileSync(path.join(folder, 'data', '.arriving'), '');
  const idle = spawn('sleep', ['1000'], { detached: true });
  t.after(() => idle.kill('SIGKILL'));
  watch.started(idle.pid ?? 0);
  watch.look();
  for (let half = 0; half < 40; half++) {
    await clock.pass(500);
    watch.look();
  }
  rmSync(path.join(folder, 'data', '.arriving'));
  await clock.pass(60_000);
  watch.look();
  watch.finish(true);
  assert.deepEqual(waits(told), [10, 20]);
});

test('a training that says how long it waited is believed', async (t) => {
  const { watch, clock, told, print, folder } = makeWatch(t);
  mkdirSync(path.join(folder, 'data'));
  writeFileSync(path.join(folder, 'data', '.arriving'), '');
  print('epoch=1 waited=3\n');
  for (let second = 0; second < 30; second++) {
    watch.look();
    await clock.pass(1000);
  }
  watch.finish(true);
  assert.deepEqual(waits(told), [3]);
});

test('what takes 40 ms to get is got anew after 4 s when it may take a hundredth of the time', async () => {
  const clock = new ManualClock();
  let asked = 0;
  let takes = 0;
  const costly = {
    now: () => clock.now(),
    sleep: clock.sleep.bind(clock),
    monotonic: () => clock.monotonic() + takes,
  };
  const get = (): number => {
    takes += 40;
    return ++asked;
  };
  const rationed = new Rationed(get, 0.01, costly);
  assert.equal(rationed.ask(), 1);
  await clock.pass(3999);
  assert.equal(rationed.ask(), 1);
  await clock.pass(1);
  assert.equal(rationed.ask(), 2);
});

test('what costs nothing is got every time', () => {
  let asked = 0;
  const rationed = new Rationed(() => ++asked, 0.01, new ManualClock());
  assert.deepEqual([rationed.ask(), rationed.ask()], [1, 2]);
});
