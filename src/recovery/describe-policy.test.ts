import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSpec } from '../job/read-spec.ts';
import { policyOf, type Policy } from './policy.ts';
import { describePolicy } from './describe-policy.ts';
import { simulate } from './decide.ts';

const many = { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 1800 };

const policy = (toml: string, backoff = many): Policy =>
  policyOf(readSpec(`name = "x"\n[train]\ncommand = "t"\noutputs = ["o"]\n${toml}`, 'updraft.toml'), {
    diskBytes: 10e9,
    backoff,
  });

test('a policy is told in words, with its times and sizes', () => {
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
    'a job is given up after 5 failed attempts, and none is begun 2d after it was queued; attempts that the pool took away do not count',
    'trouble that passes, like an object that is not there: tried again after 5m, after 10m, after 20m, after 40m',
    'a machine that fails: tried again at another site at once, at once, after 20m, after 40m',
    'out of memory: tried again with 4 GB, then 6 GB',
    'when 1 job has failed for good, the rest is given up',
  ]);
});

test('one machine alone promises no other place, but more of its memory', () => {
  const words = describePolicy(
    policy('', { initialBackoff: 5, maxBackoff: 300, immediateRetries: 0, forgetAfter: 0 }),
  );
  assert.equal(words.length, 3);
  assert.match(words[2] ?? '', /^out of memory: tried again with/);
  assert.match(words[1] ?? '', /after 5s, after 10s, after 20s, after 40s/);
});

test('one attempt is one attempt', () => {
  assert.deepEqual(describePolicy(policy('[run]\nattempts = 1\n')), ['one attempt, whatever happens']);
});

test('a simulation tells what happens next and what happens if the trouble goes on', () => {
  const held = { outcome: 'failed' as const, remedy: 'later' as const, endedAt: 60_000 };
  const outlook = simulate(policy(''), { attempts: [held, held] }, 60_000);
  assert.deepEqual([outlook.failures, outlook.attempts, outlook.waits], [2, 5, [600, 1200, 2400]]);
  assert.deepEqual(outlook.next.do === 'wait' && outlook.next.until, 660_000);
});
