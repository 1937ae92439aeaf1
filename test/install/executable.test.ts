import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, existsSync, linkSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { enterCommand, insideHome, poolFolders } from '@updraft/mini/testing';
import { fillRoot } from '../empty-root.ts';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { bareJob, runNamedIn } from './bare-job.ts';
import { hangMs } from '../hang-limit.ts';

const project = path.resolve(import.meta.dirname, '../..');
const executable = path.join(project, 'dist', `updraft-linux-${os.arch()}`);
const user = 1000;

/** True, and the test skipped, if the executable is not built. */
function isMissing(t: TestContext): boolean {
  if (existsSync(executable)) return false;
  t.skip(`${path.basename(executable)} is not built (npm run build)`);
  return true;
}

/** Enters the root folder `$1` in mounts of its own, which end with it, as an ordinary user in the folder `/home`. */
const enter = `set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --bind /dev/null "$root/dev/null"
exec env -i HOME=/home PATH=/bin "$(PATH=$PATH:/usr/sbin command -v chroot)" --userspec=${user}:${user} "$root" \
  /bin/sh -c 'cd /home && exec "$@"' sh "$@"`;

interface Machine {
  home: string;
  /** The words that start a command on it. */
  command: (...words: string[]) => [string, string[]];
  updraft: (...words: string[]) => { stdout: string; stderr: string; status: number | null };
}

/** The root folder of a machine that has only the C library, a shell and the executable. */
async function bareRoot(t: TestContext): Promise<string> {
  const root = await temporaryFolder(t);
  fillRoot(root, executable);
  for (const name of ['proc', 'dev', 'tmp', 'home']) await mkdir(path.join(root, name));
  await writeFile(path.join(root, 'dev', 'null'), '');
  mkdirSync(path.join(root, 'bin'), { recursive: true });
  place(executable, path.join(root, 'bin', 'updraft'));
  chmodSync(path.join(root, 'tmp'), 0o1777);
  chownSync(path.join(root, 'home'), user, user);
  chmodSync(root, 0o755);
  return root;
}

/** Such a machine, entered as root. */
async function bareMachine(t: TestContext): Promise<Machine> {
  const root = await bareRoot(t);
  const command = (...words: string[]): [string, string[]] => [
    'unshare',
    ['--mount', '--propagation', 'private', 'sh', '-c', enter, 'sh', root, ...words],
  ];
  return {
    home: path.join(root, 'home'),
    command,
    updraft: (...words) => spawnSync(...command('updraft', ...words), { encoding: 'utf8' }),
  };
}

/** A link is free, but does not work across file systems. */
function place(file: string, target: string): void {
  try {
    linkSync(file, target);
  } catch {
    copyFileSync(file, target);
  }
}

