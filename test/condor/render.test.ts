import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { loadPlan } from '../../src/job/load-plan.ts';
import {
  adString,
  argumentsValue,
  environmentValue,
  literal,
} from '../../src/pool/condor/submit/submit-text.ts';
import { condorHarness, type CondorHarness } from './condor-harness.ts';

/** Attributes of the jobs that HTCondor's own condor_submit makes from a submit file. */
async function dryRun(harness: CondorHarness, description: string): Promise<Record<string, string>[]> {
  await writeFile(path.join(harness.folder, 'dry.sub'), description);
  const out = path.join(harness.folder, 'dry.out');
  await harness.tool('condor_submit', 'dry.sub', '-dry-run', out);
  const jobs = (await readFile(out, 'utf8')).split(/\n\s*\n/).map((ad) => {
    const lines = ad.split('\n').flatMap((line) => {
      const [, name, value] = /^(\w+)\s*=\s*(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, value ?? ''] as const];
    });
    return Object.fromEntries(lines);
  });
  return jobs.filter((job) => Object.keys(job).length > 0);
}

const rendered = async (t: TestContext, toml: string): Promise<Record<string, string> | undefined> =>
  (await renderedJobs(t, toml))?.[0];

async function renderedJobs(t: TestContext, toml: string): Promise<Record<string, string>[] | undefined> {
  const harness = await condorHarness(t, {
    'updraft.toml': `name = "r"\n[train]\ncommand = "true"\noutputs = ["o"]\n${toml}`,
    'image.sif': 'not really',
    'condor/updraft-job': '#!/bin/sh\n',
    updraft_plugin: '#!/bin/sh\n',
    'condor/inputs/image.sif': 'not really',
    'condor/inputs/image-2.sif': 'not really',
    'other.sif': 'not really',
  });
  if (harness === undefined) return undefined;
  const { files, shown = '' } = await harness.pool.render(
    await loadPlan(harness.folder, { cwd: harness.folder }),
    'r-1',
  );
  await writeFile(path.join(harness.folder, 'condor/jobs.items'), files['condor/jobs.items'] ?? '');
  return await dryRun(harness, files[shown] ?? '');
}

const oddText = fc
  .string({
    unit: fc.constantFrom(
      'a',
      ' ',
      '\t',
      '"',
      "'",
      '\\',
      '$',
      '(',
      ')',
      'x',
      ';',
      ',',
      '=',
      'é',
      '#',
      '%',
      '`',
    ),
  })
  .filter((text) => !/^\s*$/.test(text));

