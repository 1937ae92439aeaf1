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

test('what a pool needs is taken as it is', () => {
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
  ['transfer_input_files = "a"', /writes this line itself, and its recovery rests on it; take it out/],
  ['on_exit_remove = true', /take it out/],
  ['"MY.PeriodicHold" = true', /take it out/],
  ['"+UpdraftRun" = "other"', /take it out/],
  ['"+UserLog" = "x"', /take it out/],
  ['"+JobUniverse" = 7', /take it out/],
  ['"MY.LeaveJobInQueue" = true', /take it out/],
  ['"+JobLeaseDuration" = 1', /take it out/],
  ['"+NumJobStarts" = 9', /take it out/],
  ['"+AllowedExecuteDuration" = 5', /use resources\.time instead/],
  ['include = "x | sh"', /take it out/],
  ['"a b" = 1', /^8:1: .*cannot be used; expected a command of a submit file/],
  ['"x @=end" = 1', /cannot be used/],
  ['accounting_group = "a\\nqueue 100"', /^8:20: .*line break/],
  ['accounting_group = "a\\\\"', /backslash/],
  ['accounting_group = "$(HOME)"', /macro/],
  ['accounting_group = "$ENV(HOME)"', /macro/],
  ['accounting_group = " "', /is empty/],
  ['accounting_group = ["a"]', /expected a text, a number, true or false/],
  ['mem = "3G"', /use resources\.memory instead/, 'slurm'],
  ['no-requeue = true', /take it out/, 'slurm'],
  ['partition = "gpu"', /use run\.partition instead/, 'slurm'],
  ['want_ospool = true', /expected a long option of sbatch/, 'slurm'],
] as const)
  test(`${line} is refused${pool === undefined ? '' : ` on ${pool}`} with its place and what to do`, () => {
    const problems = problemsOf(line, pool);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', problem);
  });
