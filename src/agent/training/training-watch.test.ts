import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import type { WorkOrder } from '../../job/job.ts';
import type { AgentBody } from '@updraft/account/journal';
import type { Attempt } from '../attempt.ts';
import { openSharedNotes } from '../notes/shared-notes.ts';
import { Throttled, TrainingWatch } from './training-watch.ts';

function makeWatch(t: TestContext) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'updraft-watch-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = new ManualClock();
  const reported: AgentBody[] = [];
  const attempt = {
    order: {
      attemptFolder: folder,
      job: { id: '0000', parameters: {}, train: { quietLimitSeconds: 60 } },
      data: [{ into: 'data', arriving: true }],
      attempt: 1,
      resources: { gpus: 0 },
    },
    scratch: { root: folder, work: folder, progress: path.join(folder, 'progress.jsonl') },
    context: { clock, env: {} },
    shared: openSharedNotes({} as WorkOrder, undefined),
    record: (body: AgentBody) => void reported.push(body),
  } as unknown as Attempt;
  const print = (text: string): void => appendFileSync(path.join(folder, 'out.log'), text);
  const restart = () => new TrainingWatch(attempt);
  return { watch: restart(), restart, clock, reported, print, folder };
}

test('progress is recorded once a second, each report where it belongs', async (t) => {
  const { watch, clock, reported, print } = makeWatch(t);
  print('epoch=1 loss=3\n');
  watch.poll();
  print('epoch=2 loss=2\n');
  await clock.pass(500);
  watch.poll();
  print('epoch=3\n');
  await clock.pass(500);
  watch.poll();
  print('accuracy: 50%');
  await watch.finish(false);
  assert.deepEqual(
    reported.filter(({ kind }) => kind === 'progress'),
    [
      { kind: 'progress', epoch: 1, done: 1, loss: 3 },
      { kind: 'progress', epoch: 2, done: 2, loss: 2 },
      { kind: 'progress', epoch: 3 },
      { kind: 'progress', accuracy: 0.5 },
    ],
  );
});

const reportsOf = (reported: readonly AgentBody[]) =>
  reported.filter((body): body is Extract<AgentBody, { kind: 'progress' }> => body.kind === 'progress');

test('a hundred reports right before the end are all recorded, whether printed or in the file', async (t) => {
  for (const how of ['printed', 'recorded']) {
    const { watch, reported, print, folder } = makeWatch(t);
    const steps = Array.from({ length: 100 }, (_, index) => ({
      step: index + 1,
      loss: index === 41 ? 0.01 : 1,
    }));
    if (how === 'printed') print(steps.map(({ step, loss }) => `step ${step} loss ${loss}\n`).join(''));
    else {
      const lines = steps.map((one) => `${JSON.stringify(one)}\n`).join('');
      appendFileSync(path.join(folder, 'progress.jsonl'), lines);
    }
    await watch.finish(true);
    assert.deepEqual(
      reportsOf(reported).map(({ step, loss }) => ({ step, loss })),
      steps,
      how,
    );
  }
});

test('of a training of 1,000 steps a second every extreme and the last step are recorded', async (t) => {
  const { watch, clock, reported, folder } = makeWatch(t);
  const peaks = new Map([
    [3333, 99],
    [44_444, 100],
    [59_999, 101],
  ]);
  for (let step = 1; step <= 60_000;) {
    const lines: string[] = [];
    for (const end = step + 500; step < end; step += 1)
      lines.push(JSON.stringify({ step, score: peaks.get(step) ?? (step * 7) % 50 }));
    appendFileSync(path.join(folder, 'progress.jsonl'), `${lines.join('\n')}\n`);
    await clock.pass(500);
    watch.poll();
  }
  await watch.finish(true);
  const found = reportsOf(reported);
  for (const [step, score] of peaks)
    assert.ok(
      found.some((one) => one.step === step && one.metrics?.['score'] === score),
      `step ${step}`,
    );
  assert.deepEqual([found.at(-1)?.step, found.at(-1)?.metrics], [60_000, { score: (60_000 * 7) % 50 }]);
  assert.ok(found.length < 5000, `${found.length} entries`);
});

