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
    'less memory later than at first',
    '[resources]\nmemory = "8 GB"\n[recovery]\nmemory_max = "4 GB"\n',
    /^4: recovery\.memory_max: "4 GB" is less than memory = "8 GB".*expected as much or more/,
  ],
  [
    'less disk later than at first',
    '[resources]\ndisk = "8 GB"\n[recovery]\ndisk_max = "4 GB"\n',
    /^4: recovery\.disk_max: .*less than disk/,
  ],
  [
    'giving up before one attempt can end',
    '[resources]\ntime = "10h"\n[recovery]\ngive_up_after = "1h"\n',
    /^4: recovery\.give_up_after: "1h" is shorter than the time = "10h" of a single attempt/,
  ],
  [
    'more failed jobs than there are',
    '[run]\njobs = 2\nmatrix = { a = [1, 2] }\n[recovery]\nfailed_jobs = 5\n',
    /^5: recovery\.failed_jobs: 5 can never be reached: the run has 4 jobs/,
  ],
  [
    'more memory for a retry that is not allowed',
    '[run]\nattempts = 1\n[recovery]\nmemory_max = "99 GB"\n',
    /^4: recovery\.memory_max: .*run\.attempts = 1 allows none; expected attempts = 2 or more/,
  ],
  [
    'a budget of no attempt at all',
    '[run]\nattempts = 0\n',
    /^2: run\.attempts: is 0; expected a whole number of attempts \(1 is one try and no other\), 1 to 100/,
  ],
  ['a budget of no failed job', '[recovery]\nfailed_jobs = 0\n', /^2: recovery\.failed_jobs: is 0; expected/],
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
