import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { carriedLibrary } from '../../scripts/agent-bundle.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { fillRoot } from '../empty-root.ts';
import { demoFederation } from '../mini/demo-federation.ts';
import { AgentHarness, executable } from './agent-harness.ts';
import { makeTarGz } from './tar.ts';

/** True, and the test skipped, if the executable is not built. */
function isMissing(t: TestContext, file = executable): boolean {
  const missing = !existsSync(file);
  if (missing) t.skip(`${path.basename(file)} is not built (npm run build:agent)`);
  return missing;
}

const archive = makeTarGz({ 'set/a.txt': 'alpha' });

test('the executable prints its version', (t) => {
  if (isMissing(t)) return;
  const { stdout, status } = spawnSync(executable, ['--version'], { encoding: 'utf8' });
  assert.equal(stdout, `${packageJson.version}\n`);
  assert.equal(status, 0);
});

for (const [arch, machine] of [
  ['x64', 0x3e],
  ['arm64', 0xb7],
] as const)
  test(`the executable for ${arch} is a program for that machine`, (t) => {
    const file = path.join(path.dirname(executable), `updraft-agent-linux-${arch}`);
    if (isMissing(t, file)) return;
    const bytes = readFileSync(file);
    assert.equal(bytes.toString('latin1', 0, 4), '\x7fELF');
    assert.equal(bytes.readUInt16LE(18), machine);
    assert.ok(bytes.includes('updraft-agent run ORDER.json'), 'the agent is not in it');
  });

test('the executable does what the sources do, in less than 120 MB', async (t) => {
  if (isMissing(t)) return;
  const harness = await AgentHarness.open(t);
  writeFileSync(harness.at('set.tar.gz'), archive);
  const train = { command: 'echo ready; while [ ! -e go ]; do sleep 0.05; done; cp data/set/a.txt model.pt' };
  const data = [{ url: pathToFileURL(harness.at('set.tar.gz')).href }];
  const agent = harness.start(await harness.order({ data, train }), [executable]);
  await agent.untilOut('ready');
  const status = readFileSync(`/proc/${agent.child.pid ?? 0}/status`, 'utf8');
  const peakBytes = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  t.diagnostic(`peak resident memory ${(peakBytes / 1e6).toFixed(0)} MB`);
  assert.ok(peakBytes < 120e6, `${peakBytes}`);
  const [scratch = ''] = harness.leftovers();
  const placed = harness.at(path.join('scratch', scratch, 'python/updraft'));
  const texts = readdirSync(placed).map((name) => [name, readFileSync(path.join(placed, name), 'utf8')]);
  assert.deepEqual(Object.fromEntries(texts), carriedLibrary());
  writeFileSync(harness.at(path.join('scratch', scratch, 'work', 'go')), '');
  assert.equal((await agent.finished).exit, 0);
  assert.equal(harness.result('model.pt'), 'alpha');
  assert.deepEqual(harness.leftovers(), []);
});

test('after fetching and unpacking, the executable returns its memory', async (t) => {
  if (isMissing(t)) return;
  const { federation, folder } = await demoFederation(t);
  const harness = await AgentHarness.open(t);
  writeFileSync(path.join(folder, 'demo/set.tar.gz'), makeTarGz({ 'set/a.bin': randomBytes(50_000_000) }));
  const train = { command: 'echo ready; while [ ! -e go ]; do sleep 0.05; done; echo x > model.pt' };
  const env = { UPDRAFT_OSDF_HOST: federation.discoveryHost, SSL_CERT_FILE: federation.caFile };
  const order = await harness.order({ data: [{ url: 'osdf:///demo/set.tar.gz' }], train });
  const agent = harness.start(order, [executable], env);
  await agent.untilOut('ready');
  const status = readFileSync(`/proc/${agent.child.pid ?? 0}/status`, 'utf8');
  const bytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  t.diagnostic(`resident memory ${(bytes / 1e6).toFixed(0)} MB`);
  assert.ok(bytes < 120e6, `${bytes}`);
  const [scratch = ''] = harness.leftovers();
  writeFileSync(harness.at(path.join('scratch', scratch, 'work', 'go')), '');
  assert.equal((await agent.finished).exit, 0);
});

