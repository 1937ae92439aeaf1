import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, cp, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import * as env from '../../src/cli/commands/env.ts';
import { loadWorkspace } from '../../src/environment/load-workspace.ts';
import { condaFile, readLock, selectLocked } from '../../src/environment/pixi-lock.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { makeConda } from './make-conda.ts';
import { makeExecutable, makePack } from './make-pack.ts';

const workspaces = path.join(import.meta.dirname, 'workspaces');

async function workspace(t: TestContext, name = 'v6'): Promise<string> {
  const folder = await temporaryFolder(t, { 'bin/.keep': '' });
  await cp(path.join(workspaces, name), folder, { recursive: true });
  return folder;
}

const run = (folder: string, ...words: string[]) =>
  runCommand(env, words, { cwd: folder, env: { PATH: `${folder}/bin:/usr/bin:/bin`, HOME: folder } });

/** A program that runs a script. */
async function program(folder: string, name: string, script: string): Promise<void> {
  const file = path.join(folder, 'bin', name);
  await writeFile(file, `#!/bin/sh\nfolder='${folder}'\n${script}\n`);
  await chmod(file, 0o755);
}

test('show lists the environments, and prints one in detail', async (t) => {
  const folder = await workspace(t);
  const { out } = await run(folder, 'show');
  assert.match(out, /^cpu\s+3\.12\.8\s+2\.5\.1\s+cpu\s+-\s+3\s+68\.5 MB/m);
  assert.match(out, /^gpu\s+3\.12\.8\s+2\.5\.1\s+gpu\s+12\.6\s+6\s+1\.1 GB/m);
  const one = await run(folder, 'show', '-e', 'gpu');
  assert.match(one.out, /needs +a driver for CUDA 12\.4 or newer, compute capability 5\.0 or higher/);
  assert.match(one.out, /pack +4\.8 GB disk, 2\.6 GB of it kept:/);
  assert.match(one.out, /container +1\.3 GB disk/);
  const json = JSON.parse((await run(folder, 'show', '-e', 'gpu', '--json')).out) as { hash: string };
  assert.match(json.hash, /^[0-9a-f]{64}$/);
});

test('a lock means its workspace, and an archive is refused', async (t) => {
  const folder = await workspace(t);
  assert.match((await run(folder, 'show', 'pixi.lock')).out, /^gpu\s+3\.12\.8/m);
  await assert.rejects(run(folder, 'show', 'gpu-1a2b3c4d.sh'), {
    kind: 'usage',
    message: /is an archive: env show reads the workspace/,
    fix: /updraft env stage/,
  });
  await assert.rejects(
    run(folder, 'stage', 'bin', 'osdf:///x'),
    /bin is a folder, but an object is one file/,
  );
});

for (const [what, words, message] of [
  ['lock', ['lock'], /locking needs pixi, which is not on the PATH/],
  ['pack', ['pack', '-e', 'gpu'], /packing needs pixi-pack, which is not on the PATH/],
  ['image --build', ['image', '-e', 'gpu', '--build'], /building an image needs apptainer/],
] as const)
  test(`${what} says how to install the program that it needs`, async (t) => {
    const folder = await workspace(t);
    await assert.rejects(
      runCommand(env, [...words], { cwd: folder, env: { PATH: `${folder}/bin`, HOME: folder } }),
      (thrown: Error & { fix?: string }) => message.test(thrown.message) && /install/i.test(thrown.fix ?? ''),
    );
  });

