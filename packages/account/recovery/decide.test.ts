/** The next step of a job, by its past attempts and the policy of its run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../fault/kinds.ts';
import type { Outcome } from '../journal/entry.ts';
import { decide, type Decision, type EndedAttempt } from './decide.ts';
import type { Policy } from './policy.ts';
import { endFromHold } from './releases.ts';

const second = 1_000;
const hour = 3600 * second;

/** A pool of one machine. */
const alone = (attempts: number, more: Partial<Policy> = {}): Policy => ({
  attempts,
  avoid: 'none',
  memory: { asked: 1e9, most: 1e9 },
  disk: { asked: 1e9, most: 1e9 },
  backoff: { initialBackoff: 5, maxBackoff: 300, immediateRetries: 0, forgetAfter: 0 },
  ...more,
});

/** A pool of many machines that grants more of what ran out. */
const pool = (attempts: number, more: Partial<Policy> = {}): Policy =>
  alone(attempts, {
    avoid: 'site',
    memory: { asked: 1e9, most: 4e9 },
    backoff: { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 1800 },
    ...more,
  });

const failed = (kind: FaultKind, endedAt = 0): EndedAttempt => ({
  outcome: 'failed',
  fault: { kind, message: 'cache.example sent nothing for 60 s' },
  endedAt,
});
const held = (code: number, subcode = 0): EndedAttempt => ({
  outcome: 'failed',
  ...endFromHold({ code, subcode, reason: '' }),
  endedAt: 0,
});
const ended = (outcome: Outcome, endedAt = 0): EndedAttempt => ({ outcome, endedAt });
const next = (attempts: EndedAttempt[], policy: Policy, now = hour): Decision =>
  decide({ attempts }, policy, now);
/** Seconds before the next attempt; undefined if there is none. */
function waitOf(attempts: EndedAttempt[], policy: Policy): number | undefined {
  const decision = next(attempts, policy, 0);
  if (decision.do === 'end') return undefined;
  return decision.do === 'start' ? 0 : decision.until / second;
}
const repeated = (one: EndedAttempt, count: number): EndedAttempt[] =>
  Array.from({ length: count }, () => one);

test('a new job gets its first attempt', () => {
  assert.deepEqual(next([], alone(3), 0), { do: 'start', why: 'first attempt' });
});

test('a failure that a retry can fix is retried, and the reason names what happened', () => {
  const decision = next([failed('transfer-stalled')], alone(3));
  assert.equal(decision.do, 'start');
  assert.match(decision.why, /attempt 1 ended with transfer-stalled: cache\.example sent nothing/);
});

test('the wait between attempts doubles, up to a cap', () => {
  const waits = [1, 2, 3, 9].map((tries) => waitOf(repeated(failed('transfer-failed'), tries), alone(99)));
  assert.deepEqual(waits, [5, 10, 20, 300]);
});

test('a wait ends exactly at its time', () => {
  assert.equal(next([failed('transfer-failed')], alone(3), 5 * second - 1).do, 'wait');
  assert.equal(next([failed('transfer-failed')], alone(3), 5 * second).do, 'start');
});

test('a bad machine is left at once, until it is clear that the machine is not to blame', () => {
  const waits = [1, 2, 3, 4, 5].map((tries) => waitOf(repeated(failed('self-test-failed'), tries), pool(5)));
  assert.deepEqual(waits, [0, 0, 1200, 2400, undefined]);
});

test('trouble that is the same everywhere waits from the first failure on, for over an hour', () => {
  const waits = [1, 2, 3, 4].map((tries) => waitOf(repeated(failed('object-missing'), tries), pool(5)));
  const longer = [300, 600, 1200, 2400];
  assert.deepEqual(waits, longer);
  assert.ok(longer.reduce((sum, wait) => sum + wait) > 3600);
});

test('a failure that no retry can fix ends the job at once', () => {
  const decision = next([failed('training-failed')], alone(5));
  assert.equal(decision.do, 'end');
  assert.match(decision.why, /another attempt would fail the same way/);
  assert.equal(next([ended('wrong-output')], alone(5)).do, 'end');
  assert.equal(next([ended('failed')], alone(5)).do, 'end');
});