test('on SIGTERM the executable saves the checkpoint and cleans up', async (t) => {
  if (isMissing(t)) return;
  const harness = await AgentHarness.open(t);
  const command =
    'trap "echo saved > ckpt/state; exit 0" TERM; echo ready; while :; do sleep 1000 & wait; done';
  const agent = harness.start(await harness.order({ train: { command, checkpoint: 'ckpt' } }), [executable]);
  await agent.untilOut('ready');
  agent.child.kill('SIGTERM');
  assert.equal((await agent.finished).exit, 113);
  assert.deepEqual(harness.checkpoint(), { state: 'saved\n' });
  assert.deepEqual(harness.leftovers(), []);
});

test('neither variables nor files of the worker can make the executable run something else', async (t) => {
  if (isMissing(t)) return;
  const harness = await AgentHarness.open(t);
  writeFileSync(harness.at('other.js'), 'console.log("something else"); process.exit(0)');
  writeFileSync(harness.at('bunfig.toml'), 'preload = ["./other.js"]\n');
  writeFileSync(harness.at('.env'), 'BUN_OPTIONS=--preload=./other.js\n');
  for (const env of [
    {},
    { BUN_OPTIONS: '--preload=./other.js' },
    { BUN_BE_BUN: '1' },
    { BUN_INSPECT_PRELOAD: './other.js' },
    { BUN_INSPECT: 'ws://127.0.0.1:0/' },
    { NODE_OPTIONS: '--require ./other.js' },
    { BUN_FEATURE_FLAG_INTERNAL_FOR_TESTING: '1' },
  ]) {
    const done = spawnSync(executable, ['--version'], {
      cwd: harness.folder,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
    assert.equal(done.stdout, `${packageJson.version}\n`, JSON.stringify(env));
    assert.equal(done.stderr, '', JSON.stringify(env));
  }
});

test('no crash report is ever sent, whatever the environment says', async (t) => {
  if (isMissing(t)) return;
  const harness = await AgentHarness.open(t);
  const [curl, infile] = [harness.at('curl'), harness.at('in')];
  writeFileSync(curl, `#!/bin/sh\ntouch ${harness.at('called')}\n`, { mode: 0o755 });
  spawnSync('mkfifo', [infile]);
  const agent = spawn(executable, ['-infile', infile, '-outfile', harness.at('out')], {
    env: {
      PATH: `${harness.folder}:${process.env['PATH'] ?? ''}`,
      BUN_ENABLE_CRASH_REPORTING: '1',
      BUN_CRASH_REPORT_URL: 'https://reports.invalid',
    },
    stdio: 'ignore',
  });
  const ended = once(agent, 'close');
  // Opens only once the agent reads it, and so is up.
  await using pipe = await open(infile, 'w');
  assert.ok(pipe.fd > 0);
  agent.kill('SIGSEGV');
  assert.equal((await ended)[1], 'SIGSEGV');
  assert.equal(existsSync(harness.at('called')), false);
});

test('an attempt runs in a root folder that holds only the C library and a shell', async (t) => {
  if (isMissing(t)) return;
  if (os.userInfo().uid !== 0) {
    t.skip('chroot and mounting /proc need root');
    return;
  }
  const harness = await AgentHarness.open(t);
  fillRoot(harness.folder, executable);
  copyFileSync(executable, harness.at('agent'));
  writeFileSync(harness.at('set.tar.gz'), archive);
  // The kernel's own view of processes: every worker and container has it.
  mkdirSync(harness.at('proc'));
  assert.equal(spawnSync('mount', ['-t', 'proc', 'proc', harness.at('proc')]).status, 0);
  try {
    const order = await harness.order({
      data: [{ url: 'file:///set.tar.gz' }],
      train: {
        command: 'echo epoch=1; read line < data/set/a.txt; echo "trained on $line" > model.pt',
        check: 'read line < model.pt; [ "$line" = "trained on alpha" ]',
      },
      filesFrom: '/files',
      scratchParent: '/scratch',
      resultsTo: '/results/0000',
      attemptFolder: '/job/attempt-1',
    });
    const inside = `/${path.relative(harness.folder, order)}`;
    const done = spawnSync('chroot', [harness.folder, '/agent', 'run', inside], {
      env: { PATH: process.env['PATH'] },
      encoding: 'utf8',
    });
    assert.equal(done.stderr, '');
    assert.equal(done.status, 0);
  } finally {
    assert.equal(spawnSync('umount', [harness.at('proc')]).status, 0);
  }
  assert.equal(harness.result('model.pt'), 'trained on alpha\n');
  assert.equal(harness.entries('progress')[0]?.epoch, 1);
  assert.deepEqual(harness.leftovers(), []);
});