test('image --agent puts the agent where both recipes copy it, and prints the line of the job file', async (t) => {
  const folder = await workspace(t);
  await writeFile(path.join(folder, 'agent'), '#!/bin/sh\n', { mode: 0o755 });
  const UPDRAFT_AGENT = path.join(folder, 'agent');
  const { out } = await runCommand(env, ['image', '-e', 'gpu', '--agent'], {
    cwd: folder,
    env: { PATH: '/nowhere', HOME: folder, UPDRAFT_AGENT },
    version: '1.2.3',
  });
  const sha256 = createHash('sha256').update('#!/bin/sh\n').digest('hex');
  const name = `updraft-agent-1.2.3-linux-${process.arch}-${sha256}`;
  assert.equal(out, `[pool]\nagent = "image:/usr/local/bin/${name}"\n`);
  assert.equal(await readFile(path.join(folder, name), 'utf8'), '#!/bin/sh\n');
  assert.equal((await stat(path.join(folder, name))).mode & 0o777, 0o755);
  const recipe = (file: string) => readFile(path.join(folder, file), 'utf8');
  assert.match(await recipe('Dockerfile'), new RegExp(`^COPY ${name} /usr/local/bin/$`, 'm'));
  assert.match(
    await recipe('apptainer.def'),
    new RegExp(`^%files\\n    ${name} /usr/local/bin/${name}$`, 'm'),
  );
});

test('lock has pixi write the lock', async (t) => {
  const folder = await workspace(t);
  await program(folder, 'pixi', 'echo "$@" > "$folder/asked"');
  await run(folder, 'lock');
  assert.match(await readFile(path.join(folder, 'asked'), 'utf8'), /^lock --manifest-path pixi\.toml$/m);
});

test('a package that the manifest got since the lock was written is reported', async (t) => {
  const folder = await workspace(t);
  const text = await readFile(path.join(folder, 'pixi.toml'), 'utf8');
  await writeFile(
    path.join(folder, 'pixi.toml'),
    text.replace(/^\[dependencies\]$/m, '[dependencies]\nscipy = "*"'),
  );
  await assert.rejects(run(folder, 'show', '-e', 'gpu'), {
    kind: 'file-invalid',
    message: /pixi\.lock does not match \S+pixi\.toml: scipy is required, but not locked/,
    fix: 'update the lock with: updraft env lock',
  });
});

/** A self-extracting archive with the package names that the lock has for an environment on a platform. */
async function packOf(folder: string, environment: string, platform: string): Promise<Buffer> {
  const { lock } = await loadWorkspace(path.join(folder, 'pixi.toml'));
  const { packages } = selectLocked(lock, environment, platform);
  const tiny = makeConda('tiny', '1.0', {});
  return makeExecutable(
    makePack({ packages: packages.map(({ url }) => ({ ...tiny, file: condaFile(url) })) }),
  );
}

/** A fake pixi-pack: it records its arguments and the lock, and outputs a prepared archive. */
const packing = `echo "$@" > "$folder/asked"
while [ $# -gt 1 ]; do [ "$1" = --output-file ] && cp "$folder/made" "$2"; shift; done
cp "$(dirname "$1")/pixi.lock" "$folder/read.lock"`;

test('pixi-pack is called, and its archive is named by its hash', async (t) => {
  const folder = await workspace(t);
  const made = await packOf(folder, 'gpu', 'linux-64');
  await writeFile(path.join(folder, 'made'), made);
  await program(folder, 'pixi-pack', packing);
  const { out } = await run(folder, 'pack', '-e', 'gpu');
  const sha256 = createHash('sha256').update(made).digest('hex');
  const name = `mnist-gpu-${sha256.slice(0, 8)}.sh`;
  assert.equal(
    out,
    `[environment]\npixi = "pixi.toml"\npixi_environment = "gpu"\n\n[environment.pack]\nurl = "${name}"\nsha256 = "${sha256}"\n`,
  );
  const asked = await readFile(path.join(folder, 'asked'), 'utf8');
  assert.ok(asked.startsWith('--environment gpu --platform linux-64 --output-file /'), asked);
  assert.match(asked, /--create-executable \S*pixi\.toml\n$/);
  assert.ok((await readdir(folder)).includes(name));
  assert.equal(
    (await readdir(folder)).some((one) => one.startsWith('.updraft-pack-')),
    false,
  );
});

