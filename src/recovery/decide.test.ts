import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../fault/kinds.ts';
import type { Outcome } from '../journal/entry.ts';
import { decide, type EndedAttempt } from './decide.ts';

const second = 1_000;
const failed = (kind: FaultKind, endedAt = 0): EndedAttempt => ({
  outcome: 'failed',
  fault: { kind, message: 'cache.example sent nothing for 60 s' },
  endedAt,
});
const ended = (outcome: Outcome, endedAt = 0): EndedAttempt => ({ outcome, endedAt });

test('a job that was never tried is tried', () => {
  assert.deepEqual(decide([], 3, 0), { do: 'start', why: 'first attempt' });
});

test('a failure that another try can mend is tried again, and the reason names what happened', () => {
  const decision = decide([failed('transfer-stalled')], 3, 3600 * second);
  assert.equal(decision.do, 'start');
  assert.match(decision.why, /attempt 1 ended with transfer-stalled: cache\.example sent nothing/);
});

test('the wait between attempts doubles, up to five minutes', () => {
  const waits = [1, 2, 3, 9].map((tries) => {
    const history = Array.from({ length: tries }, () => failed('transfer-failed', 100 * second));
    const decision = decide(history, 99, 100 * second);
    assert.equal(decision.do, 'wait');
    return (decision.until - 100 * second) / second;
  });
  assert.deepEqual(waits, [5, 10, 20, 300]);
});

test('a wait is over exactly when it says', () => {
  assert.equal(decide([failed('transfer-failed')], 3, 5 * second - 1).do, 'wait');
  assert.equal(decide([failed('transfer-failed')], 3, 5 * second).do, 'start');
});

test('a failure that no other try can mend ends the job at once', () => {
  const decision = decide([failed('training-failed')], 5, 3600 * second);
  assert.equal(decision.do, 'end');
  assert.match(decision.why, /another attempt cannot help/);
  assert.equal(decide([ended('wrong-output')], 5, 3600 * second).do, 'end');
  assert.equal(decide([ended('failed')], 5, 3600 * second).do, 'end');
});

test('attempts are used up', () => {
  const twice = [failed('disk-full'), failed('disk-full')];
  assert.equal(decide(twice, 3, 3600 * second).do, 'start');
  const decision = decide([...twice, failed('disk-full')], 3, 3600 * second);
  assert.equal(decision.do, 'end');
  assert.match(decision.why, /3 of 3 attempts failed; the last one ended with disk-full/);
});

test('attempts that were taken away do not count against the job, but not for ever', () => {
  assert.equal(decide([ended('lost'), ended('evicted')], 1, 3600 * second).do, 'start');
  assert.equal(decide([ended('lost'), failed('disk-full')], 2, 3600 * second).do, 'start');
  assert.equal(
    decide(
      Array.from({ length: 10 }, () => ended('lost')),
      1,
      3600 * second,
    ).do,
    'end',
  );
});

test('a good result and a stop end the job', () => {
  assert.deepEqual(decide([failed('disk-full'), ended('success')], 3, 0), {
    do: 'end',
    outcome: 'success',
    why: 'there is a valid result',
  });
  assert.equal(decide([ended('stopped')], 3, 3600 * second).do, 'end');
});
