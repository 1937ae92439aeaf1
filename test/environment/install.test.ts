import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { runNames } from '../run-names.ts';
import { needOnPath } from '../on-path.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { writeChannel } from './make-channel.ts';
import { here, torchPackages } from './torch-packages.ts';
import { cliMain } from '../programs.ts';

/** A fake Pixi: it makes a lock, a folder with a program, and a script that activates it. */
const pixi = (locks: string): string => `#!/bin/sh
set -e
case "$1 $2 $3" in
  'lock --manifest-path '*) ${locks};;
  'install --locked --environment')
    mkdir -p "$PREFIX/bin"
    printf '#!/bin/sh\\necho "python of $PIXI_SAYS"\\n' > "$PREFIX/bin/tiny"
    chmod 755 "$PREFIX/bin/tiny";;
  'shell-hook --locked --no-install')
    echo "export PATH=\"$PREFIX/bin:\\$PATH\" PIXI_SAYS='the workspace'";;
  *) exit 9;;
esac
`;

const jobFile = (command: string, environment: string): string => `name = "installed"
[train]
command = ${JSON.stringify(command)}
outputs = ["said.txt"]
[environment]
pixi = "pixi.toml"
pixi_environment = "${environment}"
delivery = "install"
fallback = "system"
[run]
attempts = 1
`;

async function run(cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { stderr } = await promisify(execFile)(process.execPath, [cliMain, 'run'], { cwd, env });
  return stderr;
}

async function project(t: TestContext, locks: string, command: string): Promise<[string, NodeJS.ProcessEnv]> {
  const folder = await temporaryFolder(t, { 'updraft.toml': jobFile(command, 'cpu') });
  const v6 = path.join(import.meta.dirname, 'workspaces/v6');
  await cp(path.join(v6, 'pixi.toml'), path.join(folder, 'pixi.toml'));
  await mkdir(path.join(folder, 'bin'));
  const script = pixi(locks.replace('LOCK', `cp '${v6}/pixi.lock' '${folder}/pixi.lock'`));
  await writeFile(path.join(folder, 'bin/pixi'), script, { mode: 0o755 });
  const { PATH = '' } = process.env;
  const env = { ...process.env, PATH: `${folder}/bin:${PATH}`, PREFIX: `${folder}/prefix`, HOME: folder };
  return [folder, env];
}

async function saidIn(folder: string): Promise<{ said: string; journal: string }> {
  const [name = ''] = await runNames(folder);
  const run = path.join(folder, 'runs', name);
  return {
    said: await readFile(path.join(run, 'results/0000/said.txt'), 'utf8'),
    journal: await readFile(path.join(run, 'jobs/0000/attempt-1/agent.jsonl'), 'utf8'),
  };
}

test('the first run has Pixi write the lock and install from it, and trains in that environment', async (t) => {
  const [cwd, env] = await project(t, 'LOCK', 'tiny > said.txt');
  const err = await run(cwd, env);
  const { said, journal } = await saidIn(cwd);
  assert.equal(said, 'python of the workspace\n');
  assert.match(journal, /"environment-ready","how":"pixi: the environment \\"cpu\\" of \S+\/pixi\.toml"/);
  assert.doesNotMatch(err, /own software/);
});

test("if Pixi reaches no channel, the run uses the machine's own software and says so", async (t) => {
  const [cwd, env] = await project(
    t,
    'echo "error: failed to fetch repodata" >&2; exit 1',
    'echo own > said.txt',
  );
  const err = await run(cwd, env);
  assert.match(
    err,
    /failed to fetch repodata[^]*running with this machine's software, not the Pixi environment/,
  );
  const { said, journal } = await saidIn(cwd);
  assert.equal(said, 'own\n');
  assert.match(journal, /"how":"this machine's own software: pixi\.lock does not exist"/);
});

test('a real Pixi does the same, with a local channel', async (t) => {
  if ((await needOnPath(t, 'pixi')) === undefined) return;
  const cwd = await temporaryFolder(t, { 'updraft.toml': jobFile('python > said.txt', 'default') });
  const channel = await writeChannel(cwd, torchPackages());
  const manifest = `[workspace]\nname = "mnist"\nchannels = ["${channel}"]\nplatforms = ["${here}"]\n[dependencies]\npytorch = "*"\n`;
  await writeFile(path.join(cwd, 'pixi.toml'), manifest);
  await run(cwd, { ...process.env, HOME: cwd });
  assert.equal((await saidIn(cwd)).said, `python of ${cwd}/.pixi/envs/default\n`);
});
