/** What checkpoints of `updraft` cost, by what agents reported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeJob } from '../journal/complete-job.ts';
import { decode } from '../journal/codec.ts';
import { foldAgent } from '../journal/fold-agent.ts';
import type { AgentBody, AgentEntry, Outcome } from '../journal/entry.ts';
import type { FoldedAttempt, RunState } from '../journal/state.ts';
import { expectedLoss, meanSaveSeconds } from '../recovery/interruptions.ts';
import { checkpointReport } from './log-report.ts';
import type { JobRow } from './ledger.ts';
import type { AgentState } from '../journal/agent-state.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** An attempt that trains from second 0 to 100 in two starts, with 1 and 2 checkpoints of half a second. */
function attempt(number: number, outcome: Outcome, isOld = false): FoldedAttempt {
  const bodies: [number, AgentBody][] = [
    [0, { kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: [] }],
    [0, { kind: 'phase', phase: 'training' }],
    [0, { kind: 'training-started', pid: 2, command: 't' }],
    [40, { kind: 'progress', epoch: 1, ...(isOld ? {} : { saves: 1, saveSeconds: 0.5, saveEvery: 30 }) }],
    [50, { kind: 'training-started', pid: 3, command: 't' }],
    [100, { kind: 'progress', epoch: 2, ...(isOld ? {} : { saves: 2, saveSeconds: 1, saveEvery: 20 }) }],
    [100, { kind: 'agent-ended', outcome, exit: 0 }],
  ];
  const agent = bodies.reduce<AgentState | undefined>((state, [second, body], seq) => {
    const line = JSON.stringify({ v: 1, t: at(second), seq, job: '0', attempt: number, ...body });
    return foldAgent(state, decode(line) as AgentEntry);
  }, undefined);
  const times = { startedAt: at(0), endedAt: at(100) };
  return { job: '0', attempt: number, why: '', ...times, outcome, phase: 'cleaning', agent: agent! };
}

const runOf = (...attempts: FoldedAttempt[]): Pick<RunState, 'jobs'> => ({
  jobs: [completeJob({ id: '0', status: 'ended', outcome: 'success', stopRequested: false, attempts }, {})],
});

const lost = (seconds: number) => ({ millis: { lostToEviction: seconds * 1000 } });

test('a report has what checkpoints cost, what interruptions cost, and what was to be expected', () => {
  const run = runOf(attempt(1, 'evicted'), attempt(2, 'success'));
  const rows = [{ attempts: [lost(8), lost(0)] }] as unknown as JobRow[];
  assert.deepEqual(checkpointReport(run.jobs, rows), {
    saves: 6,
    waitSeconds: 3,
    waitShare: 3 / 200,
    secondsPerSave: 0.5,
    everySeconds: 20,
    interruptions: 1,
    meanSecondsBetween: 200,
    lostSecondsEach: 8,
    expectedShare: 0.5 / 20 + 20 / 400,
  });
  assert.equal(meanSaveSeconds([run]), 0.5);
});

test('journals of trainings without updraft, or of old versions, have no checkpoint figures', () => {
  const run = runOf(attempt(1, 'evicted', true));
  assert.equal(checkpointReport(run.jobs, []), null);
  assert.equal(meanSaveSeconds([run]), undefined);
});

test('any interval but the best one costs more', () => {
  assert.ok(expectedLoss(7200, 1, 60) > expectedLoss(7200, 1));
  assert.ok(expectedLoss(7200, 1, 3600) > expectedLoss(7200, 1));
});
