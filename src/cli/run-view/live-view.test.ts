/** `watch`'s screen: what is shown of a run in frames of many sizes, and what is left out. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type AgentState, fold, loadRun, type RunState } from '@updraft/account/journal';
import { describeParameters, type Parameters } from '@updraft/account/parameters';
import { type FoldedAttempt, completeJob } from '@updraft/account/testing';
import { defined } from '@updraft/base';
import { glyphsFor } from '../text/glyphs.ts';
import { liveView, type Frame } from './watch-run.ts';

const golden = (name: string): Promise<RunState> =>
  loadRun(path.join(import.meta.dirname, '../../../test/journals', name));

const frame = (columns: number, rows = 24, color = false): Frame => ({
  columns,
  rows,
  now: Date.parse('2026-03-04T10:02:00Z'),
  color,
  glyphs: glyphsFor({ LANG: 'C.UTF-8' }),
  hint: 'q leaves',
});

/** The attempt of each job as `changed` makes it. */
function fetching(
  jobs: number,
  changed = (attempt: FoldedAttempt, _agent: AgentState): FoldedAttempt => attempt,
  parameters: Parameters = {},
): RunState {
  const agent: AgentState = {
    version: '1',
    host: 'worker\x1b[2J.example',
    gpus: [],
    startedAt: '2026-03-04T10:00:00.000Z',
    lastAt: '2026-03-04T10:01:00.000Z',
    phase: 'fetching',
    millis: {
      queued: 0,
      preparing: 0,
      fetching: 0,
      unpacking: 0,
      training: 0,
      saving: 0,
      returning: 0,
      cleaning: 0,
      unknown: 0,
    },
    fetches: [
      {
        object: 'o',
        bytes: 50e6,
        total: 200e6,
        rate: 10e6,
        server: 'cache-1:8443',
        setbacks: [],
        done: false,
      },
    ],
    outputs: [],
    faults: [],
  };
  const attempt: FoldedAttempt = { job: '0000', attempt: 2, why: '', phase: 'fetching', agent };
  const ids = Array.from({ length: jobs }, (_, index) => String(index).padStart(4, '0'));
  return {
    run: 'cifar10-k3v9q1',
    name: 'cifar10',
    pool: 'local',
    version: '1',
    createdAt: '2026-03-04T10:00:00.000Z',
    stopRequested: false,
    rounds: 1,
    jobs: ids.map((id) =>
      completeJob(
        { id, status: 'running', stopRequested: false, attempts: [{ ...changed(attempt, agent), job: id }] },
        { planned: { parameters, ...defined({ name: describeParameters(parameters) || undefined }) } },
      ),
    ),
    tally: { ...fold([]).tally, total: jobs, running: jobs },
    garbled: 0,
  };
}

test('a fetching job shows its try, share, bytes, rate, time left and cache', () => {
  const line = liveView(fetching(1), frame(110)).find((text) => text.startsWith('0000'));
  assert.match(
    line ?? '',
    /^0000 +2 {2}fetching +█+·+ +25 % {2}worker\S+ +50\/200 MB, 10 MB\/s, ETA 15s, cache-1/,
  );
});

test('in 60 columns figures take the room of the bar', () => {
  const line = liveView(fetching(1), frame(60)).find((text) => text.startsWith('0000'));
  assert.match(line ?? '', /^0000 +2 {2}fetching +25 % {2}50\/200 MB, 10 MB\/s, ETA 15s/);
});

test('in 80 columns a job without figures shows where it is', () => {
  const state = fetching(1, (attempt, agent) => ({
    ...attempt,
    phase: 'preparing',
    agent: { ...agent, site: 'GP-ARGO-ksu-backfill', fetches: [] },
  }));
  assert.match(liveView(state, frame(80)).join('\n'), /^0000 +2 {2}preparing +GP-ARGO-ksu-backfill$/m);
});

/** A job in training that is called like one of a sweep. */
function training(parameters: Parameters, metrics: Record<string, number>): RunState {
  const reported = { command: 'true', epoch: 3, epochs: 6, loss: 0.3333, accuracy: 0.65, metrics };
  const train = (attempt: FoldedAttempt, agent: AgentState): FoldedAttempt => ({
    ...attempt,
    phase: 'training',
    agent: { ...agent, site: 'GP-ARGO-ksu-backfill', training: reported },
  });
  return fetching(1, train, parameters);
}

