import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec } from './read-spec.ts';

const head = 'name = "x"\n[train]\ncommand = "t"\noutputs = ["o"]\n';

const problemsOf = (toml: string): string[] => {
  const reading = checkSpec(head + toml, 'updraft.toml');
  return 'problems' in reading
    ? reading.problems.map(({ line, key, message }) => `${line - 4}: ${key}: ${message}`)
    : [];
};

for (const [what, toml, problem] of [
  [
    'a memory limit below the first request',
    '[resources]\nmemory = "8 GB"\n[recovery]\nmemory_max = "4 GB"\n',
    /^4: recovery\.memory_max: "4 GB" is less than memory = "8 GB" of the first attempt; expected at least that much/,
  ],
  [
    'a disk limit below the first request',
    '[resources]\ndisk = "8 GB"\n[recovery]\ndisk_max = "4 GB"\n',
    /^4: recovery\.disk_max: .*less than disk/,
  ],
  [
    'giving up before an attempt can end',
    '[resources]\ntime = "10h"\n[recovery]\ngive_up_after = "1h"\n',
    /^4: recovery\.give_up_after: "1h" is shorter than time = "10h" of a single attempt/,
  ],
  [
    'more failed jobs than there are',
    '[run]\njobs = 2\nmatrix = { a = [1, 2] }\n[recovery]\nfailed_jobs = 5\n',
    /^5: recovery\.failed_jobs: 5 can never be reached: the run has 4 jobs/,
  ],
  [
    'more memory for a retry that never comes',
    '[run]\nattempts = 1\n[recovery]\nmemory_max = "99 GB"\n',
    /^4: recovery\.memory_max: .*run\.attempts = 1 allows none; set attempts to 2 or more/,
  ],
  [
    'a run without attempts',
    '[run]\nattempts = 0\n',
    /^2: run\.attempts: is 0; expected a whole number of attempts \(1 means no retry\), 1 to 100/,
  ],
  ['a limit of no failed jobs', '[recovery]\nfailed_jobs = 0\n', /^2: recovery\.failed_jobs: is 0; expected/],
] as const)
  test(`${what} is refused with its line and what to do`, () => {
    const problems = problemsOf(toml);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', problem);
  });

test('rules that fit together are accepted', () => {
  assert.deepEqual(
    problemsOf(
      '[resources]\nmemory = "2 GB"\ntime = "1h"\n[run]\njobs = 3\n[recovery]\navoid = "machine"\nmemory_max = "2 GB"\ngive_up_after = "1h"\nfailed_jobs = 3\n',
    ),
    [],
  );
});
