import assert from 'node:assert/strict';
import { writeFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { loadPlan } from '../../../job/load-plan.ts';
import { condorFiles } from '../condor-files.ts';
import { condorRunPolicy, policyOfJob, readPolicy } from './condor-policy.ts';
import { profileNamed } from './profiles.ts';

const htcondor = await profileNamed('htcondor', {});

const jobFile = (memory: string): string => `name = "x"
[train]
command = "t {size}"
outputs = ["m"]
[resources]
memory = "${memory}"
[recovery]
memory_max = "6 GB"
[run]
matrix = { size = [1, 4] }
`;

test('each job has the limits of its own variant, in the file of the run too', async (t) => {
  const folder = await temporaryFolder(t, { 'updraft.toml': jobFile('{size} GB') });
  const plan = await loadPlan(folder, { cwd: folder });
  const written = condorRunPolicy(plan, htcondor);
  await mkdir(path.dirname(path.join(folder, condorFiles.policy)), { recursive: true });
  await writeFile(path.join(folder, condorFiles.policy), JSON.stringify(written));
  const read = await readPolicy(folder, plan);
  const askedOf = (job: string): number => policyOfJob(read, job).memory.asked;
  assert.deepEqual([askedOf('0000'), askedOf('0001')], [1e9, 4e9]);
  assert.equal('variants' in policyOfJob(read, '0001'), false);
});

test('jobs with the same limits have one policy', async (t) => {
  const folder = await temporaryFolder(t, { 'updraft.toml': jobFile('2 GB') });
  const plan = await loadPlan(folder, { cwd: folder });
  assert.equal(condorRunPolicy(plan, htcondor).variants, undefined);
});
