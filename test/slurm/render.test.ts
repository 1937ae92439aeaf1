import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { WorkOrder } from '../../src/job/job.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { renderSlurmOrders, renderSbatch } from '../../src/pool/slurm/render-sbatch.ts';
import { writeAuthorities } from '../../src/pool/image-command.ts';
import { testAuthority } from '../federation/web-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { project } from './slurm-harness.ts';

const everything = project('', {
  run: 'jobs = 12\npartition = "gpu"\nproject = "physics"\nqos = "normal"\nrequirements = "a100|h100"',
  resources: 'cpus = 4\ngpus = 1\ntime = "10h"',
});

test('a run is rendered as in the golden script', async (t) => {
  const folder = await temporaryFolder(t, everything);
  const plan = await loadPlan(folder, { cwd: folder });
  const image = {
    place: '/images/torch.sif',
    gpus: true,
    reads: ["/data/it's"],
    hiddenVariables: ['PYTHONPATH'],
  };
  const text = renderSbatch({ plan, run: 'bench-20260101T000000_abcd', image });
  assert.equal(text, await readFile(path.join(import.meta.dirname, 'golden.sbatch'), 'utf8'));
  assert.equal(spawnSync('sh', ['-n'], { input: text }).status, 0);
});

test('a later round has its own jobs, name and orders, with the same indices', async (t) => {
  const folder = await temporaryFolder(t, everything);
  const plan = await loadPlan(folder, { cwd: folder });
  const round = { number: 3, jobs: ['0002', '0003', '0009'], attemptsBefore: new Map() };
  const text = renderSbatch({ plan, run: 'bench-1', round });
  assert.match(text, /^#SBATCH --job-name=bench-1\.r3\n#SBATCH --array=2-3,9$/m);
  assert.match(text, /^ {2}ln -s "\$run\/rounds\/3\/updraft-agent\.gz" \.$/m);
  assert.match(text, /^order=\$run\/rounds\/3\/orders\/\$job\.json$/m);
  assert.deepEqual(Object.keys(renderSlurmOrders(plan, 'bench-1', round)), [
    'rounds/3/orders/0002.json',
    'rounds/3/orders/0003.json',
    'rounds/3/orders/0009.json',
  ]);
});

test('with several nodes, the script starts itself on the others, and only the first one decides', async (t) => {
  const folder = await temporaryFolder(t, project('', { resources: 'nodes = 3\ngpus = 2' }));
  const text = renderSbatch({ plan: await loadPlan(folder, { cwd: folder }), run: 'bench-1' });
  assert.match(text, /^#SBATCH --nodes=3\n#SBATCH --ntasks=3\n#SBATCH --ntasks-per-node=1$/m);
  assert.match(
    text,
    /^ {4}others=\$\(\(SLURM_JOB_NUM_NODES - 1\)\)\n[^]*sh "\$run\/slurm\/job.sbatch" "\$attempt"/m,
  );
  assert.ok(text.indexOf('[ -z "$peer" ] || exit 0') < text.indexOf('outcome=failed'), text);
  assert.equal(spawnSync('sh', ['-n'], { input: text }).status, 0);
  const elsewhere = await temporaryFolder(t, project('', { resources: 'nodes = 2', run: 'pool = "local"' }));
  const file = path.join(elsewhere, 'updraft.toml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('pool = "slurm"\n', ''));
  await assert.rejects(
    loadPlan(elsewhere, { cwd: elsewhere }),
    /resources\.nodes: a job on this machine is on one machine; .*, or use pool = "slurm"/,
  );
});

test("secrets are copied from outside the run's folder into the attempt's scratch folder only", async (t) => {
  const folder = await temporaryFolder(t, everything);
  const plan = await loadPlan(folder, { cwd: folder });
  const text = renderSbatch({ plan, run: 'bench-1', secrets: "/state/it's/bench-1.json" });
  assert.match(
    text,
    /cd "\$scratch"; then\n[^]*?\n {2}cp '\/state\/it'\\''s\/bench-1\.json' secrets\.json 2>> "\$said"\n/,
  );
  assert.equal(spawnSync('sh', ['-n'], { input: text }).status, 0);
});

test("the user's certificate authorities and confirmed federations travel with the run's folder", async (t) => {
  const folder = await temporaryFolder(t, everything);
  const plan = await loadPlan(folder, { cwd: folder });
  const text = renderSbatch({ plan, run: 'bench-1', hasAuthority: true });
  assert.match(
    text,
    /^ {2}export SSL_CERT_FILE="\$run\/slurm\/authority\.pem"\n {2}set -- \.\/updraft-agent shared/m,
  );
  const confirmed = ['https://campus.example'];
  const [order = ''] = Object.values(renderSlurmOrders({ ...plan, confirmed }, 'bench-1'));
  assert.deepEqual((JSON.parse(order) as WorkOrder).confirmed, confirmed);
  const own = await temporaryFolder(t, { 'mixed.pem': `KEY\n${await readFile(testAuthority, 'utf8')}` });
  const file = path.join(own, 'authority.pem');
  await writeAuthorities(file, {});
  await assert.rejects(readFile(file), { code: 'ENOENT' });
  await writeAuthorities(file, { SSL_CERT_FILE: path.join(own, 'mixed.pem') });
  assert.match(await readFile(file, 'utf8'), /^-----BEGIN CERTIFICATE-----[^]+-----END CERTIFICATE-----\n$/);
});

test('[pool.submit] adds options of sbatch', async (t) => {
  const files = project('', { run: 'jobs = 1' });
  const own = '\n[pool.submit]\nreservation = "my course"\nexclusive = true\nnice = 10\nreboot = false\n';
  const folder = await temporaryFolder(t, { ...files, 'updraft.toml': `${files['updraft.toml']}${own}` });
  const text = renderSbatch({ plan: await loadPlan(folder, { cwd: folder }), run: 'r' });
  assert.match(text, /^#SBATCH --reservation="my course"\n#SBATCH --exclusive\n#SBATCH --nice="10"\n\n/m);
});

test('jobs of an array may differ in their data, and not in what the array requests', async (t) => {
  const folder = await temporaryFolder(t, project('', { run: 'matrix = { set = ["x", "y"] }' }));
  const plan = await loadPlan(folder, { cwd: folder, set: ['data.d.url=osdf:///a/{set}.tar'] });
  renderSbatch({ plan, run: 'r-1' });
  const urls = Object.values(renderSlurmOrders(plan, 'r-1')).map(
    (text) => (JSON.parse(text) as WorkOrder).data[0]?.url,
  );
  assert.deepEqual(urls, ['osdf:///a/x.tar', 'osdf:///a/y.tar']);
  const other = await loadPlan(folder, {
    cwd: folder,
    set: ['resources.memory={set}', 'run.matrix.set=["1 GB","2 GB"]'],
  });
  assert.throws(() => renderSbatch({ plan: other, run: 'r-1' }), /jobs differ by set in resources/);
});