test('any arguments and variables reach the job unchanged', async (t) => {
  const harness = await condorHarness(t, {});
  if (harness === undefined) return;
  // All in one job, because starting the program is expensive.
  const words = fc.sample(oddText, { numRuns: 200, seed: 7 });
  const variables = Object.fromEntries(words.map((word, index) => [`V${index}`, word]));
  const [job] = await dryRun(
    harness,
    [
      'executable = /bin/true',
      `arguments = ${argumentsValue(words)}`,
      `environment = ${environmentValue(variables)}`,
      ...words.map((word, index) => `MY.Odd${index} = ${adString(word.replaceAll('\\', ''))}`),
      'queue\n',
    ].join('\n'),
  );
  // What HTCondor expands when the job is matched must survive until then.
  const expected = words.map((word) => word.replace(/\$\$(?=\w*\()/g, () => '$$(DOLLARDOLLAR)'));
  assert.deepEqual(readArguments(unquoted(job?.['Arguments'] ?? '')), expected);
  const set = readArguments(unquoted(job?.['Environment'] ?? '')).sort();
  assert.deepEqual(set, expected.map((word, index) => `V${index}=${word}`).sort());
  for (const [index, word] of expected.entries())
    assert.equal(unquoted(job?.[`Odd${index}`] ?? ''), word.replaceAll('\\', ''));
});

/** A ClassAd string's text. */
const unquoted = (text: string): string => text.replace(/^"|"$/g, '').replaceAll('\\"', '"');

/** Splits arguments in HTCondor's raw new syntax. */
function readArguments(raw: string): string[] {
  const words = [...raw.matchAll(/(?:[^\s']|'(?:[^']|'')*')+/g)].map(([word]) => word);
  return words.map((word) =>
    word.replace(/'((?:[^']|'')*)'/g, (_, inner: string) => inner.replaceAll("''", "'")),
  );
}

test('a line break is refused in a submit file', () => {
  assert.throws(() => literal('a\nb'), /line break/);
});

test('resources are requested with their units, and GPUs with all their minimums', async (t) => {
  const job = await rendered(
    t,
    `[resources]
cpus = 3
gpus = 2
gpu = { capability = 7.5, memory = "16 GB", cuda = "12.1" }
memory = "3 GB"
disk = "5 GB"
time = "2h"
[run]
pool = "condor"
requirements = "TARGET.HasAVX2 =?= true"`,
  );
  if (job === undefined) return;
  assert.equal(job['RequestCpus'], '3');
  const memory = `^min\\(\\{ ?${Math.ceil(12e9 / 2 ** 20)},${Math.ceil(3e9 / 2 ** 20)} \\* pow\\(2,`;
  assert.match(job['RequestMemory'] ?? '', new RegExp(memory));
  const asked = Math.ceil(5.17e9 / 2 ** 10);
  const max = Math.ceil((4 * 5e9 + 0.17e9) / 2 ** 10);
  assert.match(
    job['RequestDisk'] ?? '',
    new RegExp(`^min\\(\\{ ?${max},${asked} \\* pow\\(2,.*ExitCode =\\?= 107`),
  );
  assert.equal(job['RequestGPUs'], '2');
  assert.equal(job['GPUsMinCapability'], '7.5');
  assert.equal(job['GPUsMinMemory'], '15259');
  assert.equal(job['GPUsMinRuntime'], '12010');
  assert.match(job['Requirements'] ?? '', /HasAVX2 =\?= true/);
  assert.match(job['Requirements'] ?? '', /countMatches/);
  assert.equal(job['AllowedExecuteDuration'], String(2 * 3600 * 1.1 + 600));
  assert.match(job['PeriodicRelease'] ?? '', /^UpdraftFailures < 5 && /);
  assert.equal(job['JobMaxRetries'], undefined);
});

for (const [image, expected] of [
  ['docker://python:3.12', { ContainerImage: '"docker://python:3.12"', WantDockerImage: 'true' }],
  ['oras://example.org/x:1', { ContainerImage: '"oras://example.org/x:1"' }],
  ['osdf:///a/img.sif', { ContainerImage: '"img.sif"', WantSIF: 'true' }],
  ['image.sif', { ContainerImage: '"image.sif"', WantSIF: 'true' }],
  ['/cvmfs/x/y', { ContainerImage: '"/cvmfs/x/y"', WantSandboxImage: 'true' }],
] as const)
  test(`the image ${image} is requested`, async (t) => {
    const job = await rendered(t, `[environment]\nimage = "${image}"\n[run]\npool = "condor"\n`);
    if (job === undefined) return;
    assert.equal(job['WantContainer'], 'true');
    for (const [name, value] of Object.entries(expected)) assert.equal(job[name], value, name);
  });

test('each method requests its data in its own way', async (t) => {
  const job = await rendered(
    t,
    `[data.n]
url = "file://${path.resolve(import.meta.filename)}"
into = "n"
[data.h]
url = "https://example.org/a,b.tar?x=1"
into = "h"
method = "https"
[data.o]
url = "osdf:///ns/o.tar"
into = "o"
method = "osdf"
[data.s]
url = "osdf:///ns/s.tar"
into = "s"
[run]
pool = "condor"
`,
  );
  if (job === undefined) return;
  const inputs = unquoted(job['TransferInput'] ?? '').split(',');
  assert.ok(inputs.includes('condor/inputs/data.n'));
  assert.ok(inputs.includes('https://example.org/a%2Cb.tar?x=1'));
  assert.ok(inputs.includes('osdf:///ns/o.tar'));
  assert.ok(!inputs.some((name) => name.includes('s.tar')));
  assert.match(job['TransferPlugins'] ?? '', /osdf,pelican,stash,https,http=updraft_plugin/);
});

test('jobs for the OSPool and CHTC have the attributes they require', async (t) => {
  const ospool = await rendered(
    t,
    '[resources]\ntime = "15h"\n[run]\npool = "condor"\nprofile = "ospool"\nproject = "My-P"\n',
  );
  if (ospool === undefined) return;
  assert.equal(ospool['ProjectName'], '"My-P"');
  assert.equal(ospool['JobDurationCategory'], '"Long"');
  const chtc = await rendered(
    t,
    '[resources]\ngpus = 1\ntime = "20h"\n[run]\npool = "condor"\nprofile = "chtc"\n',
  );
  if (chtc === undefined) return;
  assert.equal(chtc['WantGPULab'], 'true');
  assert.equal(chtc['GPUJobLength'], '"medium"');
});

test('lines of [pool.submit] reach the job in the queue', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': `name = "own"
[train]
command = "true"
outputs = ["o"]
[run]
pool = "condor"
requirements = 'TARGET.Machine == "none"'
[pool.submit]
want_ospool = true
accounting_group = "group_physics"
"+WantGlidein" = true
"+DesiredSites" = 'A, "B"'
"MY.Weight" = 1.5
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  const constraint = `UpdraftRun == "${path.basename(run)}"`;
  const names = ['AcctGroup', 'WantGlidein', 'DesiredSites', 'Weight'];
  const queued = await harness.tool('condor_q', '-constraint', constraint, '-af:r', ...names);
  assert.equal(queued.trim(), String.raw`"group_physics" true "A, \"B\"" 1.5`);
  await harness.tool('condor_rm', '-constraint', constraint);
});

test('jobs that differ are one submission, and each is the job that a file of its own would give', async (t) => {
  const cell = (
    image: string,
    method: string,
    gpus: string,
    memory: string,
    site: string,
    run: string,
  ): string => `
[environment]
image = "${image}"
[data.set]
url = "osdf:///public/set-${gpus}.tar"
method = "${method}"
[resources]
gpus = ${gpus}
memory = "${memory}"
${run}
requirements = 'TARGET.Site == "${site}"'
`;
  const matrix = `[run]\npool = "condor"\nmatrix = { image = ["image.sif", "other.sif"], method = ["osdf", "stream"], gpus = [1, 0] }`;
  const jobs = await renderedJobs(
    t,
    cell('{image}', '{method}', '"{gpus}"', '{gpus}500 MB', 's{gpus}', matrix).replace(
      'set-"{gpus}"',
      'set-{gpus}',
    ),
  );
  if (jobs === undefined) return;
  assert.equal(jobs.length, 8);
  // What names the job itself, was made at another time or in another folder, or is sent if any job needs it.
  const own =
    /^(ProcId|JobDescription|UpdraftJob|QDate|GlobalJobId|EnteredCurrentStatus|Cmd|Iwd|UserLog|CompletionDate|TransferPlugins)$/;
  const comparable = (job: Record<string, string> = {}): string[] =>
    Object.entries(job)
      .filter(([name]) => !own.test(name))
      .map(
        ([name, value]) =>
          `${name} = ${value
            .replaceAll(/0\d{3}\b/g, 'ID')
            .replace('HasJobTransferPlugins', 'HasFileTransfer')
            .replaceAll('image-2.sif', 'image.sif')}`,
      )
      .sort();
  for (const [index, image, method, gpus] of [
    [0, 'image.sif', 'osdf', '1'],
    [6, 'image.sif', 'stream', '0'],
    [3, 'other.sif', 'stream', '1'],
  ] as const) {
    const alone = await rendered(
      t,
      cell(image, method, gpus, `${gpus}500 MB`, `s${gpus}`, '[run]\npool = "condor"'),
    );
    // Of all jobs but the first, only what differs from it is shown.
    assert.deepEqual(
      comparable({ ...jobs[0], ...jobs[index] }).filter((line) => line !== 'RequestGPUs = 0'),
      comparable(alone),
      `${image} ${method} ${gpus}`,
    );
  }
});
