import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explanationPage } from '@updraft/account/why';
import { documentText } from '@updraft/view/document';
import { causeInfo } from '@updraft/account/codes';
import {
  type AttemptDetails,
  type FoldedAttempt,
  completeJob,
  type RunRules,
} from '@updraft/account/testing';
import type { JobHistory } from '@updraft/account/history';
import type { JobState, Outcome } from '@updraft/account/journal';
import { explainRunJob } from '@updraft/account/why';

const time = '2026-03-04T10:00:00.250Z';

function attempt(number: number, message: string | undefined): FoldedAttempt {
  const fault = { kind: 'object-missing' as const, message: message ?? '', fix: 'list its folder' };
  return {
    attempt: number,
    startedAt: time,
    why: '',
    phase: 'ended',
    outcome: 'failed',
    endedAt: time,
    agent: {
      phase: 'training',
      millis: {},
      lastAt: time,
      spoke: [],
      fetches: [],
      site: `Site-${number}`,
      faults: message === undefined ? [] : [fault],
      lacks: [],
      refused: [],
      outputs: [],
      checkpoint: { savedAt: time, bytes: 5, files: 1 },
    },
  } as unknown as FoldedAttempt;
}

const job = (attempts: FoldedAttempt[], outcome: Outcome = 'failed'): JobState =>
  completeJob({ id: '0000', status: 'ended', outcome, attempts, stopRequested: false }, {});

const evidence = { file: 'job.log', at: '', lines: [] };

/** The same job by HTCondor's log: attempts that exited with code 96, and were put back into the queue. */
function logged(count: number, changes: Partial<JobHistory> = {}, rules?: RunRules) {
  const end = (returnValue: number): AttemptDetails['end'] => ({
    ...{ how: 'exited', reason: '', code: undefined, subcode: undefined, resources: [], evidence },
    termination: { normal: true, returnValue },
  });
  const attempts = Array.from({ length: count }, (_, index) => ({
    ...{ number: index + 1, waits: [], spans: [], ending: 'failed', cause: 'object-missing' },
    ...{ checkpointed: false, site: `Site-${index + 1}`, machine: '', gpu: '', resources: [] },
    details: { began: evidence, saves: 0, reconnects: index === 0 ? 1 : 0, end: end(96) },
  }));
  const details = { first: evidence, last: evidence, holds: [], releases: [] };
  const history = { id: '1.0', from: 0, to: 1, attempts, after: [], outcome: 'failed', details, ...changes };
  return { history: history as unknown as JobHistory, rules };
}

test("an attempt that the agent and HTCondor both describe is described once, without the agent's own exit code", () => {
  const both = explainRunJob({
    job: job([attempt(1, 'd.bin is gone'), attempt(2, 'd.bin is gone')]),
    entries: [],
    logged: logged(2),
  });
  assert.deepEqual(both.because, [
    'Attempt 2 at Site-2: d.bin is gone',
    'Attempt 1 at Site-1 ended like the last one.',
    'The connection to its machine was lost and restored once; the job continued.',
    'Its last checkpoint was saved at 2026-03-04 10:00:00 UTC, 5 B.',
  ]);
  assert.deepEqual(both.advice, ['List its folder.', causeInfo('object-missing').advice]);
  const silent = explainRunJob({
    job: job([attempt(1, undefined), attempt(2, 'd.bin is gone')]),
    entries: [],
    logged: logged(2),
  });
  assert.deepEqual(
    silent.because.filter((one) => one.startsWith('Attempt 1')),
    ['Attempt 1 at Site-1: The program exited with code 96.'],
  );
});

test('a removed job says once who removed it, and how to retry it', () => {
  const removal = { reason: 'via condor_rm (by user ann)', evidence, wasHeld: false };
  const details = { first: evidence, last: evidence, holds: [], releases: [], removal };
  const rules = { file: 'job.sub', policy: {} } as unknown as RunRules;
  const { because, advice } = explainRunJob({
    job: job([attempt(1, 'stopped')], 'stopped'),
    entries: [],
    logged: logged(0, { outcome: 'removed', details }, rules),
  });
  assert.ok(because.includes('ann removed it with condor_rm.'), because.join('\n'));
  assert.ok(!because.includes('A user stopped it.'));
  assert.deepEqual(advice, ['If you still want it: updraft retry']);
});

test('an eviction says how much work was lost after the last checkpoint', () => {
  const one = attempt(1, undefined);
  const agent = { ...one.agent, lastAt: '2026-03-04T10:03:20.250Z' };
  const evicted = { ...one, outcome: 'evicted', agent } as unknown as FoldedAttempt;
  const { because } = explainRunJob({ job: job([evicted], 'evicted'), entries: [] });
  assert.match(
    because.join('\n'),
    /saved at 2026-03-04 10:00:00 UTC, 5 B; 3m20s of work after it were lost\./,
  );
});

test('an expired token is explained in ten lines, without repeating a sentence', () => {
  const message = 'the token for osdf:///lab/images.tar.gz (token.txt) expired at 2026-03-04 09:00 UTC';
  const attempts = [1, 2, 3].map((number) => {
    const one = attempt(number, message);
    const fault = { kind: 'token-expired' as const, message };
    return {
      ...one,
      fault,
      agent: { ...one.agent, faults: [fault], checkpoint: undefined },
    } as unknown as FoldedAttempt;
  });
  const decision = { do: 'end' as const, outcome: 'failed' as const, why: '3 of 3 attempts failed' };
  const text = documentText(
    explanationPage(explainRunJob({ job: job(attempts), entries: [], decision })),
    80,
  );
  assert.ok(text.split('\n').length <= 10, text);
  assert.equal(text.split('expired at').length, 2, text);
});

test('a failed training shows the end of its traceback, and its exception once', () => {
  const lines = [
    '  File "train.py", line 7, in load',
    '    raise ValueError(name)',
    'ValueError: no classes',
  ];
  const message = `the training failed with exit code 1 in train.py, line 7: ${lines[2] ?? ''}`;
  const explained = explainRunJob({ job: job([attempt(1, message)]), entries: [] });
  const traceback = { file: 'jobs/0000/attempt-1/err.log', lines };
  const text = documentText(explanationPage({ ...explained, traceback }), 80);
  assert.match(
    text,
    /in train\.py,\s+line\s+7\n(?:.*\n)* {5}jobs\/0000\/attempt-1\/err\.log:\n {7}File "train\.py", line 7/,
  );
  assert.equal(text.split('ValueError: no classes').length, 2, text);
});
