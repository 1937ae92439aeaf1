import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import type { Fault } from '../fault/fault.ts';
import { loadPlan } from '../job/load-plan.ts';
import { loadRun } from '../journal/load-run.ts';
import { createRun } from './create-run.ts';
import { readPlan } from '../pool/read-plan.ts';

async function project(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'create-run-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, 'code'));
  await writeFile(path.join(folder, 'code', 'main.sh'), 'echo 1 > model.pt\n', { mode: 0o755 });
  await writeFile(
    path.join(folder, 'updraft.toml'),
    'name = "set"\n[train]\ncommand = "code/main.sh"\nfiles = ["code"]\noutputs = ["model.pt"]\n[run]\njobs = 2\npool = "local"\n',
  );
  return folder;
}

test('a new run holds its plan, copies of its files, what the pool rendered, and a journal that says so', async (t) => {
  const folder = await project(t);
  const plan = await loadPlan(folder);
  const run = await createRun(plan, { 'job.sub': 'queue 2\n' }, '1.2.3', systemClock);
  assert.match(path.basename(run), /^set-\d{8}T\d{6}_[0-9a-f]{4}$/);
  assert.deepEqual(await readPlan(run), plan);
  assert.equal(await readFile(path.join(run, 'job.sub'), 'utf8'), 'queue 2\n');
  const copy = path.join(run, 'files', 'code', 'main.sh');
  assert.equal(await readFile(copy, 'utf8'), 'echo 1 > model.pt\n');
  assert.equal((await stat(copy)).mode & 0o111, 0o111);
  const state = await loadRun(run);
  assert.deepEqual([state.run, state.tally.waiting, state.version], [path.basename(run), 2, '1.2.3']);
});

test('two runs with one name do not meet', async (t) => {
  const plan = await loadPlan(await project(t));
  const runs = await Promise.all([1, 2, 3].map(() => createRun(plan, {}, '1', systemClock)));
  assert.equal(new Set(runs).size, 3);
});

test('a file that changes while the run is made is noticed, and no half of a run stays', async (t) => {
  const folder = await project(t);
  const plan = await loadPlan(folder);
  await writeFile(path.join(folder, 'code', 'main.sh'), 'echo 2 > model.pt\n');
  await assert.rejects(
    createRun(plan, {}, '1', systemClock),
    /code\/main\.sh changed while it was being copied/,
  );
  assert.deepEqual(await readdir(path.join(folder, 'runs')), []);
});

test('where no runs can be kept, that is told with what to do', async (t) => {
  const folder = await project(t);
  await writeFile(path.join(folder, 'runs'), 'a file where the folder should be');
  await assert.rejects(
    createRun(await loadPlan(folder), {}, '1', systemClock),
    (fault: Fault) => fault.kind === 'file-invalid' && /make \S+runs a folder/.test(fault.fix ?? ''),
  );
});
