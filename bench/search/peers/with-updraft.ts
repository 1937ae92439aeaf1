import { readdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { systemClock } from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';
import { runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../../src/job/load-plan.ts';
import { startAgent } from '../../../src/pool/local/agent-process.ts';
import { supervise } from '../../../src/pool/local/supervisor.ts';
import { createRun } from '../../../src/run/create-run.ts';
import { readRunState } from '../../../src/run/run-states.ts';

/** `node with-updraft.ts SLOTS AGENT…`: the job file here, on the local pool with this number of slots. */
const [slots = '', ...agent] = process.argv.slice(2);
const here = process.cwd();
const plan = await loadPlan(here);
const run = await createRun(plan, {}, '0.0.0', systemClock);
const self = identifyProcess(process.pid);
if (self === undefined) throw new Error('this process has no identity');
await supervise({
  ...{ runFolder: run, plan, agent, self, startAgent },
  ...{ scratchRoot: here, poolFolder: path.join(here, 'pool'), env: process.env, clock: systemClock },
  machine: { cpus: Number(slots), memoryBytes: 2 ** 40, gpus: [] },
  signal: new AbortController().signal,
  kill: (pid, signal) => {
    try {
      process.kill(pid, signal);
    } catch {
      // gone already
    }
  },
  say: (line) => process.stderr.write(`${line}\n`),
  stopGraceMs: 10_000,
});
const { jobs } = await readRunState(run);
const notesAt = async (rung: number): Promise<number> =>
  (await readdir(path.join(run, runFiles.notes, `rung-${rung}`)).catch(() => [])).length;
console.log(
  JSON.stringify({
    ended: jobs.flatMap(({ id, outcome }) => (outcome === 'success' ? [Number(id)] : [])),
    rungs: await Promise.all([1, 2, 3].map(notesAt)),
  }),
);
