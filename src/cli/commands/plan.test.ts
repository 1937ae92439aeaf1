import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { loadPlan } from '../../job/load-plan.ts';
import * as plan from './plan.ts';

const files = {
  'updraft.toml': `name = "sweep"
[train]
command = "python3 t.py --lr {lr}"
files = ["t.py"]
outputs = ["m.pt"]
check = "python3 c.py"
checkpoint = "ck"
quiet_limit = "90s"
[data.cifar]
url = "osdf:///a/b.tar.gz"
expect = { files = 7 }
[environment]
python = ["torch"]
[resources]
gpus = 2
time = "10h"
[run]
jobs = 3
matrix = { lr = [0.1, 0.01] }
`,
  't.py': '12345',
};

test('plan prints what is sent and run, where, and why', async (t) => {
  const cwd = await temporaryFolder(t, files);
  const { out, err } = await runCommand(plan, [], { cwd });
  const expected = [
    /^sweep: 6 jobs on the pool "local"$/m,
    /jobs +6 jobs, every combination of lr, each 3 times/,
    /0000 lr=0\.1: python3 t\.py --lr 0\.1$/m,
    /and 1 more \(--json shows all\)/,
    /files +1 file, 5 B, sent with every job/,
    /cifar: osdf:\/\/\/a\/b\.tar\.gz -> data\/ \(unpack: auto\)/,
    /stream: the agent fetches it/,
    /must match: 7 files/,
    /with the Python modules torch/,
    /1 CPU, 2 GPUs, 2 GB memory, 11 GB disk, at most 10h per attempt/,
    /disk: 1 GB for outputs, checkpoints and logs \+/,
    /m\.pt must exist, be newer/,
    /and `python3 c\.py` exits with 0/,
    /ended as hung after 1m30s without output or CPU use/,
    /runs\/sweep-<id>\/results\/<job>\//,
  ];
  for (const words of expected) assert.match(out, words);
  assert.match(err, /next:\n {2}updraft run /);
});

const search = `name = "tune"
[train]
command = "python3 t.py --lr {lr}"
files = ["t.py"]
outputs = ["m.pt"]
checkpoint = "ck"
[run]
pool = "condor"
[search]
trials = 60
metric = "val_accuracy"
epochs = [1, 3, 9, 27]
ranges = { lr = { log = [1e-5, 0.1] } }
`;

test('plan says whether a search decides by notes or in rounds, what that costs, and how hours become known', async (t) => {
  const silent = 'like = "mini"\nchirp = false\n';
  const cwd = await temporaryFolder(t, {
    ...{ 'updraft.toml': search, 't.py': '', '.config/updraft/pools/silent.toml': silent },
  });
  const env = { HOME: cwd, PATH: '/none' };
  const notes = (await runCommand(plan, ['--set', 'run.profile=mini'], { cwd, env })).out.replaceAll(
    /\s+/g,
    ' ',
  );
  assert.match(notes, /about 193 epochs are expected, 12 % of the 1620 of all trials in full/);
  assert.match(notes, /each trial decides at its rung/);
  assert.match(notes, /in slot hours: once a run of this name/);
  const rounds = (await runCommand(plan, ['--set', 'run.profile=silent'], { cwd, env })).out.replaceAll(
    /\s+/g,
    ' ',
  );
  assert.match(rounds, /rung 1 \(epoch 1\): of about 60 go on 20 rung 2 \(epoch 3\): of about 20 go on 6/);
  assert.match(rounds, /about 172 epochs are expected, 11 % of the 1620/);
  assert.match(
    rounds,
    /rungs are rounds, because jobs of this pool share no notes \(`chirp = false` in its profile\)/,
  );
  assert.match(rounds, /the slowest trial of each round, and about 28 starts more, from checkpoints/);
  assert.doesNotMatch(rounds, /each trial decides/);
});

test('with --json the plan is complete, and the same every time', async (t) => {
  const cwd = await temporaryFolder(t, files);
  const { out, err } = await runCommand(plan, ['--json'], { cwd });
  assert.deepEqual(JSON.parse(out), await loadPlan(cwd));
  assert.equal((await runCommand(plan, ['--json'], { cwd })).out, out);
  assert.equal(err, '');
});

test('a multi-line command cannot disturb the screen', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml': 'name = "x"\n[train]\noutputs = ["m"]\ncommand = "a \\u001b[2J\\nb"\n',
  });
  const { out } = await runCommand(plan, [], { cwd });
  assert.doesNotMatch(out, /\u001b/);
  assert.match(out, /run +a .*b$/m);
});

test('of many kinds of jobs, what is done about a failure is common only if it is that of all', async (t) => {
  const memory = [...Array.from({ length: 30 }, () => 1), 16];
  const cwd = await temporaryFolder(t, {
    'updraft.toml': `name = "many"
[train]
command = "t"
outputs = ["m"]
[resources]
memory = "{gb} GB"
cpus = "{cpus}"
[run]
matrix = { way = [${memory.map((gb, index) => `{ gb = ${gb}, cpus = ${index + 1} }`).join(', ')}] }
`,
  });
  const { out } = await runCommand(plan, [], { cwd });
  const failure = out.slice(out.indexOf('  failure'), out.indexOf('  results'));
  assert.match(failure, /a job is given up after \d+ failed attempts/);
  assert.doesNotMatch(failure, /out of memory/);
  assert.match(failure, /see "differ"/);
  assert.match(out, /cpus=1: 1 job\n[^]*out of memory: tried again with 2 GB/);
});

test('copies are asked for by --jobs', async (t) => {
  const file = 'name = "n"\n[train]\ncommand = "sh t.sh"\nfiles = ["t.sh"]\noutputs = ["m"]\n';
  const cwd = await temporaryFolder(t, { 'updraft.toml': file, 't.sh': '' });
  assert.match((await runCommand(plan, ['--jobs', '10'], { cwd })).out, /^n: 10 jobs/);
});