test('on a machine with only the C library and a shell, an ordinary user does it all', async (t) => {
  if (isMissing(t)) return;
  if (os.userInfo().uid !== 0) {
    t.skip('chroot and mounting /proc need root');
    return;
  }
  const { home, updraft, command } = await bareMachine(t);
  const log = path.join(project, 'test/eventlogs/exit3.log');
  copyFileSync(log, path.join(home, 'my.log'));
  await writeFile(path.join(home, 'my.sub'), 'executable = train.sh\nqueue\n');
  await writeFile(path.join(home, 'train.sh'), `#!/bin/sh\n${bareJob['train.sh']}`);
  assert.equal(updraft('--version').stdout, `${packageJson.version}\n`);
  assert.match(updraft('report', 'my.log').stdout, /on slots/);
  assert.match(updraft('why', 'my.log').stdout, /The program exited with code 3/);
  const events = readFileSync(log);
  const reason = 'Job has gone over cgroup memory limit of 1024 megabytes';
  for (const [words, input, says] of [
    [['report', '-'], events, /on slots/],
    [['why', '-'], events, /exited with code 3/],
    [['why', '--reason', '-'], reason, /memory/],
  ] as const) {
    const piped = spawnSync(...command('updraft', ...words), { encoding: 'utf8', input });
    assert.match(piped.stdout, says, `${words.join(' ')}: ${piped.stderr}`);
  }
  assert.match(updraft('adopt', 'my.sub').stdout, /also worth adding: `request_memory/);
  assert.match(updraft('docs', 'install').stdout, /^# Install\n/);

  const made = updraft('init', '--template', 'minimal', 'mine');
  assert.equal(made.stdout, 'mine/updraft.toml\nmine/train.py\n');
  assert.match(updraft('check', 'mine').stdout, /`?python3`? is not/);
  await rm(path.join(home, 'mine', 'train.py'));
  for (const [name, text] of Object.entries(bareJob)) await writeFile(path.join(home, 'mine', name), text);
  const checked = updraft('check', 'mine');
  assert.match(checked.stdout, /^ok: shell: 1 job on the pool "local"/);

  const run = updraft('run', 'mine');
  assert.equal(run.status, 0, run.stderr);
  assert.match(run.stderr, /by the agent \/bin\/updraft/);
  const folder = runNamedIn(run.stderr);
  assert.equal(readFileSync(path.join(home, folder, 'results/0000/model.pt'), 'utf8'), 'a model\n');
  assert.match(updraft('status', folder).stdout, /1 job, 1 success/);
  assert.match(
    await firstPage(command('updraft', 'dashboard', '--here', '--no-open', folder)),
    /<style>.+<script>/s,
  );
});

/** The page that a dashboard serves under the link it prints; then the dashboard is ended. */
async function firstPage([program, args]: [string, string[]]): Promise<string> {
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(server, 'close');
  try {
    // The end of its output ends the loop, if it prints no link.
    for await (const link of createInterface(server.stdout)) {
      const { headers } = await fetch(link);
      const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
      return await (await fetch(new URL('/', link), { headers: { cookie } })).text();
    }
    return '';
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
}

/** A command of HTCondor's, with the libraries of the pool's Debian. */
const condorCommand = `#!/bin/sh
exec /debian/lib64/ld-linux-*.so.* --argv0 "\${0##*/}" --library-path "/debian/lib:$(echo /debian/lib/*-linux-gnu)" \\
  "/debian/bin/\${0##*/}" "$@"
`;

/** On the pool's access point: enters the root folder `$1` as an ordinary user in the folder `$2`, which the schedd sees. */
const enterBeside = `set -e
root=$1 home=$2; shift 2
for folder in /proc ${insideHome} "$home"; do mount --rbind "$folder" "$root$folder"; done
mount --bind /dev/null "$root/dev/null"
mount --bind /usr "$root/debian"
exec unshare --user --map-user=${user} --map-group=${user} --root="$root" --wd="$home" "$@"`;

test('on such a machine with the commands of HTCondor, it submits itself as the agent', async (t) => {
  if (isMissing(t)) return;
  const pool = await testPool(t);
  if (pool === undefined) return;
  const root = await bareRoot(t);
  const home = await temporaryFolder(t, bareJob);
  for (const name of ['debian', insideHome, home]) await mkdir(path.join(root, name), { recursive: true });
  // HTCondor's commands look up the names of the user and of the machine.
  await mkdir(path.join(root, 'etc'));
  for (const name of ['passwd', 'hosts', 'nsswitch.conf'])
    copyFileSync(path.join(pool.root, 'etc', name), path.join(root, 'etc', name));
  for (const name of ['config_val', 'history', 'q', 'status', 'submit', 'version'])
    await writeFile(path.join(root, 'bin', `condor_${name}`), condorCommand, { mode: 0o755 });
  const [program = '', ...words] = enterCommand({ keeper: pool.keeper.pid, master: pool.master });
  words.push('env', '-i', 'PATH=/bin', `HOME=${home}`, `CONDOR_CONFIG=${poolFolders(insideHome).config}`);
  words.push('unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', enterBeside, 'sh', root, home);
  const done = spawnSync(program, [...words, 'updraft', 'run', '--pool', 'condor'], {
    encoding: 'utf8',
    timeout: hangMs,
    killSignal: 'SIGKILL',
  });
  assert.equal(done.status, 0, `${done.stdout}\n${done.stderr}`);
  const folder = runNamedIn(done.stderr);
  assert.equal(readFileSync(path.join(home, folder, 'results/0000/model.pt'), 'utf8'), 'a model\n');
});
