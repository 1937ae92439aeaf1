import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Policy } from '@updraft/account/recovery';
import { avoidance, rankExpression } from './condor-policy.ts';
import { recoveryLines } from './render-submit.ts';
import { requestLines } from './profiles.ts';

const policy = (more: Partial<Policy> = {}): Policy => ({
  attempts: 3,
  avoid: 'site',
  memory: { asked: 2 ** 30, most: 3 * 2 ** 30 },
  disk: { asked: 2 ** 20, most: 2 ** 20 },
  backoff: { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 600 },
  ...more,
});

const release = (one: Policy): string =>
  recoveryLines(one).find((line) => line.startsWith('MY.UpdraftMayPass')) ?? '';

test("the memory request grows with holds and agents' findings, and those holds are released", () => {
  assert.match(
    requestLines(policy(), 0)[0] ?? '',
    /^request_memory = min\(\{3072, 1024 \* pow\(2, .*JobOutOfResources.*UpdraftOutOfMemory \?: \(ExitCode =\?= 86/,
  );
  assert.equal(requestLines(policy(), 0)[1], 'request_disk = 1024 KB');
  assert.match(release(policy()), /HoldReasonCode, \{21, 34\}\) && .*member\(HoldReasonSubCode, \{102\}\)/);
  assert.match(release(policy()), /!member\(HoldReasonSubCode, \{104\}\)/);
});

test("the disk request grows with holds and agents' findings, and always includes what HTCondor adds", () => {
  const one = policy({ disk: { asked: 2 ** 20, most: 2 ** 21 } });
  assert.match(
    requestLines(one, 2 ** 10).at(-1) ?? '',
    /^request_disk = min\(\{2049, 1025 \* pow\(2, .*StartdHeldJob.*ExitCode =\?= 107/,
  );
  assert.match(release(one), /HoldReasonCode, \{21, 34\}\) && .*member\(HoldReasonSubCode, \{104\}\)/);
});

test('only what the policy names is avoided, at the places of all attempts', () => {
  assert.equal(avoidance(policy({ avoid: 'none' })), undefined);
  assert.match(avoidance(policy()) ?? '', /GLIDEIN_ResourceName \?: TARGET\.Machine.*MachineAttrMachine3/);
  assert.doesNotMatch(avoidance(policy({ avoid: 'machine' })) ?? '', /GLIDEIN/);
});

test('slots are ranked by site and GPU, then by GPU; a quote in a name ends nothing', () => {
  const rank = rankExpression([
    { site: '', gpu: 'NVIDIA A40', attempts: 9, worth: 0.8 },
    { site: 'a "b"', gpu: '', attempts: 3, worth: 1.234 },
    { site: 'usual', gpu: '', attempts: 5, worth: 1.001 },
  ]);
  assert.match(
    rank ?? '',
    /^\(\(TARGET\.GLIDEIN_ResourceName =\?= "a \\"b\\"" \|\| .*\) \? 123 : \(.*"NVIDIA A40"\) \? 80 : 100$/,
  );
  const odd = ['usual', 'a\nqueue 9', 'a\\'].map((site) => ({ site, gpu: '', attempts: 5, worth: 1 }));
  assert.equal(
    rankExpression(odd.map((one) => ({ ...one, worth: one.site === 'usual' ? 1.001 : 2 }))),
    undefined,
  );
});

test('a hold without a remedy in the policy is not released', () => {
  for (const code of [1, 7, 14, 22, 26, 32, 33, 46])
    assert.doesNotMatch(release(policy()), new RegExp(`HoldReasonCode(?: ==|,) [^)]*\\b${code}\\b`));
});

test('the release rule is short enough for HTCondor to quote it', () => {
  const rule = recoveryLines(policy({ giveUpSeconds: 86_400 })).find((line) =>
    line.startsWith('periodic_release'),
  );
  assert.ok(rule !== undefined && rule.length < 250, rule);
});
