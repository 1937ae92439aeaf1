import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { condorHarness, type CondorHarness, limitIdle, onlyJob, result } from './condor-harness.ts';
import { makeImage, uncompressed } from './make-image.ts';
import { publishedCifar } from './published-cifar.ts';

type Cifar = NonNullable<Awaited<ReturnType<typeof publishedCifar>>>;

const methods = ['native', 'https', 'osdf', 'stream'] as const;

/** The stream is private: the agent gets its token. */
const sourceOf = ({ archive, web, object }: Cifar): Record<(typeof methods)[number], string> => ({
  native: `url = "file://${archive}"`,
  https: `url = "${web}"`,
  osdf: `url = "${object}"`,
  stream: `url = "${object.replace('/public/', '/private/')}"\ntoken_file = "token"`,
});

// Reads what a training reads, but without PyTorch, which takes long to start here.
const reading = `
import numpy, pickle, sys
for folder in sys.argv[2:]:
    rows = 0
    for number in range(1, 6):
        with open(f"{folder}/cifar-10-batches-py/data_batch_{number}", "rb") as file:
            rows += numpy.asarray(pickle.load(file, encoding="bytes")[b"data"]).shape[0]
    open("rows.txt", "a").write(f"{folder} {rows} {sys.argv[1]}\\n")
`;

/** The table of each method's data, and what the job's command finds there. */
const byAll = (cifar: Cifar, command: string, outputs: string[], more = ''): string => `
name = "by-all"
[train]
command = "${command}"
files = ["train.py", "read.py"]
outputs = ${JSON.stringify(outputs)}
${methods
  .map(
    (method) => `[data.${method}]
${sourceOf(cifar)[method]}
method = "${method}"
into = "${method}"
expect = { files = 8 }
`,
  )
  .join('')}
${more}
[resources]
disk = "2 GB"
memory = "2 GB"
[run]
pool = "condor"
`;

/** A user's project with that job, whose agent travels as users send it. */
const harnessFor = async (t: TestContext, cifar: Cifar, toml: string) =>
  await condorHarness(
    t,
    {
      'read.py': reading,
      'train.py': await readFile(cifar.script, 'utf8'),
      token: cifar.federation.issueToken(),
      'updraft.toml': toml,
    },
    { env: { ...cifar.env, OMP_NUM_THREADS: '1' }, sends: true },
  );

async function succeed(harness: CondorHarness): Promise<string> {
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
  const fetches = job.attempts.at(-1)?.agent?.fetches ?? [];
  assert.equal(fetches.length, 4);
  assert.equal(fetches.find(({ object }) => object.includes('/private/'))?.verified, 'digest');
  return run;
}

test('CIFAR-10 arrives by each method, and PyTorch trains on it', async (t) => {
  const cifar = await publishedCifar(t);
  if (cifar === undefined) return;
  const read = `python3 read.py all ${methods.join(' ')}`;
  const train = 'python3 train.py --data-dir stream --epochs 1 --save-model';
  const outputs = ['rows.txt', 'cifar10_cnn.pt', 'metrics.json'];
  const harness = await harnessFor(t, cifar, byAll(cifar, `${read} && ${train}`, outputs));
  if (harness === undefined) return;
  const run = await succeed(harness);
  assert.equal(await result(run, 'rows.txt'), methods.map((method) => `${method} 200 all\n`).join(''));
  assert.ok((JSON.parse(await result(run, 'metrics.json')) as { accuracy: number }).accuracy >= 0);
});

test('CIFAR-10 arrives by each method in an image, with the same bytes', async (t) => {
  const cifar = await publishedCifar(t);
  if (cifar === undefined) return;
  const batch = 'cifar-10-batches-py/data_batch_1';
  const compare = methods.map((method) => `cmp native/${batch} ${method}/${batch}`).join(' && ');
  const command = `${compare} && cat /made-by-test > where.txt`;
  const image = '[environment]\nimage = "small.sif"';
  const harness = await harnessFor(t, cifar, byAll(cifar, command, ['where.txt'], image));
  if (harness === undefined) return;
  const folder = path.join(harness.folder, 'image');
  await makeImage(folder, undefined, ['cmp']);
  await harness.tool('apptainer', 'build', ...uncompressed, path.join(harness.folder, 'small.sif'), folder);
  assert.equal(await result(await succeed(harness), 'where.txt'), 'image\n');
});

test('twelve jobs of one run, materialized in parts, read CIFAR-10 through our plugin', async (t) => {
  const cifar = await publishedCifar(t);
  if (cifar === undefined) return;
  const harness = await condorHarness(
    t,
    {
      ...limitIdle(5),
      'updraft.toml': `
name = "twelve"
[train]
command = "python3 read.py {job} data"
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
    state.jobs.map(({ id }) => `data 200 ${id}\n`),
  );
});
