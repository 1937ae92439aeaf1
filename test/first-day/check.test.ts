import assert from 'node:assert/strict';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { findProgram } from '@updraft/base';
import { configure } from '../../src/cli/commands/check.ts';
import { Fault, kinds } from '@updraft/account/fault';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';

interface Job {
  /** Keys of [train] besides the command, files and outputs, then tables. */
  rest?: string;
  command?: string;
  outputs?: string[];
  files?: Record<string, string>;
  /** Entries of train.files, if not all of `files`. */
  sent?: string[];
  env?: Record<string, string>;
  isFull?: boolean;
}

/** Interpreters of the system first: those of pyenv and the like take long to start. */
const searchPath = `/usr/bin:/bin:${process.env['PATH'] ?? ''}`;
const writesModel = 'open("model.pt", "w").write("x")\n';

/** What `updraft check` prints about a job, and its exit code. */
async function checked(t: TestContext, job: Job): Promise<{ said: string; exit: number; folder: string }> {
  const { files = { 'train.py': writesModel }, command = 'python3 train.py', outputs = ['model.pt'] } = job;
  const folder = path.join(await temporaryFolder(t), 'job');
  await mkdir(folder);
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  const text = [
    'name = "first"',
    '[train]',
    `command = ${JSON.stringify(command)}`,
    `files = ${JSON.stringify(job.sent ?? Object.keys(files))}`,
    `outputs = ${JSON.stringify(outputs)}`,
    job.rest ?? '',
  ];
  await writeFile(path.join(folder, 'updraft.toml'), text.join('\n'));
  return { folder, ...(await check(folder, job)) };
}

async function check(cwd: string, { env, isFull }: Job = {}): Promise<{ said: string; exit: number }> {
  let said = '';
  const print = (text: string): void => void (said += text);
  const context = {
    cwd,
    env: env ?? { PATH: searchPath },
    columns: 400,
    out: print,
    err: print,
  };
  try {
    await runCommand({ configure }, isFull === true ? [] : ['--quick'], context);
    return { said, exit: 0 };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { said: `${said}${error.message}`, exit: kinds[error.kind].exit };
  }
}

const onCondor = '[run]\npool = "condor"\n';

test('a file whose name is mistyped in `files`', async (t) => {
  const { said, exit } = await checked(t, { sent: ['trian.py'] });
  assert.match(said, /updraft\.toml:4:10: .*"trian\.py" not found.*did you mean "train\.py"\?/);
  assert.equal(exit, 3);
});

test('a list that is not closed', async (t) => {
  const { said, exit } = await checked(t, {
    rest: '[run]\nrequirements = [\n  "a",\n[resources]\ncpus = 1\n',
  });
  assert.match(said, /updraft\.toml:7:16: run\.requirements: the "\[" that opens here has no closing "\]"/);
  assert.equal(exit, 3);
});

test('an output that nothing writes', async (t) => {
  const { said, exit } = await checked(t, { outputs: ['best.pt'] });
  assert.match(said, /updraft\.toml:5 .*output-unwritten[^]*"best\.pt"[^]*train\.py:1 writes "model\.pt"/);
  assert.equal(exit, 0);
});

test('an output of which only the stem is written', async (t) => {
  const { said, exit } = await checked(t, { outputs: ['model.json'] });
  assert.match(said, /"model\.json"[^]*train\.py:1 writes "model\.pt"[^]*fix: declare .*"model\.pt"/);
  assert.equal(exit, 0);
});

test('memory without a unit', async (t) => {
  const { said, exit } = await checked(t, { rest: '[resources]\nmemory = 2000\n' });
  assert.match(said, /updraft\.toml:7:10: resources\.memory: .*did you mean "2000 MB" or "2 GB"\?/);
  assert.equal(exit, 3);
});

