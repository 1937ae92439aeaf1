import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPolicy } from '../policy.ts';
import { judge, speedFloor, type Surroundings, type Watched } from './watchdog.ts';

const policy = { ...defaultPolicy, stallSeconds: 20 };
const gigabyte = 1e9;
const alone: Surroundings = {
  bestOther: 0,
  alternative: false,
  size: gigabyte,
  missingBytes: gigabyte,
  leftMs: undefined,
};
const steady: Watched = { quietMs: 100, runningMs: 60_000, rate: 50e6 };

test('a server that delivers is left alone', () => {
  assert.equal(judge(steady, alone, policy), 'fine');
});

test('twenty silent seconds are a stall, five while another server delivers', () => {
  assert.equal(judge({ ...steady, quietMs: 19_000 }, alone, policy), 'fine');
  assert.equal(judge({ ...steady, quietMs: 20_000 }, alone, policy), 'stalled');
  assert.equal(judge({ ...steady, quietMs: 5_000 }, { ...alone, bestOther: 1e6 }, policy), 'stalled');
});

test('a trickle is too slow only where there is somebody else to ask', () => {
  const trickle = { ...steady, rate: 50_000 };
  assert.equal(judge(trickle, alone, policy), 'fine');
  assert.equal(judge(trickle, { ...alone, alternative: true }, policy), 'slow');
  assert.equal(judge(trickle, { ...alone, alternative: true, bestOther: 50e6 }, policy), 'drop');
  assert.equal(judge({ ...trickle, runningMs: 1_000 }, { ...alone, alternative: true }, policy), 'fine');
});

test('the floor rises with the size of the object, a time budget, and what others give', () => {
  const floor = (more: Partial<Surroundings>) => speedFloor({ ...alone, ...more }, policy);
  assert.equal(floor({}), 100 * 1024);
  assert.ok(floor({ size: 100 * gigabyte }) > 4e6);
  assert.equal(floor({ missingBytes: gigabyte, leftMs: 100_000 }), 10e6);
  assert.equal(floor({ bestOther: 160e6 }), 10e6);
});
