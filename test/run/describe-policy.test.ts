import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSpec } from '../../src/job/read-spec.ts';
import { describePolicy, type Policy, policyOf } from '@updraft/account/recovery';
import { simulate } from '@updraft/account/testing';

const many = { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 1800 };

const policy = (toml: string, backoff = many): Policy =>
  policyOf(readSpec(`name = "x"\n[train]\ncommand = "t"\noutputs = ["o"]\n${toml}`, 'updraft.toml'), {
    diskBytes: 10e9,
    backoff,
  });

test('a policy is described in sentences, with its times and sizes', () => {
  const words = describePolicy(
    policy(`[resources]
memory = "2 GB"
[recovery]
memory_max = "6 GB"
disk_max = "10 GB"
give_up_after = "2d"
failed_jobs = 1
`),
  );
  assert.deepEqual(words, [
    'a job is given up after 5 failed attempts, or 2d after it was queued; evicted attempts do not count',
    'temporary trouble, such as a missing object: tried again after 5m, after 10m, after 20m, after 40m',
    'a faulty machine: tried again at another site at once, at once, after 20m, after 40m',
    'out of memory: tried again with 4 GB, then 6 GB',
    'when 1 job has failed for good, the rest of the run is given up',
  ]);
});

test('a single machine offers more memory, but no other machine', () => {
  const words = describePolicy(
    policy('', { initialBackoff: 5, maxBackoff: 300, immediateRetries: 0, forgetAfter: 0 }),
  );
  assert.equal(words.length, 3);
  assert.match(words[2] ?? '', /^out of memory: tried again with/);
  assert.match(words[1] ?? '', /after 5s, after 10s, after 20s, after 40s/);
});

test('with one attempt there are no retries', () => {
  assert.deepEqual(describePolicy(policy('[run]\nattempts = 1\n')), ['one attempt; no retries']);
});

test('a simulation says what happens next, and what if the trouble continues', () => {
  const held = { outcome: 'failed' as const, remedy: 'later' as const, endedAt: 60_000 };
  const outlook = simulate(policy(''), { attempts: [held, held] }, 60_000);
  assert.deepEqual([outlook.failures, outlook.attempts, outlook.waits], [2, 5, [600, 1200, 2400]]);
  assert.deepEqual(outlook.next.do === 'wait' && outlook.next.until, 660_000);
});