test('more than this machine has, on the local pool', async (t) => {
  const { said, exit } = await checked(t, { rest: '[resources]\ncpus = 1\nmemory = "900 TB"\n' });
  assert.match(
    said,
    /updraft\.toml:8 .*machine-lacks[^]*requests more than this machine .*memory = 900 TB \(it has/,
  );
  assert.match(said, /fix: request less, or choose another pool in \[run\]/);
  assert.equal(exit, 3);
});

test('a token that the server refuses', async (t) => {
  const server = createServer((_, answer) => answer.writeHead(403).end()).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { said, exit } = await checked(t, {
    files: { 'train.py': writesModel, 'my.token': 'a.b.c' },
    sent: ['train.py'],
    rest: `[data.d]\nurl = "http://127.0.0.1:${(server.address() as AddressInfo).port}/d.tar"\ntoken_file = "my.token"\n`,
  });
  assert.match(
    said,
    /updraft\.toml:7 .*token-missing[^]*data\.d: .* answers 403 to .*my\.token[^]*fix: get a token/,
  );
  assert.equal(exit, 3);
});

test('files that lie elsewhere', async (t) => {
  const { said, exit } = await checked(t, { sent: ['/data/a.py', '../b.py'] });
  assert.match(said, /files\[0\]: .*copy or move it there and write "a\.py"/);
  assert.match(said, /files\[1\]: .*copy or move it there and write "b\.py"/);
  assert.equal(exit, 3);
});

test('a path of this machine in the command of a remote job', async (t) => {
  const data = path.join(await temporaryFolder(t), 'job');
  const { said, exit, folder } = await checked(t, {
    command: `python3 train.py --data "$HOME/images" --log=/dev/null`,
    env: { PATH: searchPath, HOME: data },
    rest: onCondor,
  });
  assert.match(said, /updraft\.toml:3 .*local-path[^]*`\$HOME\/images`[^]*fix: .*train\.files.*\[data\]/);
  assert.doesNotMatch(said, /dev\/null/);
  assert.equal(exit, 3);
  await writeFile(
    path.join(folder, 'updraft.toml'),
    `name = "a"\n[train]\ncommand = "python3 ${folder}/train.py"\noutputs = ["model.pt"]\n${onCondor}`,
  );
  assert.match((await check(folder)).said, /local-path[^]*train\.py` is a path of this machine/);
});

test('a path of this machine as the default of an argument', async (t) => {
  const script = [
    'import argparse',
    'parser = argparse.ArgumentParser()',
    'parser.add_argument("--data", default="/home/ada/images")',
    'parser.add_argument("--cache", default="/tmp/cache")',
    writesModel,
  ].join('\n');
  const files = { 'train.py': script };
  const { said, exit } = await checked(t, { files, rest: onCondor });
  assert.match(said, /train\.py:3 .*local-path[^]*`\/home\/ada\/images`, the default of an argument/);
  assert.equal(exit, 3);
  const passed = await checked(t, { files, command: 'python3 train.py --data images', rest: onCondor });
  assert.doesNotMatch(passed.said, /local-path/);
  const here = await checked(t, { files });
  assert.doesNotMatch(here.said, /local-path/);
});

test('a syntax error in a script and in a file that it imports', async (t) => {
  if ((await findProgram(['python3'], process.env)) === undefined) {
    t.skip('there is no python3 on this machine');
    return;
  }
  const files = { 'train.py': `import nets\n${writesModel}`, 'nets.py': 'def net(:\n    pass\n' };
  const { said, exit } = await checked(t, { files });
  assert.match(said, /nets\.py:1 .*python-syntax\n( *\| )def net\(:\n\1 {8}\^\n *SyntaxError: .*\n *fix: /);
  assert.equal(exit, 3);
  const without = await checked(t, { files, env: { PATH: '/nowhere' }, rest: onCondor });
  assert.match(without.said, /Python syntax: there is no python3 on this machine/);
  assert.equal(without.exit, 0);
});

/** A PATH with one program: a Python that has no modules. */
async function bareMachine(t: TestContext): Promise<Record<string, string>> {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'python3'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  return { PATH: folder };
}

test('a module whose name is mistyped in `python`', async (t) => {
  const { said, exit } = await checked(t, {
    rest: '[environment]\npython = ["torchvison"]\n',
    env: await bareMachine(t),
    isFull: true,
  });
  assert.match(said, /updraft\.toml:7 .*module-missing[^]*torchvison[^]*did you mean "torchvision"\?/);
  assert.equal(exit, 3);
});

test('`python` where only `python3` exists', async (t) => {
  const { said, exit } = await checked(t, {
    command: 'python train.py',
    env: await bareMachine(t),
    isFull: true,
  });
  assert.match(
    said,
    /updraft\.toml:3 .*tool-missing[^]*`python` is not on this machine[^]*write python3 instead/,
  );
  assert.doesNotMatch(said, /unpack/);
  assert.equal(exit, 3);
});

test('a script that is not executable, and has no first line by which it becomes so', async (t) => {
  const files = { 'run.sh': 'echo x > model.pt\n' };
  const { said, exit, folder } = await checked(t, { files, command: './run.sh' });
  assert.match(said, /updraft\.toml:3 .*not-executable[^]*`chmod \+x run\.sh`, or write `bash run\.sh`/);
  assert.equal(exit, 3);
  await chmod(path.join(folder, 'run.sh'), 0o755);
  assert.equal((await check(folder)).exit, 0);
  await chmod(path.join(folder, 'run.sh'), 0o644);
  await writeFile(path.join(folder, 'run.sh'), '#!/bin/sh\necho x > model.pt\n');
  assert.equal((await check(folder)).exit, 0, 'it becomes executable as it is sent');
});

test('an image by the name that docker takes', async (t) => {
  const { said, exit } = await checked(t, { rest: '[environment]\nimage = "pytorch/pytorch:latest"\n' });
  assert.match(said, /updraft\.toml:7 .*image-missing[^]*write docker:\/\/pytorch\/pytorch:latest if/);
  assert.equal(exit, 3);
});

test('a matrix that nothing uses', async (t) => {
  const rest = '[run]\nmatrix = { lr = [1, 2, 3] }\n';
  const { said, exit } = await checked(t, { rest });
  assert.match(
    said,
    /updraft\.toml:7 .*matrix-unused[^]*"lr": jobs that differ in nothing else are identical[^]*--lr \{lr\}/,
  );
  assert.equal(exit, 0);
  const used = await checked(t, { rest, command: 'python3 train.py --lr {lr}' });
  assert.doesNotMatch(used.said, /identical/);
});

test('a folder that cannot be written', async (t) => {
  if (process.getuid?.() === 0) {
    t.skip('root may write everywhere');
    return;
  }
  const { folder } = await checked(t, {});
  await chmod(folder, 0o555);
  t.after(() => chmod(folder, 0o755));
  const { said, exit } = await check(folder);
  assert.match(said, /folder-unwritable[^]*cannot be written \(permission denied\)/);
  assert.equal(exit, 3);
});

test('an image that does not exist', async (t) => {
  const server = createServer((request, response) => {
    const has =
      request.headers.authorization === 'Bearer of-anyone' && request.url?.includes('/torch/') === true;
    if (request.url?.startsWith('/token') === true) response.end('{"token": "of-anyone"}');
    else if (request.headers.authorization !== undefined) response.writeHead(has ? 200 : 404).end();
    else
      response
        .writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${host}/token",service="test"` })
        .end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const withImage = (name: string): string =>
    `[environment]\nimage = "docker://${host}/${name}"\n[run]\npool = "condor"\n`;
  const { said, exit } = await checked(t, { rest: withImage('nosuch:1') });
  assert.match(
    said,
    /updraft\.toml:7 .*image-missing[^]*has no image docker:[^]*fix: correct its name and tag/,
  );
  assert.equal(exit, 3);
  const there = await checked(t, { rest: withImage('torch:1') });
  assert.doesNotMatch(there.said, /image-missing/);
  server.close();
  await once(server, 'close');
  const gone = await checked(t, { rest: withImage('torch:1') });
  assert.match(gone.said, /could not be checked\n.*docker:/);
  assert.equal(gone.exit, 0);
});

