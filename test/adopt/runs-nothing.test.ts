import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { whyNotRun } from '@updraft/htcondor/submit';
import type { CondorAnswer } from '../../src/preflight/ask-condor.ts';
import * as adopt from '../../src/cli/commands/adopt.ts';
import * as check from '../../src/cli/commands/check.ts';
import { runCommand } from '../cli/run-command.ts';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { spellingFiles, spellings } from './spellings.ts';

/** `check` asks HTCondor as `adopt` does. */
const alsoChecked = ['include output', 'include in a branch of the pool', 'queue from a script'];

test('no spelling of a command is run: HTCondor is not asked, and could not start a process', async (t) => {
  const pool = await testPool(t);
  if (pool === undefined) return;
  const cwd = await temporaryFolder(t, spellingFiles);
  const mark = path.join(cwd, 'MARK');
  const env = { PATH: `${pool.bin}:${process.env['PATH'] ?? ''}`, HOME: cwd, UPDRAFT_PIPE: '|' };
  const leavesMark = (): boolean => {
    const isThere = existsSync(mark);
    rmSync(mark, { force: true });
    return isThere;
  };
  const dryRun = (more: Record<string, string>): boolean => {
    const args = ['job.sub', '-dry-run', '/dev/null'];
    spawnSync(path.join(pool.bin, 'condor_submit'), args, { cwd, env: { ...env, ...more } });
    return leavesMark();
  };
  const wrong: string[] = [];
  let dangerous = 0;
  for (const [name, text] of Object.entries(spellings)) {
    writeFileSync(path.join(cwd, 'job.sub'), text);
    if (dryRun({})) {
      dangerous++;
      if (whyNotRun(text) === undefined) wrong.push(`${name}: HTCondor would be asked, and would run it`);
    }
    if (dryRun({ UPDRAFT_NO_FORKS: '1' })) wrong.push(`${name}: the kernel let it run`);
    await runCommand(adopt, ['job.sub'], { cwd, env }).catch(() => undefined);
    if (alsoChecked.includes(name)) await runCommand(check, ['job.sub'], { cwd, env }).catch(() => undefined);
    if (leavesMark()) wrong.push(`${name}: adopt or check ran it`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(dangerous >= 40, `only ${dangerous} spellings are run by condor_submit itself`);
});

test("HTCondor is asked about a harmless file, unable to start processes and without the user's environment", async (t) => {
  const pool = await testPool(t);
  if (pool === undefined) return;
  const text = 'executable = /bin/true\nlog = a.log\n+Seen = "$ENV(SEEN)"\nqueue 2\n';
  const cwd = await temporaryFolder(t, { 'job.sub': text });
  const env = { PATH: `${pool.bin}:${process.env['PATH'] ?? ''}`, HOME: cwd, SEEN: 'yes' };
  let out = '';
  await runCommand(adopt, ['job.sub', '--json'], { cwd, env, out: (more) => void (out += more) });
  const { condor } = JSON.parse(out) as { condor: CondorAnswer };
  assert.deepEqual([condor.asked, condor.accepted, condor.confined], [true, true, true]);
});
