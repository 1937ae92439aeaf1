import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { buildWheel } from '../../scripts/build-wheel.ts';
import type { Arch } from '../../scripts/bun.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { bareJob, runNamedIn } from './bare-job.ts';

const dist = path.resolve(import.meta.dirname, '../../dist');
const executable = path.join(dist, `updraft-linux-${os.arch()}`);

test('pip installs the wheel into a clean environment, where it runs a job', async (t) => {
  if (!existsSync(executable)) {
    t.skip(`${path.basename(executable)} is not built (npm run build)`);
    return;
  }
  const folder = await temporaryFolder(t, bareJob);
  const venv = path.join(folder, 'venv');
  const python = (...args: string[]) => spawnSync('python3', args, { encoding: 'utf8' });
  // One pip for all environments: giving each its own takes most of the time.
  const made = [python('-m', 'pip', '--version'), python('-m', 'venv', '--without-pip', venv)];
  const failed = made.find(({ status }) => status !== 0);
  if (failed !== undefined) {
    t.skip(`python3 has no pip or venv here: ${failed.error?.message ?? failed.stderr.trim()}`);
    return;
  }
  const wheel = await buildWheel(os.arch() as Arch, executable);
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--python', path.join(venv, 'bin', 'python')];
  const installed = python(...pip, 'install', '--no-index', wheel);
  assert.equal(installed.status, 0, installed.stderr);
  const env = { PATH: `${venv}/bin:/usr/bin:/bin`, HOME: folder };
  const updraft = (...args: string[]) =>
    spawnSync(path.join(venv, 'bin', 'updraft'), args, { cwd: folder, env, encoding: 'utf8' });
  assert.equal(updraft('--version').stdout, `${packageJson.version}\n`);
  assert.ok(readFileSync(path.join(venv, 'bin', 'updraft')).equals(readFileSync(executable)));
  const run = updraft('run');
  assert.equal(run.status, 0, run.stderr);
  const results = path.join(folder, runNamedIn(run.stderr), 'results/0000');
  assert.equal(readFileSync(path.join(results, 'model.pt'), 'utf8'), 'a model\n');
  const removed = python(...pip, 'uninstall', '--yes', packageJson.name);
  assert.equal(removed.status, 0, removed.stderr);
  assert.equal(existsSync(path.join(venv, 'bin', 'updraft')), false);
});