test('a failure that costs a whole training is retried once, not four times', () => {
  assert.equal(next([failed('training-hung')], pool(5)).do, 'start');
  assert.equal(next(repeated(failed('training-hung'), 2), pool(5)).do, 'end');
});

test('software that fails on two machines is not tried further', () => {
  const waits = [1, 2].map((tries) => waitOf(repeated(failed('environment-broken'), tries), pool(5)));
  assert.deepEqual(waits, [0, undefined]);
});

test('holds are answered by code and subcode; an unknown one stays', () => {
  const cases: [code: number, subcode: number, wait: number | undefined][] = [
    [13, 256, 300],
    [13, 2, undefined],
    [12, 28, undefined],
    [6, 8, undefined],
    [6, 12, 0],
    [19, 0, 0],
    [32, 0, undefined],
    [26, 0, undefined],
    [34, 102, 0],
    [34, 104, undefined],
    [34, 7, undefined],
    [47, 0, 0],
    [3, 96, 300],
    [3, 13, undefined],
    [3, 2, undefined],
    [3, 137, 0],
    [12345, 0, undefined],
  ];
  for (const [code, subcode, wait] of cases)
    assert.equal(waitOf([held(code, subcode)], pool(5)), wait, `code ${code}, subcode ${subcode}`);
});

test('memory requests grow up to the limit, whether a hold or a fault showed the shortage', () => {
  for (const short of [held(34, 102), failed('memory-exceeded')]) {
    const waits = [1, 2, 3].map((tries) => waitOf(repeated(short, tries), pool(5)));
    assert.deepEqual(waits, [0, 0, undefined]);
    assert.equal(waitOf([failed('object-missing'), failed('slow-slot'), short], pool(5)), 1200);
  }
  assert.equal(
    waitOf([failed('memory-exceeded')], pool(5, { memory: { asked: 1e9, most: 1e9 } })),
    undefined,
  );
});

test('a killed training is retried elsewhere twice, one with too little GPU memory once', () => {
  const waits = (kind: FaultKind) => [1, 2, 3].map((tries) => waitOf(repeated(failed(kind), tries), pool(5)));
  assert.deepEqual(waits('training-killed'), [0, 0, undefined]);
  assert.deepEqual(waits('gpu-memory'), [0, undefined, undefined]);
});

test('a job ends when its attempts are used up', () => {
  assert.equal(next(repeated(failed('disk-full'), 2), alone(3)).do, 'start');
  const decision = next(repeated(failed('disk-full'), 3), alone(3));
  assert.equal(decision.do, 'end');
  assert.match(decision.why, /^3 of 3 attempts failed$/);
});

test('evicted and lost attempts do not count against the job, up to a limit', () => {
  assert.equal(next([ended('lost'), ended('evicted')], alone(1)).do, 'start');
  assert.equal(next([ended('lost'), failed('disk-full')], alone(2)).do, 'start');
  assert.equal(next(repeated(ended('lost'), 10), alone(1)).do, 'end');
});

test('no attempt starts after give_up_after', () => {
  const history = { queuedAt: 0, attempts: [failed('object-missing')] };
  assert.equal(decide(history, pool(5, { giveUpSeconds: 301 }), 0).do, 'wait');
  const decision = decide(history, pool(5, { giveUpSeconds: 299 }), 0);
  assert.equal(decision.do, 'end');
  assert.match(decision.why, /given up 299 s after it was queued/);
});

test('a valid result and a stop end the job', () => {
  assert.deepEqual(next([failed('disk-full'), ended('success')], alone(3), 0), {
    do: 'end',
    outcome: 'success',
    why: 'there is a valid result',
  });
  assert.equal(next([ended('stopped')], alone(3)).do, 'end');
});

test('attempts that made progress until their time limit do not count, however many there are', () => {
  const slices = Array.from({ length: 20 }, () => ({ ...failed('time-limit'), movedOn: true }));
  const decision = next(slices, alone(3));
  assert.equal(decision.do, 'start');
  assert.match(decision.why, /time-limit.*it made progress and saved a checkpoint/);
  assert.equal(next([...slices, failed('time-limit')], alone(3)).do, 'end');
});