test('if platforms share a subdir, pixi-pack sees only the selected one', async (t) => {
  const folder = await workspace(t, 'v7');
  await program(folder, 'pixi-pack', packing);
  await writeFile(path.join(folder, 'made'), await packOf(folder, 'default', 'linux-64-cuda'));
  await run(folder, 'pack', '-p', 'linux-64-cuda');
  const shown = readLock(await readFile(path.join(folder, 'read.lock'), 'utf8'), 'pixi.lock');
  assert.deepEqual(
    shown.environments.get('default')?.platforms.map(({ name, subdir }) => [name, subdir]),
    [['linux-64-cuda', 'linux-64']],
  );
  assert.equal(selectLocked(shown, 'default', 'linux-64').packages.length, 6);
});

test('for a plain tar, the printed job file names pixi-unpack', async (t) => {
  const folder = await workspace(t);
  const { lock } = await loadWorkspace(path.join(folder, 'pixi.toml'));
  const { packages } = selectLocked(lock, 'gpu', 'linux-64');
  const tiny = makeConda('tiny', '1.0', {});
  const tar = makePack({ packages: packages.map(({ url }) => ({ ...tiny, file: condaFile(url) })) });
  await writeFile(path.join(folder, 'made'), tar);
  await program(folder, 'pixi-pack', packing);
  const { out } = await run(folder, 'pack', '-e', 'gpu', '--tar');
  assert.match(
    out,
    /^\[environment\]\npixi = .*\npixi_environment = "gpu"\npixi_unpack = "pixi-unpack" .*\n\n\[environment\.pack\]\nurl = "mnist-gpu-\w+\.tar"/,
  );
  const text = `name = "x"\n[train]\ncommand = "true"\noutputs = ["m"]\n${out}`;
  await writeFile(path.join(folder, 'updraft.toml'), text);
  await writeFile(path.join(folder, 'pixi-unpack'), '#!/bin/sh\n');
  const { environment } = await loadPlan(folder);
  assert.deepEqual([environment?.delivery, environment?.facts?.torch?.build], ['pack', 'gpu']);
});

test('an archive whose packages differ from the lock is not kept', async (t) => {
  const folder = await workspace(t, 'v7');
  await program(folder, 'pixi-pack', packing);
  await writeFile(path.join(folder, 'made'), await packOf(folder, 'default', 'linux-64-cuda'));
  await assert.rejects(
    run(folder, 'pack', '-p', 'linux-64'),
    /it is not "default" on linux-64: pytorch-2\.5\.1-cpu\S+ is locked but not in it/,
  );
  assert.equal(
    (await readdir(folder)).some((name) => /\.sh$/.test(name)),
    false,
  );
});

test('an archive that lacks a wheel of the lock is not kept', async (t) => {
  const folder = await workspace(t);
  await writeFile(path.join(folder, 'made'), await packOf(folder, 'gpu', 'linux-64'));
  const text = await readFile(path.join(folder, 'pixi.lock'), 'utf8');
  const wheel = 'pypi: https://w.example.org/six-1.17.0-py2.py3-none-any.whl';
  const used = text.replace(/^( {2}gpu:\n[^]*?\n {6}linux-64:\n)/m, `$1      - ${wheel}\n`);
  await writeFile(path.join(folder, 'pixi.lock'), `${used}- ${wheel}\n  name: six\n`);
  await program(folder, 'pixi-pack', packing);
  await assert.rejects(run(folder, 'pack', '-e', 'gpu'), /six 1\.17\.0 is locked but not in it/);
});

test('an archive that pixi-pack leaves broken is not kept', async (t) => {
  const folder = await workspace(t);
  await program(
    folder,
    'pixi-pack',
    `while [ $# -gt 0 ]; do [ "$1" = --output-file ] && echo '#!/bin/sh' > "$2"; shift; done`,
  );
  await assert.rejects(run(folder, 'pack', '-e', 'gpu'), { kind: 'environment-broken' });
  assert.deepEqual((await readdir(folder)).sort(), ['bin', 'pixi.lock', 'pixi.toml']);
});

