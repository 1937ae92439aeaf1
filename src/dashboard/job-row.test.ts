import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentBody, type AgentState, type Entry, fold } from '@updraft/account/journal';
import { completeJob, jobMetrics } from '@updraft/account/testing';
import { jobRow, measurementsOf } from './job-row.ts';

const job = '0000';
const at = (second: number) => ({ v: 1 as const, t: new Date(second * 1000).toISOString(), seq: second });
const agent = (second: number, body: AgentBody): Entry => ({ ...at(second), job, attempt: 1, ...body });

test('the bar of an attempt begins with its set-up, so that the rest is at the right time', () => {
  const state = fold([
    {
      ...at(0),
      kind: 'run-created',
      run: 'r-1',
      name: 'r',
      pool: 'local',
      jobs: [job],
      planHash: '',
      version: '1',
    },
    { ...at(1), kind: 'attempt-started', job, attempt: 1, why: '' },
    agent(1, { kind: 'phase', phase: 'preparing' }),
    agent(61, { kind: 'phase', phase: 'fetching' }),
    agent(71, { kind: 'phase', phase: 'training' }),
    agent(101, { kind: 'progress', waited: 20 }),
    agent(171, { kind: 'phase', phase: 'cleaning' }),
    agent(176, { kind: 'agent-ended', outcome: 'failed', exit: 1 }),
    { ...at(176), kind: 'attempt-ended', job, attempt: 1, outcome: 'failed', exit: 1 },
  ]);
  const [bar] = jobRow(state.jobs[0]!, 0).bars;
  assert.deepEqual(bar?.parts, [
    ['preparing', 60_000],
    ['fetching', 10_000],
    ['waiting for data', 20_000],
    ['training', 80_000],
    ['overhead', 5_000],
  ]);
});

test('a loss that ended in NaN is known as such, with its best value', () => {
  const training = { command: '', loss: NaN, accuracy: 0.5, best: { loss: 2, accuracy: 0.5 } };
  const { metrics, best, diverged } = measurementsOf(
    jobMetrics({ attempts: [{ agent: { training } as unknown as AgentState }] }),
  );
  assert.deepEqual(
    { metrics, best, diverged },
    {
      ...{ metrics: { accuracy: 0.5 }, best: { loss: 2 }, diverged: { loss: 'NaN' } },
    },
  );
});

test('whole commands that differ at their ends stay different on the page', () => {
  const command = `python train.py ${'--flag '.repeat(20)}--lr `;
  const shown = [0.1, 0.2].map((lr) => {
    const waiting = { id: '0', status: 'waiting' as const, stopRequested: false, attempts: [] };
    const planned = { parameters: { command: `${command}${lr}` } };
    return jobRow(completeJob(waiting, { planned }), 0).parameters;
  });
  assert.notDeepEqual(shown[0], shown[1]);
  assert.equal(String(shown[0]?.['command']).length, 60);
});
