import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import { condorHarness, type CondorHarness } from './condor-harness.ts';
import { runNames } from '../run-names.ts';
import { cliMain } from '../programs.ts';

const file = `
name = "once"
[train]
command = "echo 1 > out.txt"
outputs = ["out.txt"]
[run]
pool = "condor"
jobs = 3
`;

function submit({ folder, env }: CondorHarness) {
  const child = spawn(process.execPath, [cliMain, 'submit'], {
    cwd: folder,
    env: { ...env },
    stdio: 'ignore',
  });
  return { child, ended: once(child, 'exit') as Promise<[number | null]> };
}

/** Makes condor_submit slow: before it reads its input, or after it has submitted. */
async function slowSubmit(harness: CondorHarness, script: string): Promise<void> {
  const slow = path.join(harness.folder, 'slow');
  await mkdir(slow, { recursive: true });
  const real = (harness.env['PATH'] ?? '').split(':')[0] ?? '';
  const names = (await readdir(real)).filter((name) => name.startsWith('condor_'));
  for (const name of names) {
    const text =
      name === 'condor_submit'
        ? script.replace('REAL', path.join(real, name))
        : `exec ${path.join(real, name)} "$@"`;
    await writeFile(path.join(slow, name), `#!/bin/sh\n${text}\n`);
    await chmod(path.join(slow, name), 0o755);
  }
  harness.env = { ...harness.env, PATH: `${slow}:${harness.env['PATH'] ?? ''}` };
}

/** Waits until the journal has the submitting process. */
async function untilAsking({ folder }: CondorHarness): Promise<void> {
  for (;;) {
    const [run] = await runNames(folder);
    const journal = path.join(folder, 'runs', run ?? '', 'journal.jsonl');
    if ((await readFile(journal, 'utf8').catch(() => '')).includes('"submitting"')) return;
    await systemClock.sleep(5);
  }
}

async function assertOnce(t: TestContext, harness: CondorHarness): Promise<void> {
  const again = submit(harness);
  const [code] = await again.ended;
  assert.equal(code, 0);
  const runs = await runNames(harness.folder);
  assert.equal(runs.length, 1);
  const constraint = `UpdraftRun == "${runs[0] ?? ''}"`;
  t.after(() => harness.tool('condor_rm', '-constraint', constraint).catch(() => undefined));
  const clusters = new Set(await harness.ask(constraint, 'ClusterId'));
  assert.equal(clusters.size, 1, `clusters: ${[...clusters].join(' ')}`);
}

for (const [when, script] of [
  ['before the submission', 'sleep 1.5; exec REAL "$@"'],
  ['after the submission', 'REAL "$@"; code=$?; sleep 1.5; exit $code'],
] as const)
  test(`submit that is killed ${when} and repeated makes one cluster`, async (t) => {
    const harness = await condorHarness(t, { 'updraft.toml': file });
    if (harness === undefined) return;
    await slowSubmit(harness, script);
    const { child, ended } = submit(harness);
    await untilAsking(harness);
    child.kill('SIGKILL');
    await ended;
    await assertOnce(t, harness);
  });

test('a submit that is killed together with condor_submit can be repeated', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': file });
  if (harness === undefined) return;
  await slowSubmit(harness, 'sleep 600');
  const { child, ended } = submit(harness);
  await untilAsking(harness);
  child.kill('SIGKILL');
  await ended;
  const [run = ''] = await runNames(harness.folder);
  const journal = await readFile(path.join(harness.folder, 'runs', run, 'journal.jsonl'), 'utf8');
  const asking = journal.split('\n').find((line) => line.includes('"submitting"')) ?? '';
  process.kill((JSON.parse(asking) as { by: { pid: number } }).by.pid, 'SIGKILL');
  harness.env = { ...harness.env, PATH: (harness.env['PATH'] ?? '').replace(/^[^:]*slow:/, '') };
  await assertOnce(t, harness);
});

test('two submits at the same time make one run and one cluster', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': file });
  if (harness === undefined) return;
  const first = submit(harness);
  await untilAsking(harness);
  const second = submit(harness);
  await Promise.all([first.ended, second.ended]);
  await assertOnce(t, harness);
});

test('a refusal quotes condor_submit', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': file.replace('jobs = 3', 'jobs = 1\nrequirements = "(TARGET.Memory > "'),
  });
  if (harness === undefined) return;
  await assert.rejects(harness.submit(), /condor_submit refused the run: .*(requirements|Requirements)/i);
});