test('in 80 columns a training job shows how far it is, its metrics and the time left', () => {
  const lines = liveView(training({}, {}), frame(80));
  assert.match(lines[4] ?? '', /^JOB +TRY {2}STATE +WHERE +EPOCH +LOSS +ACCURACY {2}NOTE$/);
  assert.match(lines[5] ?? '', /^0000 +2 {2}training +33 % {2}GP-ARGO-\S+ +3\/6 +0\.3333 +0\.65 {2}ETA 0s$/);
  assert.equal(lines.length, 6);
});

test('the metrics that decide are whole on a narrow screen, its jobs have titles, and what is left out is named', () => {
  const metrics = { val_loss: 0.1234, val_accuracy: 0.8193, test_loss: 0.5 };
  const parameters = { l1_chan: 4, l3_chan: 16, lr: 0.02, momentum: 0.8, nesterov: 1, seed: 2 };
  const state = training(parameters, metrics);
  const lines = liveView(state, frame(80));
  assert.match(lines.join('\n'), /^JOB, l1_chan, l3_chan,(?: {2}|$)/m);
  assert.match(lines.join('\n'), /VAL_(?:ACCURACY)? /);
  assert.match(lines.join('\n'), /^0000 4 16 0\.02 0\.8 1 2 .*training .* 0\.1234 +0\.8193\b.*ETA 0s/m);
  assert.match(lines.at(-1) ?? '', /^Not shown at this width: .*EPOCH, LOSS, ACCURACY, TEST_LOSS\.$/);
});

test('the state has its colour, and nothing beside it', () => {
  const text = liveView(training({}, {}), frame(80, 24, true)).join('\n');
  assert.ok(text.includes('0000    2  \x1b[36mtraining\x1b[39m    33 %'), text);
});

test('the view fits a screen of any size', async () => {
  const states = [fetching(50), await golden('retry-then-failure'), await golden('lost-agent')];
  for (const state of states)
    for (const columns of [1, 10, 30, 40, 60, 80, 110, 160, 200])
      for (const rows of [1, 3, 6, 24, 60])
        for (const color of [false, true]) {
          const lines = liveView(state, frame(columns, rows, color));
          assert.ok(lines.length <= rows, `${lines.length} lines in ${rows} rows`);
          for (const line of lines)
            assert.ok(Array.from(stripVTControlCharacters(line)).length <= columns, `${columns}: ${line}`);
        }
});

test('jobs that do not fit are counted, and active ones come first', () => {
  const state = fetching(50);
  const [first, ...rest] = state.jobs;
  assert.ok(first !== undefined);
  state.jobs = [{ ...first, status: 'waiting', outcome: 'waiting', attempts: [] }, ...rest];
  const lines = liveView(state, frame(80, 12));
  assert.ok(lines.some((line) => line.startsWith('0001')) && !lines.some((line) => line.startsWith('0000')));
  assert.equal(lines.length, 12);
  assert.match(lines.at(-1) ?? '', /and 44 more/);
});

test('the name of a worker cannot drive the terminal', () => {
  for (const line of liveView(fetching(2), frame(200))) assert.ok(!line.includes('\x1b'));
});

test('an ended run shows each outcome with its reason, and a loss that is not a number unchanged', async () => {
  const text = liveView(await golden('retry-then-failure'), frame(120)).join('\n');
  assert.match(text, /IDLE +INPUT +RUN +OUTPUT +DONE +FAILED +TOTAL\n +0 +0 +0 +0 +1 +1 +2/);
  assert.match(text, /0000 +1 {2}success .* 2\/2 +1\.07 +0\.61$/m);
  assert.match(text, /0001 +2 {2}failed .* NaN +the training ended with status 1/);
  assert.doesNotMatch(text, /100 %/, 'bars would take the room of metrics');
});

test('without a UTF-8 locale the view is plain ASCII', () => {
  const plain = { ...frame(120), glyphs: glyphsFor({ LANG: 'C' }) };
  // The dot between the parts of the first line is the only other mark.
  const [, ...rest] = liveView(training({}, {}), plain);
  for (const line of rest) assert.match(line, /^[\x20-\x7e]*$/);
});

test('an agent that has not reported for minutes is shown as such, with no time of its end', () => {
  const state = fetching(1);
  for (const attempt of state.jobs.flatMap(({ attempts }) => attempts))
    attempt.heardAt = Date.parse('2026-03-04T09:57:00Z');
  const text = liveView(state, frame(160)).join('\n');
  assert.match(text, /no report for 5m00s/);
  assert.doesNotMatch(text, /ETA/);
});
