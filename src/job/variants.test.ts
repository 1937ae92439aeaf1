import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { loadPlan } from './load-plan.ts';
import { joinVariants, planOfJob, variantsOf } from './variants.ts';

test('jobs of one plan have their own data and resources, in a plan that survives JSON', async (t) => {
  const folder = await temporaryFolder(t);
  for (const name of ['a.tar', 'b.tar']) await writeFile(path.join(folder, name), name);
  await writeFile(
    path.join(folder, 'updraft.toml'),
    `name = "x"
[train]
command = "t {lr}"
outputs = ["m"]
[data.d]
url = "{set}.tar"
[resources]
cpus = "{cpus}"
[run]
matrix = { set = ["a", "b"], cpus = [1, 2], lr = [3] }
`,
  );
  const plan = await loadPlan(folder, { cwd: folder });
  const variants = variantsOf(plan);
  assert.deepEqual(JSON.parse(JSON.stringify(plan)), plan);
  assert.deepEqual(joinVariants(plan, variants), plan);
  const seen = variants.map(({ jobs, data, spec }) => {
    const [source] = data;
    return [jobs[0]?.id, path.basename(source?.url ?? ''), source?.mark, spec.resources.cpus];
  });
  assert.deepEqual(seen, [
    ['0000', 'a.tar', undefined, 1],
    ['0002', 'a.tar', undefined, 2],
    ['0003', 'b.tar', 2, 1],
    ['0001', 'b.tar', 2, 2],
  ]);
  assert.equal(planOfJob(plan, '0001').spec.resources.cpus, 2);
  assert.equal(planOfJob(plan, '0001').jobs.length, 4);
  const informed = { ...plan, meanLifeSeconds: 600 };
  assert.deepEqual(new Set(variantsOf(informed).map((one) => one.meanLifeSeconds)), new Set([600]));
  const same = await loadPlan(folder, { cwd: folder, set: ['run.matrix.cpus=[1]', 'run.matrix.set=["a"]'] });
  assert.equal(same.variants, undefined);
  assert.notEqual(same.planHash, plan.planHash);
});

test('the order of the queue is no part of the hash: a run of an earlier version is found by its job file', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': `name = "x"
[train]
command = "t {lr} {seed} {m}"
outputs = ["o"]
[resources]
gpus = "{gpus}"
memory = "{mem} GB"
[run]
jobs = 2
matrix = { gpus = [0, 1], lr = [1, 2, 3], m = [4, 5], mem = [2, 8, 16], seed = [1, 2] }
`,
  });
  const { planHash } = await loadPlan(folder, { cwd: folder });
  // As it was when the last parameter changed fastest.
  assert.equal(planHash, '247188b19f35442773af8738968499f18669301431a67cf23a8fa84f55cf81a1');
});
