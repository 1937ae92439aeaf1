import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { cutScenario } from '../../bench/osg/cut-scenario.ts';
import { runReplay } from '../../bench/osg/run-replay.ts';
import { osgScenario } from '../../bench/osg/scenario.ts';
import { agentOnWorkers, testPool } from '../pool.ts';

const jobs = 10;

test('of ten published jobs, one per kind of trouble, about as many succeed as in the study, and with Updraft all', async (t) => {
  const agent = process.env['UPDRAFT_AGENT'] ?? path.resolve(`dist/updraft-agent-linux-${os.arch()}`);
  if (
    !(await access(agent).then(
      () => true,
      () => false,
    ))
  ) {
    t.skip(`the agent is not built: ${agent} is missing`);
    return;
  }
  // The replay has its own pool; if this one cannot start, that one cannot either.
  if ((await testPool(t)) === undefined) return;
  const expected = cutScenario(osgScenario(1), jobs).jobs.filter(
    ({ row }) => row.outcome === 'success',
  ).length;
  const accounts = await runReplay({
    jobs,
    seed: 1,
    scale: 2400,
    only: ['seed', 'updraft'],
    keep: false,
    agentFor: (pool) => agentOnWorkers(pool, agent),
    say: (line) => t.diagnostic(line),
    signal: t.signal,
  });
  const [published, updraft] = ['as published', 'Updraft'].map((name) => accounts.get(name));
  // Days pass in seconds: on a busy machine one job may miss its trouble, or meet that of another.
  assert.ok(published !== undefined && published.valid < jobs);
  assert.ok(Math.abs(published.valid - expected) <= 1, `${published.valid} valid, ${expected} in the study`);
  const { jobs: ends, failures } = updraft?.report ?? {};
  assert.equal(updraft?.valid, jobs, JSON.stringify({ ends, failures }));
  assert.ok(updraft.report.attempts > jobs, 'something had to be retried');
});
