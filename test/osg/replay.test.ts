import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { isThere } from '@updraft/base';
import { cutScenario } from '../../bench/osg/cut-scenario.ts';
import { runReplay } from '../../bench/osg/run-replay.ts';
import { osgScenario } from '../../bench/osg/scenario.ts';
import { agentOnWorkers, testPool } from '../pool.ts';

const jobs = 10;
const numbersOf = (valid: Iterable<number> = []): number[] => [...valid].sort((a, b) => a - b);

test('of ten published jobs, one per kind of trouble, the same succeed as in the study, and with Updraft all', async (t) => {
  const agent = process.env['UPDRAFT_AGENT'] ?? path.resolve(`dist/updraft-agent-linux-${os.arch()}`);
  if (!(await isThere(agent))) {
    t.skip(`the agent is not built: ${agent} is missing`);
    return;
  }
  // The replay has its own pool; if this one cannot start, that one cannot either.
  if ((await testPool(t)) === undefined) return;
  const { jobs: replayed } = cutScenario(osgScenario(1), jobs);
  const good = [...replayed.keys()].filter((job) => replayed[job]?.row.outcome === 'success');
  const { accounts } = await runReplay({
    jobs,
    seed: 1,
    // The published limit of 20 hours is 45 s, in which an attempt must also start and end, on busy cores too.
    scale: 1600,
    only: ['seed', 'updraft'],
    keep: false,
    agentFor: (pool) => agentOnWorkers(pool, agent),
    say: (line) => t.diagnostic(line),
    signal: t.signal,
  });
  const [published, updraft] = ['as published', 'Updraft'].map((name) => accounts.get(name));
  assert.deepEqual(numbersOf(published?.valid), good);
  const { jobs: ends, failures } = updraft?.report ?? {};
  assert.deepEqual(numbersOf(updraft?.valid), [...replayed.keys()], JSON.stringify({ ends, failures }));
  assert.ok((updraft?.report.attempts ?? 0) > jobs, 'something had to be retried');
});
