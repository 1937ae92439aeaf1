import assert from 'node:assert/strict';
import { copyFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { testPool } from '../pool.ts';
import { torchImage } from '../torch-image.ts';
import { condorHarness, limitIdle, onlyJob, result } from './condor-harness.ts';
import { publishedCifar } from './published-cifar.ts';

type Cifar = NonNullable<Awaited<ReturnType<typeof publishedCifar>>>;

const methods = ['native', 'https', 'osdf', 'stream'] as const;

const urlOf = (method: (typeof methods)[number], { archive, web, object }: Cifar): string =>
  method === 'native' ? `file://${archive}` : method === 'https' ? web : object;

// Reads what a training reads, but without PyTorch, which takes long to start here.
const reading = `
import numpy, pickle, sys
rows = 0
for number in range(1, 6):
    with open(f"data/cifar-10-batches-py/data_batch_{number}", "rb") as file:
        rows += numpy.asarray(pickle.load(file, encoding="bytes")[b"data"]).shape[0]
open("rows.txt", "w").write(f"{rows} {sys.argv[1]}")
`;

const training = {
  command: 'python3 train.py --epochs 1 --save-model',
  outputs: ['cifar10_cnn.pt', 'metrics.json'],
};
/** Reads the same data. */
const reader = { command: 'python3 read.py all', outputs: ['rows.txt'] };

/** Runs one job on CIFAR-10, fetched by this method only. */
async function trainBy(
  t: TestContext,
  method: (typeof methods)[number],
  cifar: Cifar,
  image: string | undefined,
): Promise<void> {
  const where = image === undefined ? 'outside' : 'inside';
  // One method is enough to show PyTorch; the examples train in an image.
  const trains = image === undefined && method === 'stream';
  const { command, outputs } = trains ? training : reader;
  const harness = await condorHarness(
    t,
    {
      'read.py': reading,
      'updraft.toml': `
name = "by-${method}"
[train]
command = "${command} && if [ -d /.singularity.d ]; then echo inside; else echo outside; fi > where.txt"
files = ["train.py", "read.py"]
outputs = ${JSON.stringify([...outputs, 'where.txt'])}
[data.cifar]
url = "${urlOf(method, cifar)}"
method = "${method}"
into = "data"
expect = { files = 8 }
${image === undefined ? '' : `[environment]\nimage = ${JSON.stringify(image)}`}
[resources]
disk = "4 GB"
memory = "2 GB"
[run]
pool = "condor"
`,
    },
    { env: { ...cifar.env, OMP_NUM_THREADS: '1' } },
  );
  if (harness === undefined) return;
  await copyFile(cifar.script, path.join(harness.folder, 'train.py'));
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(
    job.outcome,
    'success',
    `${method}: ${JSON.stringify(job.attempts.at(-1)?.fault ?? job.held)}`,
  );
  if (trains)
    assert.ok((JSON.parse(await result(run, 'metrics.json')) as { accuracy: number }).accuracy >= 0);
  else assert.equal(await result(run, 'rows.txt'), '200 all');
  assert.equal(await result(run, 'where.txt'), `${where}\n`);
}

for (const isBoxed of [false, true])
  test(
    `CIFAR-10 arrives by each method, ${isBoxed ? 'in an image' : 'outside an image, and PyTorch trains on it'}`,
    { timeout: 600_000 },
    async (t) => {
      const pool = await testPool(t);
      const cifar = await publishedCifar(t);
      if (pool === undefined || cifar === undefined) return;
      const image = isBoxed ? await torchImage(pool) : undefined;
      await Promise.all(methods.map((method) => trainBy(t, method, cifar, image)));
    },
  );

test(
  'twelve jobs of one run, materialized in parts, read CIFAR-10 through our plugin',
  { timeout: 400_000 },
  async (t) => {
    limitIdle(t, 5);
    const cifar = await publishedCifar(t);
    if (cifar === undefined) return;
    const harness = await condorHarness(
      t,
      {
        'updraft.toml': `
name = "twelve"
[train]
command = "python3 read.py {job}"
files = ["read.py"]
outputs = ["rows.txt"]
[data.cifar]
url = "${cifar.object}"
method = "osdf"
into = "data"
expect = { files = 8 }
[resources]
disk = "1 GB"
memory = "500 MB"
[run]
pool = "condor"
jobs = 12
`,
        'read.py': reading,
      },
      { env: cifar.env },
    );
    if (harness === undefined) return;
    const run = await harness.submit();
    assert.match(await readFile(path.join(run, 'condor/job.sub'), 'utf8'), /^max_idle = 5$/m);
    const state = await harness.until(run, ({ endedAt, tally: { total, ...parts }, trouble }) => {
      const sum = Object.values(parts).reduce((all, part) => all + part, 0);
      assert.deepEqual([total, sum, trouble], [12, 12, undefined]);
      return endedAt !== undefined;
    });
    assert.equal(state.tally.success, 12, JSON.stringify(state.tally));
    const rows = await Promise.all(state.jobs.map(({ id }) => result(run, 'rows.txt', id)));
    assert.deepEqual(
      rows,
      state.jobs.map(({ id }) => `200 ${id}`),
    );
  },
);
