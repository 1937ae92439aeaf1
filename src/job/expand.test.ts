import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillJob, listJobs } from './expand.ts';
import { readSpec } from './read-spec.ts';

const jobsOf = (train: string, run: string) => {
  const text = `name = "x"\n[train]\noutputs = ["m-{index}.pt"]\n${train}\n[run]\n${run}`;
  const spec = readSpec(text, 'updraft.toml');
  return listJobs(spec.run).map((job) => fillJob(spec.train, job));
};

test('without a matrix, jobs are numbered copies', () => {
  const jobs = jobsOf('command = "train --seed {index} --id {job}"', 'jobs = 3');
  assert.deepEqual(
    jobs.map(({ id, train }) => [id, train.command, train.outputs[0]]),
    [
      ['0000', 'train --seed 0 --id 0000', 'm-0.pt'],
      ['0001', 'train --seed 1 --id 0001', 'm-1.pt'],
      ['0002', 'train --seed 2 --id 0002', 'm-2.pt'],
    ],
  );
});

test('a matrix gives every combination `jobs` times, in turns', () => {
  const jobs = jobsOf(
    'command = "t {lr} {opt}"',
    'jobs = 2\nmatrix = { lr = [0.1, 1e-7], opt = ["sgd", "a b"] }',
  );
  assert.deepEqual(
    jobs.map(({ train }) => train.command),
    [
      ...['t 0.1 sgd', "t 1e-7 'a b'", "t 0.1 'a b'", 't 1e-7 sgd'],
      ...['t 0.1 sgd', "t 1e-7 'a b'", "t 0.1 'a b'", 't 1e-7 sgd'],
    ],
  );
  assert.deepEqual(jobs[5]?.parameters, { lr: 1e-7, opt: 'a b' });
  assert.equal(new Set(jobs.map(({ id }) => id)).size, 8);
});

test('every prefix of the queue has each value of a parameter equally often, give or take one job', () => {
  const matrices = [
    { a: 3, b: 5 },
    { a: 4, b: 3, c: 2 },
    { a: 4, b: 4 },
    { a: 6, b: 4, c: 9, d: 1 },
    { a: 7 },
  ];
  for (const sizes of matrices) {
    const entries = Object.entries(sizes).map(([name, size]) => [
      name,
      Array.from({ length: size }, (_, at) => at),
    ]);
    const matrix = Object.fromEntries(entries) as Record<string, number[]>;
    for (const repeat of [undefined, 2]) {
      const jobs = listJobs({ jobs: 1, matrix, ...(repeat === undefined ? {} : { repeat }) });
      const size = Object.values(sizes).reduce((product, each) => product * each);
      assert.equal(
        new Set(jobs.map(({ parameters }) => JSON.stringify(parameters))).size,
        size * (repeat ?? 1),
      );
      for (const [name, values] of Object.entries(matrix)) {
        const counts = values.map(() => 0);
        for (const { parameters } of jobs) {
          counts[Number(parameters[name])]! += 1;
          const spread = Math.max(...counts) - Math.min(...counts);
          assert.ok(spread <= 1, `${name} of ${JSON.stringify(sizes)}: ${counts.join(' ')}`);
        }
      }
    }
  }
});

test('entries of a group stay together in the queue', () => {
  const way = [
    { method: 'osdf', url: 'a' },
    { method: 'https', url: 'b' },
  ];
  const jobs = listJobs({ jobs: 1, matrix: { way, lr: [1, 2] } });
  assert.deepEqual(
    jobs.map(({ parameters: { method, url, lr } }) => `${String(method)} ${String(url)} ${String(lr)}`),
    ['osdf a 1', 'https b 2', 'osdf a 2', 'https b 1'],
  );
});

test('values of names with dots and hyphens reach the command and variables', () => {
  const [job] = jobsOf(
    'command = "t optim.lr={optim.lr} {batch-size}"',
    'matrix = { "optim.lr" = [0.1], batch-size = ["8 9"] }',
  );
  assert.equal(job?.train.command, "t optim.lr=0.1 '8 9'");
  assert.equal(job.train.env['UPDRAFT_PARAM_OPTIM_LR'], '0.1');
  assert.equal(job.train.env['UPDRAFT_PARAM_BATCH_SIZE'], '8 9');
});

test('parameters reach check, outputs and variables, and the job gets its id and index', () => {
  const [, job] = jobsOf(
    'command = "t"\ncheck = "c {lr}"\nenv = { RATE = "r={lr}", FIXED = 4 }',
    'matrix = { lr = [1, true] }',
  );
  assert.ok(job);
  assert.equal(job.train.check, 'c true');
  assert.deepEqual(job.train.env, {
    RATE: 'r=true',
    FIXED: '4',
    UPDRAFT_JOB: '0001',
    UPDRAFT_INDEX: '1',
    UPDRAFT_PARAM_LR: 'true',
  });
});
