import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import * as plan from '../../src/cli/commands/plan.ts';
import * as report from '../../src/cli/commands/report.ts';
import { placePackedAgent } from '../../src/pool/find-agent.ts';
import { buildLibrary } from '../../scripts/build-package.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, type CondorHarness } from '../condor/condor-harness.ts';
import { poolCache } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const root = path.resolve(import.meta.dirname, '../..');
const agent = path.join('agents', `updraft-agent-linux-${os.arch()}.gz`);

/** What npm makes of the tarball: the package beside its dependencies, and nothing of the checkout. */
async function installPackage(t: TestContext): Promise<string> {
  const modules = path.join(await temporaryFolder(t), 'node_modules');
  const folder = path.join(modules, 'updraft-htc');
  const pools = (await readdir(path.join(root, 'pools'))).map((name) => `pools/${name}`);
  const copied = [
    ...['bin/updraft.mjs', 'scripts/launch.mjs', 'python/updraft/__init__.py', 'package.json'],
    ...pools,
  ];
  for (const name of [...copied, agent])
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
  for (const name of copied) await copyFile(path.join(root, name), path.join(folder, name));
  await buildLibrary(folder);
  const file = path.join(root, 'dist', path.basename(agent, '.gz'));
  const cached = { XDG_CACHE_HOME: poolCache };
  await placePackedAgent({ arch: os.arch(), file, isPacked: false }, path.join(folder, agent), cached);
  const { dependencies, optionalDependencies } = JSON.parse(
    await readFile(path.join(folder, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'optionalDependencies', Record<string, string>>;
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true });
    await symlink(path.join(root, 'node_modules', name), path.join(modules, name));
  }
  return folder;
}

const toml = `
name = "packaged"
[train]
command = "echo trained > model.txt"
outputs = ["model.txt"]
[resources]
memory = "200 MB"
`;

/** Runs the installed command as a user with an empty home would. */
async function updraft(
  { folder, env }: CondorHarness,
  installed: string,
  args: string[],
): Promise<{ out: string; err: string; code: number }> {
  const command = [path.join(installed, 'bin/updraft.mjs'), ...args];
  const asked = promisify(execFile)(process.execPath, command, {
    cwd: folder,
    env: { ...env, UPDRAFT_AGENT: '' },
  });
  return await asked.then(
    ({ stdout, stderr }) => ({ out: stdout, err: stderr, code: 0 }),
    (error: unknown) => {
      const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
      return { out: stdout, err: stderr, code };
    },
  );
}

test('the npm package runs jobs on this machine and submits to HTCondor with the agent that it has', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': toml });
  if (harness === undefined) return;
  const installed = await installPackage(t);
  for (const pool of ['local', 'condor']) {
    const { out, err, code } = await updraft(harness, installed, ['run', '--pool', pool]);
    assert.equal(code, 0, `${pool}: ${out}${err}`);
    // Not on the PATH: the printed command works nevertheless.
    assert.ok(err.includes(`node ${path.join(installed, 'bin/updraft.mjs')} `), err);
    await rm(path.join(harness.folder, 'runs'), { recursive: true });
  }
  await rm(path.join(installed, agent));
  const { err, code } = await updraft(harness, installed, ['submit', '--pool', 'condor']);
  assert.equal(code, 4);
  assert.match(
    err,
    /no agent for linux-\w+ machines: \S+\.gz is missing\n {2}fix: install the package again/,
  );
});

test("somebody else's `updraft` on the PATH is not the command that is printed", async (t) => {
  const folder = await temporaryFolder(t, { 'bin/updraft': '#!/bin/sh\n' });
  await writeFile(path.join(folder, 'bin/updraft'), '#!/bin/sh\n', { mode: 0o755 });
  const script = path.join(root, 'bin/updraft.mjs');
  const env = { PATH: path.join(folder, 'bin'), HOME: folder };
  const asked = promisify(execFile)(process.execPath, [script, 'status'], { cwd: folder, env });
  await assert.rejects(asked, ({ stderr }: { stderr: string }) => {
    assert.ok(stderr.includes(`start one with \`node ${script} run\``), stderr);
    return true;
  });
});

test('the agent that travels with every job is in the bytes of plan and report', async (t) => {
  const harness = await condorHarness(
    t,
    { 'updraft.toml': `${toml}[run]\npool = "condor"\njobs = 10\n` },
    { sends: true },
  );
  if (harness === undefined) return;
  const { folder: cwd, env } = harness;
  const { out } = await runCommand(plan, [], { cwd, env });
  assert.match(
    out,
    /sent +5\d\.?\d? MB per attempt from this access point, 5\d\d MB for one attempt of all 10 jobs/,
  );
  assert.match(out, /to send it through caches: updraft env agent osdf:/);
  const log = path.join(root, 'test/eventlogs/transfer_queue.log');
  const read = await runCommand(report, [log], { cwd, env });
  assert.match(read.out, /sent by HTCondor +3\.1 GB, 1\.6 GB per attempt/);
});