test('a script that the command runs, and one that it imports, but that are not sent', async (t) => {
  const files = {
    'train.py': `import nets\n${writesModel}`,
    'nets.py': '',
    'lr.json': '{}',
    'run.sh': 'python3 train.py\n',
  };
  const job = { files, sent: [], command: 'bash run.sh --config lr.json' };
  const { said, exit } = await checked(t, job);
  assert.equal(exit, 3);
  assert.match(said, /file-not-sent\n[^]*updraft\.toml:3 +run\.sh is here, but not in train\.files/);
  assert.match(said, /run\.sh:1 +train\.py is here[^]*train\.py:1 +nets\.py is here/);
  assert.match(said, /fix: send it: files = \["run\.sh", "train\.py", "nets\.py"\] in \[train\]/);
  assert.match(said, /warning[^]*file-not-sent\n +lr\.json is here/);
  const sent = await checked(t, { ...job, sent: Object.keys(files) });
  assert.equal(sent.exit, 0, sent.said);
  assert.doesNotMatch(sent.said, /not-sent/);
});

test('a script that is nowhere, perhaps mistyped', async (t) => {
  const { said, exit } = await checked(t, { command: 'export A=1 && python3 -u trian.py --data x.py' });
  assert.equal(exit, 3, said);
  assert.match(
    said,
    /updraft\.toml:3 .*script-missing[^]*runs trian\.py, which is neither in train\.files nor here/,
  );
  assert.match(said, /fix: write train\.py in the command/);
  for (const command of [
    'git clone x code && python3 code/main.py',
    'cd sub && python3 other.py',
    'python3 -m train other.py',
    'python3 train.py other.py',
    'python3 ./train.py',
  ]) {
    const other = await checked(t, { command });
    assert.doesNotMatch(other.said, /script-missing/, command);
  }
});

test('a script that is not sent and has a syntax error', async (t) => {
  const { said } = await checked(t, { files: { 'train.py': 'def net(:\n' }, sent: [] });
  assert.match(said, /train\.py:1 .*python-syntax[^]*file-not-sent/);
});

test('a mistyped pool on the command line', async (t) => {
  const folder = await temporaryFolder(t, { 'updraft.toml': '' });
  let said = '';
  const asked = runCommand({ configure }, ['--pool', 'condr'], {
    cwd: folder,
    err: (text) => void (said += text),
  });
  await assert.rejects(asked, { exitCode: 1 });
  assert.match(said, /option '--pool <name>' argument 'condr' is invalid.*did you mean "condor"\?/);
  assert.doesNotMatch(said, /--set/);
});

test('a server whose name does not exist', async (t) => {
  const host = 'data.nosuch.invalid';
  const { code } = (await lookup(host).catch((error: unknown) => error)) as NodeJS.ErrnoException;
  if (code !== 'ENOTFOUND') {
    t.skip('DNS does not answer on this machine');
    return;
  }
  const { said, exit } = await checked(t, { rest: `[data.d]\nurl = "http://${host}/d.tar"\n` });
  assert.match(said, /data\.d: there is no host data\.nosuch\.invalid: DNS .* spelling in updraft\.toml:7/);
  assert.equal(exit, 0, 'this machine may be offline');
});
