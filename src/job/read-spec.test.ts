import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec, readSpec } from './read-spec.ts';
import { SpecFault } from './source-file.ts';

const good = `name = "x"\n[train]\ncommand = "train"\noutputs = ["m.pt"]\n`;

/** `line:column key: message` of every problem. */
function problemsOf(text: string, file = 'updraft.toml'): string[] {
  const reading = checkSpec(text, file);
  assert.ok('problems' in reading, 'expected problems');
  return reading.problems.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`);
}

/** Asserts that these lines in a valid file cause exactly one problem, at this place and with these words. */
function assertProblem(lines: string, place: string, words: RegExp): void {
  const [problem = '', ...others] = problemsOf(good + lines);
  assert.deepEqual(others, []);
  assert.ok(problem.startsWith(`${place}: `), problem);
  assert.match(problem, words);
}

test('all values of a file are read, with units converted to numbers', () => {
  const spec = readSpec(
    `name = "imagenet"
[train]
command = "python3 main.py"
files = ["main.py", "./lib/"]
outputs = ["out/model.pt"]
check = "python3 check.py"
checkpoint = "checkpoints/"
quiet_limit = "30m"
env = { A = "b", N = 4, T = true }
[data.train]
url = "osdf:///a/b.tar"
into = "data"
unpack = "nested"
method = "stream"
expect = { files = 3, bytes = 10 }
sha256 = "${'AB'.repeat(32)}"
manifest = "m.json"
token_file = "~/token"
[environment]
image = "osdf:///image.sif"
python = ["torch", "torch.nn"]
[resources]
cpus = 4
gpus = 1
memory = "16 GB"
disk = "1 TiB"
time = "10h"
[run]
jobs = 100
matrix = { lr = [0.1, "a", true] }
pool = "condor"
attempts = 5
`,
    'updraft.toml',
  );
  assert.deepEqual(spec, {
    name: 'imagenet',
    train: {
      command: 'python3 main.py',
      files: ['main.py', 'lib'],
      outputs: ['out/model.pt'],
      check: 'python3 check.py',
      checkpoint: 'checkpoints',
      quietLimitSeconds: 1800,
      env: { A: 'b', N: '4', T: 'true' },
    },
    data: [
      {
        name: 'train',
        url: 'osdf:///a/b.tar',
        into: 'data',
        unpack: 'nested',
        method: 'stream',
        expect: { files: 3, bytes: 10 },
        sha256: 'ab'.repeat(32),
        manifest: 'm.json',
        tokenFile: '~/token',
      },
    ],
    environment: { image: 'osdf:///image.sif', python: ['torch', 'torch.nn'] },
    resources: { cpus: 4, gpus: 1, memoryBytes: 16e9, diskBytes: 2 ** 40, timeSeconds: 36_000 },
    run: { jobs: 100, matrix: { lr: [0.1, 'a', true] }, pool: 'condor', attempts: 5 },
    recovery: { avoid: 'site' },
  });
});

test('omitted keys get their defaults, and optional ones stay absent', () => {
  assert.deepEqual(readSpec(`${good}[data.d]\nurl = "https://h/x.zip"\n`, 'updraft.toml'), {
    name: 'x',
    train: { command: 'train', files: [], outputs: ['m.pt'], env: {} },
    data: [{ name: 'd', url: 'https://h/x.zip', into: 'data', unpack: 'auto', method: 'auto', expect: {} }],
    environment: { python: [] },
    resources: { cpus: 1, gpus: 0, memoryBytes: 2e9, diskBytes: 'auto' },
    run: { jobs: 1, matrix: {}, pool: 'local', attempts: 5 },
    recovery: { avoid: 'site' },
  });
});

test('the same file as YAML reads as the same spec', () => {
  const yaml = `name: x
train:
  command: train {lr}
  outputs: [m.pt]
  quiet_limit: 90s
run:
  matrix: { lr: [0.1, 0.01] }
`;
  const toml = `${good.replace('train"', 'train {lr}"')}quiet_limit = "90s"\n[run]\nmatrix = { lr = [0.1, 0.01] }\n`;
  assert.deepEqual(readSpec(yaml, 'updraft.yaml'), readSpec(toml, 'updraft.toml'));
  assert.deepEqual(readSpec(yaml, 'updraft.yml'), readSpec(toml, 'updraft.toml'));
});

test('byte order marks and Windows line ends are read, dotted and quoted keys too', () => {
  const text = `\uFEFFname = "x"\r\ntrain.command = "a"\r\n"train".outputs = ["b"]\r\n`;
  assert.equal(readSpec(text, 'updraft.toml').train.command, 'a');
});

test('one fault lists every problem with file, line, column, key, what was expected and the nearest key', () => {
  const text = `nmae = "x"

[train]
comand = "python3 train.py"
outputs = ["/m.pt"]

[resources]
memory = 16
`;
  assert.throws(
    () => readSpec(text, 'jobs/updraft.toml'),
    (error: unknown) => {
      assert.ok(error instanceof SpecFault);
      assert.equal(error.kind, 'file-invalid');
      assert.equal(error.problems.length, 6);
      const lines = error.message.split('\n');
      assert.equal(lines[0], '6 problems in jobs/updraft.toml');
      for (const line of lines.slice(1)) assert.match(line, /^jobs\/updraft\.toml:\d+:\d+: [\w.[\]]+: ./);
      assert.match(error.message, /:1:1: nmae: no such key; .*\(did you mean "name"\?\)/);
      assert.match(error.message, /:3:2: train\.command: is missing; expected/);
      assert.match(error.message, /:4:1: train\.comand: no such key; .*\(did you mean "command"\?\)/);
      assert.match(error.message, /:5:12: train\.outputs\[0\]: is "\/m\.pt"; expected a relative path/);
      assert.match(error.message, /:8:10: resources\.memory: is 16 without a unit; add a unit/);
      return true;
    },
  );
});

test('the message for missing outputs says why a job needs them', () => {
  assert.match(
    problemsOf('name = "x"\n[train]\ncommand = "a"\n')[0] ?? '',
    /^2:2 train\.outputs: is missing; .*prove its success/,
  );
  assert.match(
    problemsOf('name = "x"\n[train]\ncommand = "a"\noutputs = []\n')[0] ?? '',
    /^4:11 .*prove its success/,
  );
});

test('an empty TOML or YAML file reports the missing keys', () => {
  for (const file of ['updraft.toml', 'updraft.yaml'])
    assert.deepEqual(
      problemsOf('', file).map((problem) => problem.replace(/;.*/, '')),
      ['1:1 name: is missing', '1:1 train: is missing'],
    );
});

test('a key of another table or of another tool gets a hint', () => {
  assertProblem(
    '[resources]\nrequest_memory = "1 GB"\n',
    '6:1 resources.request_memory',
    /did you mean "resources.memory"/,
  );
  assertProblem(
    '[data.d]\nurl = "file:///x"\nunpack = "tar.xz"\n',
    '7:10 data.d.unpack',
    /"tar\.xz".*\(repack it: xz -dc data\.tar\.xz \| zstd/,
  );
  assertProblem('lr = 1\n[run.matrix]\nlr = [1]\n', '5:1 train.lr', /did you mean "run\.matrix\.lr"/);
  assertProblem('[run]\nmemory = "1 GB"\n', '6:1 run.memory', /did you mean "resources.memory"/);
  assertProblem('[data.d]\nurl = "osdf:///a/b"\nurll = "x"\n', '7:1 data.d.urll', /did you mean "url"/);
  assertProblem(
    '[data.d]\nurl = "osdf:///a/b"\nexpect = { file = 3 }\n',
    '7:12 data.d.expect.file',
    /did you mean "files"/,
  );
});

test('wrong units, types, ranges and words are each named with what was expected', () => {
  assertProblem(
    '[resources]\nmemory = "16 GX"\n',
    '6:10 resources.memory',
    /"16 GX"; expected a size with a unit/,
  );
  assertProblem('[resources]\nmemory = "0 GB"\n', '6:10 resources.memory', /expected a size/);
  assertProblem('[resources]\nmemory = "16"\n', '6:10 resources.memory', /add a unit.*did you mean "16 GB"/);
  assertProblem('[resources]\ntime = 10\n', '6:8 resources.time', /expected a duration.*add a unit/);
  assertProblem('[resources]\ntime = "10 lightyears"\n', '6:8 resources.time', /expected a duration/);
  assertProblem('[resources]\ntime = 2026-01-01\n', '6:8 resources.time', /is a date; expected a duration/);
  assertProblem('[resources]\ncpus = 1.5\n', '6:8 resources.cpus', /is 1.5; expected a whole number of CPUs/);
  assertProblem('[resources]\ncpus = "4"\n', '6:8 resources.cpus', /is "4"; expected a whole number/);
  assertProblem('[run]\njobs = 0\n', '6:8 run.jobs', /is 0; expected a whole number of jobs, 1 to/);
  assertProblem(
    '[run]\npool = "htcondor"\n',
    '6:8 run.pool',
    /expected one of "local", "condor", "slurm" \(did you mean "condor"\?\)/,
  );
  assertProblem(
    '[environment]\npython = "torch"\n',
    '6:10 environment.python',
    /is "torch"; expected a list of Python modules/,
  );
  assertProblem('data = 3\n', '5:1 train.data', /no such key/);
});

test('URLs of other schemes, without an object or with a credential are refused', () => {
  const data = (url: string): string => `[data.d]\nurl = "${url}"\n`;
  assertProblem(data('ftp://h/x'), '6:7 data.d.url', /osdf:\/\/, pelican:\/\//);
  assert.ok('spec' in checkSpec(good + data('../data/images'), 'updraft.toml'), 'a path is no URL');
  assertProblem(data('https://h/'), '6:7 data.d.url', /names no object/);
  for (const url of ['https://u:secret@h/x', 'https://h/x?authz=secret']) {
    assertProblem(data(url), '6:7 data.d.url', /contains a credential; .*token_file/);
    assert.doesNotMatch(problemsOf(good + data(url)).join(''), /secret/);
  }
  assert.ok('spec' in checkSpec(good + data('igwn+osdf:///a/b'), 'updraft.toml'));
});

test('nothing may point outside the folder', () => {
  const paths = ['/abs', '../up', 'a/../../b', '.', '', '~/x', 'a/..'];
  for (const path of paths) {
    const text = `name = "x"\n[train]\ncommand = "a"\noutputs = ["${path}"]\nfiles = ["${path}"]\ncheckpoint = "${path}"\n[data.d]\nurl = "osdf:///a/b"\ninto = "${path}"\n`;
    const keys = problemsOf(text).map((problem) => problem.split(' ')[1]);
    assert.deepEqual(
      keys,
      ['train.outputs[0]:', 'train.files[0]:', 'train.checkpoint:', 'data.d.into:'],
      path,
    );
  }
});

test('a parameter may not lead an output out of its folder', () => {
  const text = good.replace('m.pt', '{p}/m.pt') + '[run]\nmatrix = { p = ["a", ".."] }\n';
  assert.match(problemsOf(text)[0] ?? '', /^4:12 train\.outputs\[0\]: becomes "\.\.\/m\.pt"/);
});

test('placeholders must name a parameter, in a place where quoting is safe', () => {
  const run = '[run]\nmatrix = { epochs = [1] }\n';
  const command = (text: string): string => good.replace('"train"', JSON.stringify(text)) + run;
  assert.match(
    problemsOf(command('t {epoch}'))[0] ?? '',
    /^3:11 .*\{epoch\} is not a parameter.*did you mean "\{epochs\}"/,
  );
  assert.match(problemsOf(command("awk '{print $1}'"))[0] ?? '', /a lone "\{"; write "\{\{"/);
  assert.match(problemsOf(command('echo `echo {epochs}`'))[0] ?? '', /\$UPDRAFT_PARAM_EPOCHS/);
  assert.ok('spec' in checkSpec(command('t {epochs} {job} {index} ${HOME} {{x}}'), 'updraft.toml'));
  assertProblem('check = "c {lr}"\n', '5:9 train.check', /a new one in \[run\], like matrix = \{ lr = /);
  assertProblem('env = { A = "{b}" }\n', '5:13 train.env.A', /\{b\} is not a parameter/);
  assertProblem('check = "c {b}"\n', '5:9 train.check', /\{b\} is not a parameter/);
});

test('names with dots and hyphens are parameters too, and unknown ones are named', () => {
  const run = '[run.matrix]\n"model.optimizer.lr" = [0.1]\n"batch-size" = [8]\n';
  const command = (text: string): string => good.replace('"train"', JSON.stringify(text)) + run;
  const fine = command('t model.optimizer.lr={model.optimizer.lr} -b {batch-size}');
  assert.ok('spec' in checkSpec(fine, 'updraft.toml'));
  assert.match(
    problemsOf(command('t {model.optimiser.lr}'))[0] ?? '',
    /^3:11 .*\{model\.optimiser\.lr\} is not a parameter.* \{ "model\.optimiser\.lr" = \[1, 2\] \}, or \{\{model\.optimiser\.lr\}\} for braces \(did you mean "\{model\.optimizer\.lr\}"\?\)$/,
  );
  assertProblem('[run.matrix]\noptim.lr = [1]\n', '6:1 run.matrix.optim', /a name with dots needs quotes/);
  assertProblem(
    '[run.matrix]\n"a.b" = [1]\na_b = [1]\n',
    '7:1 run.matrix.a_b',
    /UPDRAFT_PARAM_A_B, as "a\.b"/,
  );
  assertProblem('[resources]\nmemory = "{mem.gb} GB"\n', '6:10 resources.memory', /\{mem\.gb\} is not a/);
});

test('parameters need usable names and values, and make a sane number of jobs', () => {
  assertProblem('[run.matrix]\n"a b" = [1]\n', '6:1 run.matrix."a b"', /name for a parameter/);
  assertProblem('[run.matrix]\njob = [1]\n', '6:1 run.matrix.job', /reserved/);
  assertProblem(
    '[run.matrix]\nlr = [1]\nLR = [1]\n',
    '7:1 run.matrix.LR',
    /becomes the variable UPDRAFT_PARAM_LR, as "lr" does/,
  );
  assertProblem('[run.matrix]\nlr = []\n', '6:6 run.matrix.lr', /at least one value/);
  assertProblem('[run.matrix]\nlr = 0.1\n', '6:6 run.matrix.lr', /expected a list of values/);
  assertProblem('[run.matrix]\nlr = [[1]]\n', '6:7 run.matrix.lr[0]', /expected a string, a number/);
  assertProblem(
    '[run.matrix]\nlr = [1e-4, 2, 0.0001]\n',
    '6:16 run.matrix.lr[2]',
    /same as entry 1; remove it: `repeat`/,
  );
  assertProblem(
    '[run.matrix]\na = [{ x = 1, y = 2 }, { y = 2, x = 1 }]\n',
    '6:24 run.matrix.a[1]',
    /same as entry 1/,
  );
  assertProblem('[run.matrix]\nlr = ["\\u0000"]\n', '6:7 run.matrix.lr[0]', /NUL/);
  const many = `[${Array.from({ length: 400 }, (_, index) => index).join(',')}]`;
  assertProblem(
    `[run.matrix]\na = ${many}\nb = ${many}\n`,
    '5:6 run.matrix',
    /160000 jobs; expected at most 100000/,
  );
  assertProblem('env = { UPDRAFT_JOB = "1" }\n', '5:9 train.env.UPDRAFT_JOB', /cannot be used/);
});

test('data sets and files may not share a folder', () => {
  const two = '[data.a]\nurl = "osdf:///a/b"\n[data.b]\nurl = "osdf:///a/c"\n';
  assertProblem(two, '7:7 data.b.into', /"data" collides with "data" of data\.a\.into/);
  assertProblem(
    'files = ["data/x"]\n[data.a]\nurl = "osdf:///a/b"\n',
    '6:7 data.a.into',
    /collides with "data\/x"/,
  );
  assertProblem(`${two}into = "data/b"\n`, '9:8 data.b.into', /collides/);
});

test('a method must fit its URL', () => {
  const data = (url: string, method: string): string => `[data.d]\nurl = "${url}"\nmethod = "${method}"\n`;
  assertProblem(data('osdf:///a/b', 'https'), '7:10 data.d.method', /expected "osdf" or "stream" or "auto"/);
  assertProblem(data('https://h/b', 'osdf'), '7:10 data.d.method', /expected "https" or "stream" or "auto"/);
  assertProblem(data('https://h/b', 'native'), '7:10 data.d.method', /expected "https"/);
  assertProblem(data('file:///b', 'stream'), '7:10 data.d.method', /expected "native" or "auto"/);
  assertProblem(data('file:///b', 'nativ'), '7:10 data.d.method', /did you mean "native"/);
});

test('shards on demand are a list or a range, and stay tar files', () => {
  const data = (url: string, ...lines: string[]): string => `[data.d]\nurl = "${url}"\n${lines.join('\n')}\n`;
  const [list, range] = ['osdf:///a/b.shards.json', 'osdf:///a/b-{00..09}.tar'];
  const onDemand = 'method = "on-demand"';
  const [source] = readSpec(good + data(list, onDemand, 'keep = "20 GB"'), 'updraft.toml').data;
  assert.deepEqual([source?.method, source?.keepBytes], ['on-demand', 20e9]);
  assert.equal(readSpec(good + data(range, onDemand, 'keep = "20 GB"'), 'updraft.toml').data[0]?.url, range);
  const at = '6:7 data.d.url';
  assertProblem(data('osdf:///a/b.tar', onDemand), at, /is not a list of shards; .* or a range/);
  assertProblem(data('images-{0..9}.tar', onDemand), at, /on this machine/);
  assertProblem(data('osdf:///a/b-{9..0}.tar', onDemand), at, /range of 0 shards/);
  assertProblem(data(range, 'keep = "1 GB"'), at, /only method = "on-demand" can fetch/);
  assertProblem(data(range, onDemand), at, /add the disk for them, like keep = "20 GB"/);
  assertProblem(data(list, 'keep = "1 GB"'), '7:1 data.d.keep', /only applies to method = "on-demand"/);
  assertProblem(data(list, onDemand, 'arriving = true'), '8:1 data.d.arriving', /does not apply/);
  assertProblem(
    data(range, onDemand, 'keep = "1 GB"', 'expect = { files = 1 }'),
    '9:1 data.d.expect',
    /remove it/,
  );
});

test('TOML syntax errors have a place, and unquoted strings get a hint', () => {
  assert.deepEqual(problemsOf('[train]\ncommand = python3 x.py\n'), [
    '2:11 train.command: this is not valid TOML (unexpected character); put strings in quotes, like key = "text"',
  ]);
  assert.deepEqual(problemsOf('[run]\nmatrix.seed = range(3)\n'), [
    '2:15 run.matrix.seed: this is not valid TOML (unexpected character); write a list, like [0, 1, 2]',
  ]);
  assert.deepEqual(problemsOf('name = "x\n'), [
    '1:10 name: this is not valid TOML (the closing quote is missing)',
  ]);
  assert.deepEqual(problemsOf('name = '), ['1:8 name: this is not valid TOML (a value is missing here)']);
  assert.deepEqual(problemsOf('[a]\n[a]\n'), ['2:2 a: is defined twice; remove one of them']);
});

test('a key that is defined twice is reported together with all other problems', () => {
  const toml = problemsOf(`${good}command = "again"\ncheck = "c"\ncheck = "d"\nfoo = 1\n`);
  assert.deepEqual(
    toml.map((problem) => problem.replace(/;.*/, '')),
    [
      '5:1 train.command: is defined twice',
      '7:1 train.check: is defined twice',
      '8:1 train.foo: no such key',
    ],
  );
});

test('invalid YAML, and YAML that is more than data, is refused with its place', () => {
  assert.match(problemsOf('name: x\nname: y\n', 'u.yaml')[0] ?? '', /^2:1 : this is not valid YAML .*unique/);
  assert.match(problemsOf('name: [x\n', 'u.yaml')[0] ?? '', /^2:1 : this is not valid YAML/);
  assert.match(problemsOf('name: x\n---\nname: y\n', 'u.yaml')[0] ?? '', /^2:1 : this is not valid YAML/);
  assert.match(problemsOf('name: !!js/function x\n', 'u.yaml').join('\n'), /^1:7 : this is not valid YAML/m);
  assert.match(problemsOf('- x\n', 'u.yaml')[0] ?? '', /is a list; expected/);
  assert.match(problemsOf('name: *missing\n', 'u.yaml')[0] ?? '', /not valid YAML/);
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((c, i) => `${c}: &${c} [${`*${'abcdefg'.charAt(i)},`.repeat(10)}]`),
  ];
  assert.match(problemsOf(bomb.join('\n'), 'u.yaml')[0] ?? '', /not valid YAML/);
});

test('names such as __proto__ cannot pollute prototypes', () => {
  assert.match(problemsOf('__proto__.polluted = 1\n')[0] ?? '', /cannot be used as a key/);
  assert.match(problemsOf(`${good}[__proto__]\npolluted = 1\n`)[0] ?? '', /cannot be used as a key/);
  problemsOf('__proto__: { polluted: 1 }\nconstructor: 1\n', 'u.yaml');
  assert.match(problemsOf(`constructor = 1\n${good}`)[0] ?? '', /^1:1 constructor: no such key/);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('a file that is neither TOML nor YAML by its name is refused', () => {
  assert.throws(() => readSpec('', 'job.sub'), {
    kind: 'file-invalid',
    message: /neither in \.toml nor in \.yaml/,
  });
});

test('slow_limit is 0 or above 1', () => {
  const limit = (value: string): string => good.replace('[train]', `[train]\nslow_limit = ${value}`);
  assert.equal(readSpec(limit('2.5'), 'u.toml').train.slowLimit, 2.5);
  assert.equal(readSpec(limit('0'), 'u.toml').train.slowLimit, 0);
  for (const wrong of ['1', '-3', '0.5', '"3"', 'inf'])
    assert.match(problemsOf(limit(wrong))[0] ?? '', /train\.slow_limit: is .*; expected .*0/);
});

test('a partition, or several, and a quality of service are plain names', () => {
  const run = (lines: string) =>
    readSpec(`name = "a"\n[train]\ncommand = "true"\noutputs = ["m"]\n[run]\n${lines}`, 'updraft.toml').run;
  const { partition, qos } = run('partition = "gpu,long-2"\nqos = "normal"');
  assert.deepEqual([partition, qos], ['gpu,long-2', 'normal']);
  for (const bad of ['"a b"', '"a,"', '"a\\n#SBATCH --x"'])
    assert.throws(() => run(`partition = ${bad}`), /the name of a partition/, bad);
});

// Runs of earlier releases are read from their plan.json, so its names must not change.
test('every key of the file keeps its name in the plan', () => {
  assert.deepEqual(readSpec(everyKey, 'updraft.toml'), {
    data: [
      {
        arriving: true,
        expect: { files: 3 },
        into: 'd/e',
        manifest: 'm.json',
        method: 'stream',
        name: 'zeta',
        sha256: 'abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcd',
        tokenFile: '/a/tok',
        unpack: 'tar.gz',
        url: 'osdf:///a/b.tar.gz',
      },
      {
        expect: { bytes: 3 },
        into: 'data',
        method: 'auto',
        name: 'alpha',
        unpack: 'auto',
        url: 'https://a.b/c',
      },
    ],
    environment: {
      delivery: 'pack',
      pack: {
        bytes: 4,
        manifest: 'm',
        sha256: 'abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcd',
        tokenFile: 't',
        url: 'osdf:///p/e.sh',
      },
      pixi: { environment: 'gpu', manifest: 'pixi.toml', platform: 'linux-64' },
      python: ['torch'],
      unpacker: 'pixi-unpack',
    },
    name: 'all',
    recovery: {
      avoid: 'machine',
      diskMaxBytes: 9000000000,
      failedJobs: 4,
      giveUpSeconds: 259200,
      memoryMaxBytes: 8000000000,
    },
    resources: {
      cpus: 2,
      diskBytes: 5000000000,
      gpu: { capability: 7.5, cuda: '12.1', memoryBytes: 16000000000 },
      gpus: 1,
      memoryBytes: 4000000000,
      timeSeconds: 36000,
    },
    run: {
      attempts: 3,
      jobs: 2,
      matrix: { lr: [0.1, 0.2], some_name: ['a'] },
      pool: 'condor',
      profile: 'chtc',
      project: 'p',
      requirements: 'x',
    },
    train: {
      check: 'true',
      checkpoint: 'ck',
      checkpointEverySeconds: 3600,
      checkpointKeep: 2,
      command: 'a {lr}',
      env: { A: '1', B: 'true', C: 'x' },
      files: ['a/b', 'c'],
      outputs: ['m.pt', 'x/{job}'],
      quietLimitSeconds: 7200,
      slowLimit: 4,
    },
  });
});

const everyKey = `name = "all"
[train]
command = "a {lr}"
files = ["./a//b/", "c"]
outputs = ["./m.pt", "x/{job}"]
check = "true"
checkpoint = "./ck/"
checkpoint_keep = 2
checkpoint_every = "1h"
quiet_limit = "2h"
slow_limit = 4
env = { A = 1, B = true, C = "x" }
[data.zeta]
url = "osdf:///a/b.tar.gz"
into = "./d//e"
arriving = true
unpack = "tar.gz"
method = "stream"
expect = { files = 3 }
sha256 = "ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD"
manifest = "m.json"
token_file = "/a/tok"
[data.alpha]
url = "https://a.b/c"
expect = { bytes = 3 }
[environment]
python = ["torch"]
pixi = "./pixi.toml"
pixi_environment = "gpu"
pixi_unpack = "./pixi-unpack"
delivery = "pack"
pack = { url = "osdf:///p/e.sh", sha256 = "ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD", bytes = 4, manifest = "m", token_file = "t" }
[resources]
cpus = 2
gpus = 1
gpu = { capability = 7.5, memory = "16 GB", cuda = "12.1" }
memory = "4 GB"
disk = "5 GB"
time = "10h"
[run]
jobs = 2
matrix = { lr = [0.1, 0.2], some_name = ["a"] }
pool = "condor"
profile = "chtc"
project = "p"
requirements = "x"
attempts = 3
[recovery]
avoid = "machine"
memory_max = "8 GB"
disk_max = "9 GB"
give_up_after = "3d"
failed_jobs = 4
`;

test('caches are set for one object or for the run, and only for federation URLs', () => {
  const object = '[data.a]\nurl = "osdf:///x.tar"\n';
  const spec = readSpec(
    `${good}[run]\ncaches = ["near.example:8443"]\navoid_caches = ["bad.example"]\n${object}caches = ["https://own.example:8443"]\n`,
    'updraft.toml',
  );
  assert.deepEqual([spec.run.caches, spec.run.avoidCaches], [['near.example:8443'], ['bad.example']]);
  assert.deepEqual(spec.data[0]?.caches, ['https://own.example:8443']);
  assertProblem(
    `${object}caches = ["a b"]\n`,
    '7:11 data.a.caches[0]',
    /is "a b"; expected a cache: HOST, HOST:PORT/,
  );
  assertProblem('[run]\navoid_caches = "a"\n', '6:16 run.avoid_caches', /expected a list of caches/);
  assertProblem(
    '[data.a]\nurl = "https://h/x.tar"\ncaches = ["a"]\n',
    '7:1 data.a.caches',
    /only applies to osdf:\/\/ and pelican:\/\/ URLs/,
  );
});

const sweep = `${good}[data.d]
url = "osdf:///a/{set}.tar"
method = "{method}"
[resources]
cpus = "{cpus}"
memory = "{cpus} GB"
[run]
requirements = 'TARGET.Site == "{set}" && member(X, { "{{set}}" })'
`;

test('a matrix fills data, resources and requirements, and a lone placeholder keeps its type', () => {
  const reading = checkSpec(
    `${sweep}matrix = { set = ["x", "y"], method = ["osdf", "stream"], cpus = [2], lr = [1, 2] }`,
    'updraft.toml',
  );
  assert.ok(!('problems' in reading));
  assert.deepEqual(reading.variedBy.toSorted(), ['cpus', 'method', 'set']);
  const seen = reading.variants.map(({ spec, jobs }) => [
    jobs.map(({ index }) => index),
    spec.data[0]?.url,
    spec.data[0]?.method,
    spec.resources.cpus,
    spec.resources.memoryBytes,
    spec.run.requirements,
  ]);
  const x = 'TARGET.Site == "x" && member(X, { "{set}" })';
  const y = 'TARGET.Site == "y" && member(X, { "{set}" })';
  assert.deepEqual(seen, [
    [[0, 2], 'osdf:///a/x.tar', 'osdf', 2, 2e9, x],
    [[4, 6], 'osdf:///a/x.tar', 'stream', 2, 2e9, x],
    [[5, 7], 'osdf:///a/y.tar', 'osdf', 2, 2e9, y],
    [[1, 3], 'osdf:///a/y.tar', 'stream', 2, 2e9, y],
  ]);
});

test('a filled value is checked like a written one, and the problem names its entry or its jobs', () => {
  assert.deepEqual(
    problemsOf(`${sweep}matrix = { set = ["x"], method = ["osdf", "https", "strem"], cpus = [2] }`),
    [
      '13:43 run.matrix.method[1]: "https" cannot fetch an object in a federation; expected "osdf" or "stream" or "auto" (it fills data.d.method)',
      '13:52 run.matrix.method[2]: is "strem"; expected one of "auto", "native", "https", "osdf", "stream", "on-demand" (did you mean "stream"?) (it fills data.d.method)',
    ],
  );
  const part = `${good}[resources]\nmemory = "{m} GB"\n[run]\nmatrix = { m = [1, "x"] }`;
  assert.match(
    problemsOf(part).join(),
    /^6:10 resources\.memory: is "x GB"; .* \(in the jobs with m = "x"\)$/,
  );
  const [unknown, ...others] = problemsOf(`${sweep}matrix = { set = ["x"], methods = ["osdf"], cpus = [2] }`);
  assert.deepEqual(others, []);
  assert.match(
    unknown ?? '',
    /^7:10 data\.d\.method: \{method\} is not a parameter; .*did you mean "\{methods\}"/,
  );
});

test('too many different jobs are refused before each is read', () => {
  const [problem = ''] = problemsOf(`${good}[data.d]\nurl = "osdf:///a/{index}.tar"\n[run]\njobs = 20000`);
  assert.match(problem, /^6:7 data\.d\.url: is different in 20000 jobs; expected at most 10000/);
});

test('`repeat` gives each combination seeds, in turns', () => {
  const reading = checkSpec(
    `${good.replace('"train"', '"train {lr} {seed}"')}[run]\nrepeat = 2\nmatrix = { lr = [1, 2] }`,
    'updraft.toml',
  );
  assert.ok(!('problems' in reading));
  assert.deepEqual(
    reading.variants[0].jobs.map(({ parameters }) => parameters),
    [
      { lr: 1, seed: 1 },
      { lr: 2, seed: 1 },
      { lr: 1, seed: 2 },
      { lr: 2, seed: 2 },
    ],
  );
  assertProblem(
    '[run]\nrepeat = 2\nmatrix = { seed = [1] }',
    '7:12 run.matrix.seed',
    /`repeat` gives every job its \{seed\}; use another, such as my_seed/,
  );
});

test('a parameter is not called like what every job has', () => {
  for (const name of ['job', 'index', 'outcome', 'hours', 'tries'])
    assertProblem(
      `[run]\nmatrix = { ${name} = [1, 2] }`,
      `6:12 run.matrix.${name}`,
      new RegExp(`reserved: every job has .*; use another, such as my_${name}$`),
    );
});

const ways = `${good}[data.d]
url = "{url}"
method = "{method}"
keep = "{keep}"
[run]
`;

test('parameters that belong together are a list of tables, and "" leaves a key out', () => {
  const reading = checkSpec(
    `${ways}repeat = 2
[[run.matrix.way]]
method = "osdf"
url = "osdf:///a/x.tar"
keep = ""
[[run.matrix.way]]
method = "on-demand"
url = "osdf:///a/x-{000000..000007}.tar"
keep = "1 GB"
`,
    'updraft.toml',
  );
  assert.ok(!('problems' in reading), JSON.stringify(reading));
  const seen = reading.variants.map(({ spec: { data }, jobs }) => [
    jobs.map(({ index }) => index),
    ...data.flatMap(({ method, url, keepBytes }) => [method, url, keepBytes]),
  ]);
  assert.deepEqual(seen, [
    [[0, 2], 'osdf', 'osdf:///a/x.tar', undefined],
    [[1, 3], 'on-demand', 'osdf:///a/x-{000000..000007}.tar', 1e9],
  ]);
  assert.deepEqual(reading.variants[1]?.jobs[0]?.parameters, {
    method: 'on-demand',
    url: 'osdf:///a/x-{000000..000007}.tar',
    keep: '1 GB',
    seed: 1,
  });
});

test('a group whose entries do not fit each other, or their keys, is refused with its place', () => {
  const entry = (method: string, url: string, keep = '') =>
    `{ method = "${method}", url = "${url}", keep = "${keep}" }`;
  const osdf = entry('osdf', 'osdf:///a/x.tar');
  const withWays = (list: string, more = '') => problemsOf(`${ways}matrix.way = [${osdf}, ${list}]\n${more}`);
  const at = 15 + osdf.length + 2;
  assert.deepEqual(withWays('{ method = "osdf", keep = "" }'), [
    `10:${at} run.matrix.way[1]: has no "url", which other entries of "way" have; add it, or url = "" to leave out the key that {url} fills`,
  ]);
  assert.deepEqual(withWays('"https"'), [
    `10:${at} run.matrix.way[1]: is no table, but other entries of "way" are; expected a table like { method = "…", url = "…", keep = "…" }`,
  ]);
  assert.deepEqual(withWays(entry('osdf', 'osdf:///a/y.tar'), 'matrix.url = ["x"]'), [
    '11:8 run.matrix.url: "url" is a parameter already; use another name',
  ]);
  assert.deepEqual(withWays(entry('https', 'osdf:///a/x.tar')), [
    `10:${at + 11} run.matrix.way[1].method: "https" cannot fetch an object in a federation; expected "osdf" or "stream" or "auto" (it fills data.d.method)`,
  ]);
  assert.deepEqual(withWays('{ method = "osdf", url = ["a"], keep = "" }'), [
    `10:${at + 25} run.matrix.way[1].url: is a list; expected a string, a number, true or false`,
  ]);
  assert.deepEqual(problemsOf(`${good}[[run.matrix.a]]\nx = 1\n[[run.matrix.a]]\n`), [
    '7:1 run.matrix.a[1]: has no "x", which other entries of "a" have; add it, or x = "" to leave out the key that {x} fills',
  ]);
});

test('numbers of a matrix reach the jobs as they were written', () => {
  const toml = `name = "x"
train = { command = "t {lr} {seed} {w}", outputs = ["m"], env = { SCALE = 0.50 } }
[run.matrix]
lr = [0.0, 1.0, 1e-05, 0.5, 3, 1_000, 0x10, +2]
seed = [9007199254740993, 9007199254740992]
case = [{ w = 2.50 }]
`;
  const yaml = `name: x
train: { command: "t {lr} {seed} {w}", outputs: [m], env: { SCALE: 0.50 } }
run:
  matrix:
    lr: [0.0, 1.0, 1e-05, 0.5, 3, "1000", 0x10, 2]
    seed: [9007199254740993, 9007199254740992]
    case: [{ w: 2.50 }]
`;
  for (const [text, file] of [
    [toml, 'updraft.toml'],
    [yaml, 'updraft.yaml'],
  ] as const) {
    const { run, train } = readSpec(text, file);
    const { matrix } = run;
    assert.equal(train.env['SCALE'], '0.50');
    const rates = matrix['lr'] ?? [];
    assert.deepEqual(rates.map(String), ['0.0', '1.0', '1e-05', '0.5', '3', '1000', '16', '2'], file);
    assert.deepEqual(rates.slice(3, 5), [0.5, 3]);
    assert.deepEqual(
      [matrix['seed'], matrix['case']],
      [['9007199254740993', 9007199254740992], [{ w: '2.50' }]],
    );
  }
});

test('a metric cannot be better both ways', () => {
  const lists = '[results]\nsmaller_is_better = ["energy"]\nlarger_is_better = ["a", "energy"]\n';
  const [problem = '', ...others] = problemsOf(`${good}${lists}`);
  assert.match(problem, /larger_is_better.*: is in smaller_is_better too; keep one of them$/);
  assert.deepEqual(others, []);
});