for (const [what, given, commands] of [
  ['an editable folder', 'pypi: ./', ['pack', 'image']],
  ['a source archive', 'pypi: https://w.example.org/mine-1.0.tar.gz', ['pack']],
  ['a package built from a folder', "conda_source: 'mine[1a2b3c4d] @ .'", ['pack', 'image']],
] as const)
  test(`${what} is refused for a pack, and for an image unless it has a URL`, async (t) => {
    const folder = await workspace(t);
    const text = await readFile(path.join(folder, 'pixi.lock'), 'utf8');
    const used = text.replace(/^( {2}gpu:\n[^]*?\n {6}linux-64:\n)/m, `$1      - ${given}\n`);
    await writeFile(path.join(folder, 'pixi.lock'), `${used}- ${given}\n  name: mine\n`);
    await program(folder, 'pixi-pack', 'exit 9');
    for (const command of commands)
      await assert.rejects(
        run(folder, command, '-e', 'gpu'),
        /pixi\.lock: mine \(.+\) of "gpu" (is built|comes)/,
      );
    if (commands.length === 1) assert.match((await run(folder, 'image', '-e', 'gpu')).out, /pixi install/);
  });

test('the recipes are written beside the manifest, and a changed one is replaced only with --force', async (t) => {
  const folder = await workspace(t);
  await run(folder, 'image', '-e', 'gpu', '--write');
  assert.match(await readFile(path.join(folder, 'Dockerfile'), 'utf8'), /--environment gpu/);
  await run(folder, 'image', '-e', 'gpu', '--write');
  await writeFile(path.join(folder, 'apptainer.def'), 'mine\n');
  await assert.rejects(
    run(folder, 'image', '-e', 'gpu', '--write'),
    /apptainer\.def already exists and differs/,
  );
  // One recipe is a link to a file elsewhere, which stays.
  await rename(path.join(folder, 'apptainer.def'), path.join(folder, 'elsewhere'));
  await symlink('elsewhere', path.join(folder, 'apptainer.def'));
  await run(folder, 'image', '-e', 'gpu', '--write', '--force');
  assert.match(await readFile(path.join(folder, 'apptainer.def'), 'utf8'), /Bootstrap: docker/);
  assert.equal(await readFile(path.join(folder, 'elsewhere'), 'utf8'), 'mine\n');
});

test('names in a manifest cannot inject paths or commands', async (t) => {
  const folder = await workspace(t);
  for (const file of ['pixi.toml', 'pixi.lock']) {
    const text = await readFile(path.join(folder, file), 'utf8');
    const renamed = text.replace('"mnist"', '"../../mnist"').replace(/^ {2}gpu:$/m, '  gpu;id:');
    await writeFile(path.join(folder, file), renamed.replace(/^gpu = /m, '"gpu;id" = '));
  }
  await program(folder, 'pixi-pack', packing);
  await writeFile(path.join(folder, 'made'), await packOf(folder, 'cpu', 'linux-64'));
  await run(folder, 'pack', '-e', 'cpu');
  assert.ok((await readdir(folder)).some((name) => /^mnist-cpu-[0-9a-f]{8}\.sh$/.test(name)));
  await assert.rejects(
    run(folder, 'image', '-e', 'gpu;id'),
    /"gpu;id" is not a valid name for an environment/,
  );
});

test('an archive that no worker could use is not uploaded', async (t) => {
  const folder = await temporaryFolder(t, { 'env.sh': '#!/bin/sh\n' });
  await assert.rejects(run(folder, 'stage', 'env.sh', 'pelican://127.0.0.1:1/x'), {
    kind: 'environment-broken',
  });
});
