import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { Fault } from '@updraft/account/fault';
import { limitTime, marginMs, withGrace } from './time-limit.ts';
import type { Context } from '../attempt.ts';

const graceMs = 10_000;

function makeContext(): { context: Context; clock: ManualClock; stop: () => void; forceStop: () => void } {
  const clock = new ManualClock();
  const stop = new AbortController();
  const forceStop = new AbortController();
  const context: Context = {
    env: {},
    clock,
    version: '0',
    pid: 1,
    uid: 0,
    cwd: '/',
    signal: stop.signal,
    forceStop: forceStop.signal,
    graceMs: () => graceMs,
    kill: () => undefined,
  };
  return {
    context,
    clock,
    stop: () => stop.abort(new Fault('evicted', 'out')),
    forceStop: () => forceStop.abort(),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('work continues until the grace after the signal has passed', async () => {
  const { context, clock, stop } = makeContext();
  const { signal } = withGrace(context);
  await clock.pass(graceMs * 5);
  stop();
  await clock.pass(graceMs - 1);
  assert.equal(signal.aborted, false);
  await clock.pass(1);
  assert.equal(signal.aborted, true);
  assert.equal((signal.reason as Fault).kind, 'evicted');
});

test('a signal that came earlier gives the full grace too', async () => {
  const { context, clock, stop } = makeContext();
  stop();
  const { signal } = withGrace(context);
  await clock.pass(graceMs - 1);
  assert.equal(signal.aborted, false);
  await clock.pass(1);
  assert.equal(signal.aborted, true);
});

test('a second request ends the grace at once', async () => {
  const { context, stop, forceStop } = makeContext();
  const { signal } = withGrace(context);
  stop();
  forceStop();
  await turn();
  assert.equal(signal.aborted, true);
});

test('finished work is never aborted', async () => {
  const { context, clock, stop } = makeContext();
  const { signal, done } = withGrace(context);
  stop();
  done();
  await clock.pass(graceMs * 2);
  assert.equal(signal.aborted, false);
});

test('a time limit of months applies at its time, not before', async () => {
  const { context, clock } = makeContext();
  const days = 40 * 24 * 3600;
  const limited = limitTime(context, days, false);
  await clock.pass(days * 1000 - 1);
  assert.equal(limited.context.signal.aborted, false);
  await clock.pass(1);
  assert.equal((limited.context.signal.reason as Fault).kind, 'time-limit');
});

test('a cancelled time limit has no effect, nor has none at all', async () => {
  const { context, clock } = makeContext();
  const limited = limitTime(context, 10, false);
  limited.done();
  await clock.pass(20_000);
  assert.equal(limited.context.signal.aborted, false);
  assert.equal(limitTime(context, undefined, true).context, context);
});

test('a training with checkpoints is asked before the limit, and has half the margin to save', async () => {
  const { context, clock } = makeContext();
  const limited = limitTime(context, 3600, true);
  await clock.pass((3600 - 180) * 1000 - 1);
  assert.equal(limited.context.signal.aborted, false);
  await clock.pass(1);
  assert.equal((limited.context.signal.reason as Fault).kind, 'time-limit');
  assert.equal(limited.context.graceMs(), 90_000);
});

test('a slow checkpoint is requested earlier', async () => {
  const { context, clock } = makeContext();
  const limited = limitTime(context, 3600, true);
  await clock.pass(1800_000);
  const figures = { files: 1, bytes: 1, sha256: '' };
  limited.onEntry({ kind: 'checkpoint-saved', seconds: 200, ...figures });
  await clock.pass(1800_000 - 600_001);
  assert.equal(limited.context.signal.aborted, false);
  await clock.pass(1);
  assert.equal(limited.context.signal.aborted, true);
});

test('the margin is a minute or a twentieth of the limit, and a quarter of a short one', () => {
  assert.equal(marginMs(600_000, 0), 60_000);
  assert.equal(marginMs(36_000_000, 0), 1_800_000);
  assert.equal(marginMs(8000, 0), 2000);
  assert.equal(marginMs(8000, 7000), 2000);
});