/** How often others had a turn while it went on. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const turn = (): void => void (turns++, (next = setImmediate(turn)));
  let next = setImmediate(turn);
  await work().finally(() => clearImmediate(next));
  return turns;
}

test('of a flood of printed lines only the newest are read, with the last; the agent works meanwhile', async (t) => {
  const { watch, reported, print } = makeWatch(t);
  const line = (step: number): string => `step ${step} loss ${step % 7}\n`;
  print(Array.from({ length: 400_000 }, (_, step) => line(step)).join(''));
  const turns = await turnsDuring(() => watch.finish(true));
  assert.ok(turns >= 3, `${turns} turns`);
  const steps = reportsOf(reported).map(({ step = 0 }) => step);
  assert.equal(steps.at(-1), 399_999);
  assert.ok(Math.min(...steps) > 100_000, `from step ${Math.min(...steps)}`);
});

test('all of the progress file is read, however late, in parts', async (t) => {
  const { watch, reported, folder } = makeWatch(t);
  const record = (step: number): string => `{"step": ${step}, "loss": ${step === 5000 ? -1 : step % 7}}\n`;
  const records = Array.from({ length: 150_000 }, (_, step) => record(step));
  writeFileSync(path.join(folder, 'progress.jsonl'), records.join(''));
  const turns = await turnsDuring(() => watch.finish(true));
  assert.ok(turns >= 3, `${turns} turns`);
  const steps = reportsOf(reported).map(({ step }) => step);
  assert.deepEqual([steps[0], steps.at(-1)], [0, 149_999]);
  assert.equal(reportsOf(reported).find(({ loss }) => loss === -1)?.step, 5000);
});

test('what a training records counts, not what it prints beside it', async (t) => {
  const { watch, reported, print, folder } = makeWatch(t);
  appendFileSync(path.join(folder, 'progress.jsonl'), '{"epoch": 1, "epochs": 6, "loss": 0.5}\n');
  print('epoch 0 loss 0.7 accuracy 50%\n');
  watch.poll();
  print('epoch 1/5');
  await watch.finish(true);
  assert.deepEqual(
    reported.filter(({ kind }) => kind === 'progress'),
    [
      { kind: 'progress', epoch: 1, accuracy: 0.5 },
      { kind: 'progress', epoch: 1, epochs: 6, done: 1, loss: 0.5 },
    ],
  );
});

test('a start again in the same sandbox knows what the file had before', async (t) => {
  const { folder, reported, restart } = makeWatch(t);
  appendFileSync(path.join(folder, 'progress.jsonl'), '{"step": 1, "loss": 0.5}\n');
  const watch = restart();
  appendFileSync(path.join(folder, 'out.log'), 'step 2 loss 9 acc 0.5\n');
  watch.poll();
  appendFileSync(path.join(folder, 'progress.jsonl'), '{"step": 2, "loss": 0.4}\n');
  await watch.finish(true);
  assert.deepEqual(reported, [
    { kind: 'progress-scaled', scales: { accuracy: 'bare' } },
    { kind: 'progress', step: 2, accuracy: 0.5 },
    { kind: 'progress', step: 2, loss: 0.4 },
  ]);
});

const noLoad = { processes: 0, blocked: 0, used: 0, queued: 0 };

test('a heartbeat comes every ten seconds and says how long the training has been quiet', async (t) => {
  const { watch, clock, reported, print } = makeWatch(t);
  await clock.pass(4000);
  print('anything at all');
  watch.poll();
  await clock.pass(6000);
  watch.poll();
  watch.poll();
  await clock.pass(10_000);
  watch.poll();
  assert.deepEqual(reported, [
    { kind: 'heartbeat', memoryBytes: 0, quietSeconds: 6, load: { at: 10, ...noLoad } },
    { kind: 'heartbeat', memoryBytes: 0, quietSeconds: 16, load: { at: 20, ...noLoad } },
  ]);
});

test('a training that waits for its data does not hang; its silence counts once all data is there', async (t) => {
  const { watch, clock, folder } = makeWatch(t);
  mkdirSync(path.join(folder, 'data'));
  writeFileSync(path.join(folder, 'data', '.arriving'), '');
  for (let minute = 0; minute < 10; minute++) {
    await clock.pass(60_000);
    watch.poll();
    assert.equal(watch.verdict(0), undefined);
  }
  rmSync(path.join(folder, 'data', '.arriving'));
  await clock.pass(59_000);
  assert.equal(watch.verdict(0), undefined);
  await clock.pass(12_000);
  assert.equal(watch.verdict(0)?.kind, 'training-hung');
});

const waits = (reported: readonly AgentBody[]) =>
  reported.flatMap((body) => (body.kind === 'progress' && body.waited !== undefined ? [body.waited] : []));

test('an idle training whose data is arriving counts as waiting, but not after that', async (t) => {
  const { watch, clock, reported, folder } = makeWatch(t);
  mkdirSync(path.join(folder, 'data'));
  writeFileSync(path.join(folder, 'data', '.arriving'), '');
  const idle = spawn('sleep', ['1000'], { detached: true });
  t.after(() => idle.kill('SIGKILL'));
  watch.started(idle.pid ?? 0);
  watch.poll();
  for (let half = 0; half < 40; half++) {
    await clock.pass(500);
    watch.poll();
  }
  rmSync(path.join(folder, 'data', '.arriving'));
  await clock.pass(60_000);
  watch.poll();
  await watch.finish(true);
  assert.deepEqual(waits(reported), [10, 20]);
});

test('a wait that the training itself reports is used', async (t) => {
  const { watch, clock, reported, print, folder } = makeWatch(t);
  mkdirSync(path.join(folder, 'data'));
  writeFileSync(path.join(folder, 'data', '.arriving'), '');
  print('epoch=1 waited=3\n');
  for (let second = 0; second < 30; second++) {
    watch.poll();
    await clock.pass(1000);
  }
  await watch.finish(true);
  assert.deepEqual(waits(reported), [3]);
});

test('a value that takes 40 ms is read again after 4 s if it may take a hundredth of the time', async () => {
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
  const throttled = new Throttled(get, 0.01, costly);
  assert.equal(throttled.read(), 1);
  await clock.pass(3999);
  assert.equal(throttled.read(), 1);
  await clock.pass(1);
  assert.equal(throttled.read(), 2);
});

test('a value that costs nothing is read every time', () => {
  let asked = 0;
  const throttled = new Throttled(() => ++asked, 0.01, new ManualClock());
  assert.deepEqual([throttled.read(), throttled.read()], [1, 2]);
});
