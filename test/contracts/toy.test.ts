import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import * as status from '../../src/cli/commands/status.ts';
import * as stop from '../../src/cli/commands/stop.ts';
import * as why from '../../src/cli/commands/why.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { poolTraits } from '../../src/job/pool-traits.ts';
import type { PoolName } from '../../src/job/spec.ts';
import { openPool, poolKinds } from '../../src/pool/open-pool.ts';
import { submitRun } from '../../src/run/submit-run.ts';
import { runCommand } from '../cli/run-command.ts';
import { RunHarness } from '../run/run-harness.ts';
import { untilState } from '../until-state.ts';
import { poolContract, type Opened } from './pool.ts';
import { toyKind } from './toy-pool.ts';
import { cliMain } from '../programs.ts';

// In src these are two lines, which the compiler demands once the name is in `pools`.
Object.assign(poolTraits, { toy: toyKind.traits });
Object.assign(poolKinds, { toy: toyKind });

const context = {
  self: [process.execPath, cliMain],
  clock: systemClock,
  pid: process.pid,
  kill: (pid: number, signal: NodeJS.Signals): void => void process.kill(pid, signal),
};

async function openToy(t: TestContext, files: Record<string, string>): Promise<Opened> {
  const { folder, env } = await RunHarness.make(t);
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  return { folder, pool: openPool('toy', { ...context, env }) };
}

poolContract('toy', openToy);

test('commands read and explain a run of a pool that they do not know', async (t) => {
  const { folder, pool } = await openToy(t, {
    'updraft.toml': 'name = "toy"\n[train]\ncommand = "exit 3"\noutputs = ["model.pt"]\n',
  });
  const plan = await loadPlan(folder, { cwd: folder });
  plan.spec.run.pool = 'toy' as PoolName;
  const { folder: run } = await submitRun(plan, pool, { isNew: true, version: '0.0.0', ...context });
  await untilState(run, ({ endedAt }) => endedAt !== undefined);
  const cwd = folder;
  assert.match((await runCommand(status, [run], { cwd })).out, /1 job, 1 failed/);
  assert.match((await runCommand(why, [run, '0'], { cwd })).out, /^0000 failed: [^]*exit code 3/m);
  assert.match((await runCommand(stop, [run, '--yes'], { cwd, ...context })).err, /next:/);
});
