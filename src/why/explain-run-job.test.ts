import assert from 'node:assert/strict';
import { test } from 'node:test';
import { causeInfo } from '../codes/causes.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import type { AttemptState, JobState } from '../journal/state.ts';
import { explainRunJob } from './explain-run-job.ts';

const time = '2026-03-04T10:00:00.250Z';

function attempt(number: number, message: string | undefined): AttemptState {
  const fault = { kind: 'object-missing' as const, message: message ?? '', fix: 'list its folder' };
  return {
    attempt: number,
    startedAt: time,
    why: '',
    phase: 'ended',
    outcome: 'failed',
    endedAt: time,
    agent: {
      phase: 'ended',
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
  } as unknown as AttemptState;
}

const job = (attempts: AttemptState[], outcome: JobState['outcome'] = 'failed'): JobState =>
  ({ id: '0000', status: 'ended', outcome, attempts, stopRequested: false }) as unknown as JobState;

const fromLog = (changes: Partial<Explanation>): Explanation => ({
  job: '1.0',
  standing: 'failed',
  cause: 'object-missing',
  title: 'the input was not found (404)',
  because: [
    'The program ended by itself with exit code 96.',
    'Attempt 1 at Site-1: The attempt ended with exit code 96 (object-missing): The object is not there.',
    'It was reconnected once.',
  ],
  evidence: [],
  doing: [],
  advice: ['Try again after a pause.'],
  ...changes,
});

test('an attempt that the agent and HTCondor both tell of is told once, and the agent’s own exit code not at all', () => {
  const both = explainRunJob({
    job: job([attempt(1, 'd.bin is gone'), attempt(2, 'd.bin is gone')]),
    entries: [],
    fromLog: fromLog({}),
  });
  assert.deepEqual(both.because, [
    'Attempt 2 at Site-2: d.bin is gone',
    'Its last checkpoint was saved at 2026-03-04 10:00:00 UTC, 5 B.',
    'Attempt 1 at Site-1 had ended as failed, object-missing: d.bin is gone',
    'It was reconnected once.',
  ]);
  assert.deepEqual(both.advice, ['list its folder', causeInfo('object-missing').advice]);
  const silent = explainRunJob({
    job: job([attempt(1, undefined), attempt(2, 'd.bin is gone')]),
    entries: [],
    fromLog: fromLog({}),
  });
  assert.deepEqual(
    silent.because.filter((one) => one.startsWith('Attempt 1')),
    [fromLog({}).because[1]],
  );
});

test('a job that was removed says once who did it, and what to do if it is still wanted', () => {
  const { because, advice } = explainRunJob({
    job: job([attempt(1, 'stopped')], 'stopped'),
    entries: [],
    fromLog: fromLog({
      standing: 'removed',
      cause: 'user',
      because: ['ann removed it with condor_rm.'],
      advice: ['If it is still wanted: updraft retry'],
    }),
  });
  assert.ok(because.includes('ann removed it with condor_rm.'));
  assert.ok(!because.includes('Somebody stopped it.'));
  assert.deepEqual(advice, ['If it is still wanted: updraft retry']);
});
