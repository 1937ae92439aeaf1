import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { launcherScript, pluginScript } from './launcher.ts';

/** Runs a script where only these programs exist besides the shell. */
async function runWith(
  t: TestContext,
  script: string,
  programs: string[],
  agent?: string,
  file = 'updraft-agent.gz',
) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'launcher-'));
  t.after(() => rm(folder, { recursive: true }));
  if (agent !== undefined) await writeFile(path.join(folder, file), gzipSync(agent));
  for (const name of programs) await symlink(path.join('/usr/bin', name), path.join(folder, name));
  return await new Promise<{ code: unknown; out: string; said: string }>((resolve) => {
    const words = ['-c', script, 'sh', 'word'];
    execFile('/bin/sh', words, { cwd: folder, env: { PATH: folder } }, (error, out, said) => {
      resolve({ code: error?.code ?? 0, out, said });
    });
  });
}

test('the launcher of a job repeats why the agent does not run', async (t) => {
  const agent = '#!/bin/sh\necho "agent: GLIBC_2.28 not found" >&2\nexit 1\n';
  const { code, said } = await runWith(t, launcherScript(), ['mkdir', 'gzip', 'mv', 'chmod'], agent);
  assert.equal(code, 116);
  assert.match(
    said,
    /the agent does not run here: agent: GLIBC_2\.28 not found; it needs glibc 2\.28 or newer/,
  );
});

for (const [name, script] of Object.entries({ job: launcherScript(), plugin: pluginScript })) {
  test(`the ${name}'s launcher names the program that a bare machine lacks, and exits as environment-broken`, async (t) => {
    const bare = await runWith(t, script, []);
    assert.equal(bare.code, 116);
    assert.match(bare.said, /updraft: the agent cannot be unpacked: .* has no gzip/);
    const packed = await runWith(t, script, ['mkdir', 'gzip', 'mv']);
    assert.equal(packed.code, 116);
    assert.match(packed.said, /has no chmod/);
  });

  test(`the ${name}'s launcher reports a missing or damaged agent`, async (t) => {
    const { code, said } = await runWith(t, script, ['mkdir', 'gzip', 'mv', 'chmod']);
    assert.equal(code, 116);
    assert.match(said, /it is damaged, or the disk is full/);
  });

  for (const unpacker of ['gzip', 'python3'])
    test(`the ${name}'s launcher starts the agent if only ${unpacker} can unpack it`, async (t) => {
      const agent = '#!/bin/sh\necho "agent $*"\n';
      const { code, out, said } = await runWith(t, script, ['mkdir', 'mv', 'chmod', unpacker], agent);
      assert.deepEqual([code, out.trim()], [0, name === 'job' ? 'agent sandbox word' : 'agent word'], said);
    });
}

test('a fetched agent is started only if a program of the machine finds its published SHA-256', async (t) => {
  const agent = '#!/bin/sh\necho "agent $*"\n';
  const sha256 = hash('sha256', gzipSync(agent));
  const name = `updraft-agent-linux-x64-${sha256}.gz`;
  const script = launcherScript({ url: `osdf:///me/${name}`, name, sha256 });
  const tools = ['mkdir', 'mv', 'chmod', 'gzip'];
  for (const checker of ['sha256sum', 'python3']) {
    const good = await runWith(t, script, [...tools, checker], agent, name);
    assert.deepEqual([good.code, good.out.trim()], [0, 'agent sandbox word'], good.said);
    const bad = await runWith(t, script, [...tools, checker], '#!/bin/sh\necho hostile\n', name);
    assert.deepEqual([bad.code, bad.out], [101, '']);
    assert.match(
      bad.said,
      /osdf:\/\/\S+ is not the agent that was published: its SHA-256 is [0-9a-f]{64}; upload/,
    );
  }
  const bare = await runWith(t, script, tools, agent, name);
  assert.deepEqual([bare.code, bare.out], [116, '']);
  assert.match(bare.said, /cannot be checked: .* neither sha256sum nor python3/);
});

test('the launcher starts the agent of its image, but one that was sent first, and names one that is not there', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'image-'));
  t.after(() => rm(folder, { recursive: true }));
  const sha256 = 'ab'.repeat(32);
  const file = path.join(folder, `updraft-agent-${sha256}`);
  const script = launcherScript({ url: `image:${file}`, name: path.basename(file), sha256 });
  const tools = ['mkdir', 'mv', 'chmod', 'gzip', 'ln'];
  const missing = await runWith(t, script, tools);
  assert.equal(missing.code, 116);
  assert.match(missing.said, /updraft-agent-\S+ is not in the image; build it again/);
  await writeFile(file, '#!/bin/sh\necho "of the image $*"\n', { mode: 0o755 });
  const own = await runWith(t, script, tools);
  assert.deepEqual([own.code, own.out.trim()], [0, 'of the image sandbox word'], own.said);
  const sent = await runWith(t, script, tools, '#!/bin/sh\necho "sent $*"\n');
  assert.deepEqual([sent.code, sent.out.trim()], [0, 'sent sandbox word'], sent.said);
});
