import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec } from './read-spec.ts';

const head = 'name = "x"\n[train]\ncommand = "t"\noutputs = ["o"]\n';

/** Each problem of lines in `[pool.submit]`, with its line and column in the whole file. */
function problemsOf(lines: string, pool = 'condor'): string[] {
  const reading = checkSpec(`${head}[run]\npool = "${pool}"\n[pool.submit]\n${lines}\n`, 'updraft.toml');
  const { problems = [] } = 'problems' in reading ? reading : {};
  return problems.map(({ line, column, key, message }) => `${line}:${column}: ${key}: ${message}`);
}

test('lines for the pool are accepted', () => {
  const lines = [
    'want_ospool = true',
    'accounting_group = "chtc.staff"',
    '"+WantGlidein" = true',
    '"MY.DesiredSites" = "A,B"',
    'priority = 3',
    'concurrency_limits = "license:2"',
    'use_oauth_services = "osdf"',
    'request_mps = 1',
  ];
  assert.deepEqual(problemsOf(lines.join('\n')), []);
  assert.deepEqual(problemsOf('reservation = "course"\nexclusive = true\nnice = 10', 'slurm'), []);
  assert.deepEqual(problemsOf('want_ospool = true', 'local'), []);
});

for (const [line, problem, pool] of [
  ['executable = "x"', /^8:1: pool\.submit\.executable: .* use train\.command instead/],
  ['Request_Memory = "1 GB"', /use resources\.memory instead/],
  ['requirements = "true"', /use run\.requirements instead/],
  ['"+ProjectName" = "p"', /use run\.project instead/],
  ['queue = 5', /use run\.jobs instead/],
  ['transfer_input_files = "a"', /writes this line itself, and recovery depends on it; remove it/],
  ['on_exit_remove = true', /remove it/],
  ['"MY.PeriodicHold" = true', /remove it/],
  ['"+UpdraftRun" = "other"', /remove it/],
  ['"+UserLog" = "x"', /remove it/],
  ['"+JobUniverse" = 7', /remove it/],
  ['"MY.LeaveJobInQueue" = true', /remove it/],
  ['"+JobLeaseDuration" = 1', /remove it/],
  ['"+NumJobStarts" = 9', /remove it/],
  ['"+AllowedExecuteDuration" = 5', /use resources\.time instead/],
  ['include = "x | sh"', /remove it/],
  ['"a b" = 1', /^8:1: .*cannot be used; expected a submit command/],
  ['"x @=end" = 1', /cannot be used/],
  ['accounting_group = "a\\nqueue 100"', /^8:20: .*line break/],
  ['accounting_group = "a\\\\"', /backslash/],
  ['accounting_group = "$(HOME)"', /macro/],
  ['accounting_group = "$ENV(HOME)"', /macro/],
  ['accounting_group = " "', /is empty/],
  ['accounting_group = ["a"]', /expected a string, a number, true or false/],
  ['mem = "3G"', /use resources\.memory instead/, 'slurm'],
  ['no-requeue = true', /remove it/, 'slurm'],
  ['partition = "gpu"', /use run\.partition instead/, 'slurm'],
  ['want_ospool = true', /expected a long sbatch option/, 'slurm'],
] as const)
  test(`${line} is refused${pool === undefined ? '' : ` on ${pool}`} with its place and what to do`, () => {
    const problems = problemsOf(line, pool);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', problem);
  });
