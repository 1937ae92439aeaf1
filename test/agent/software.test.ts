import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { AgentHarness } from './agent-harness.ts';
import { serveBytes } from './byte-server.ts';

test('a missing Python module is named before anything is fetched, with every interpreter that was tried', async (t) => {
  const harness = await AgentHarness.open(t);
  const fake = harness.at('python3');
  await writeFile(fake, '#!/bin/sh\necho "no_such_module (not here)" >&2\nexit 1\n', { mode: 0o755 });
  const { exit, stderr } = await harness.run(
    { environment: { python: ['no_such_module'] }, data: [{ url: 'file:///never/asked.tar' }] },
    undefined,
    { PATH: `${harness.folder}:${process.env['PATH'] ?? ''}` },
  );
  assert.equal(exit, 116);
  assert.ok(stderr.includes(`${fake} lacks no_such_module (not here)`), stderr);
  assert.match(stderr, /apt-get install python3-no-such-module/);
  assert.deepEqual(harness.leftovers(), []);
});

test('python3 and python start an interpreter that has the modules', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('python3'), '#!/bin/sh\nif [ "$1" = -c ]; then exit 0; fi\necho "chosen $*"\n', {
    mode: 0o755,
  });
  const { exit } = await harness.run(
    { environment: { python: ['anything'] }, train: { command: 'python "a b" > model.pt' } },
    undefined,
    { PATH: `${harness.folder}:${process.env['PATH'] ?? ''}` },
  );
  assert.equal(exit, 0);
  assert.equal(harness.result('model.pt'), 'chosen a b\n');
});

/** A Python that has every module but cannot import any; training with it fails. */
const brokenPython =
  '#!/bin/sh\ncase "$2" in *import_module*) echo "torch (libcudart.so.12: cannot open shared object file)" >&2; exit 1;; esac\n[ "$1" = -c ]\n';

test('a training that failed because its modules cannot be imported says so', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('python3'), brokenPython, { mode: 0o755 });
  const { exit, stderr } = await harness.run(
    { environment: { python: ['torch'] }, train: { command: 'python3 train.py' } },
    undefined,
    { PATH: `${harness.folder}:${process.env['PATH'] ?? ''}` },
  );
  assert.equal(exit, 116, stderr);
  assert.ok(
    stderr.includes(`${harness.at('python3')} on this machine cannot import torch (libcudart`),
    stderr,
  );
});

test('modules that no interpreter can import end the transfer', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('python3'), brokenPython, { mode: 0o755 });
  const { url } = await serveBytes(t, Buffer.alloc(1 << 20), 1000);
  const { exit, stderr } = await harness.run(
    { environment: { python: ['no_such_module'] }, data: [{ url: `${url}/a.csv` }] },
    undefined,
    { PATH: `${harness.folder}:${process.env['PATH'] ?? ''}` },
  );
  assert.equal(exit, 116, stderr);
  assert.match(
    stderr,
    /no Python on this machine can import no_such_module \(.*python3 lacks torch \(libcudart/,
  );
  assert.deepEqual(harness.entries('fetched'), []);
});

test('during the transfer, an interpreter that cannot import the modules is replaced by one that can', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('python3'), brokenPython, { mode: 0o755 });
  await mkdir(harness.at('good'));
  const good = '#!/bin/sh\nif [ "$1" = -c ]; then exit 0; fi\necho "chosen $*"\n';
  await writeFile(harness.at('good/python3'), good, { mode: 0o755 });
  const server = await serveBytes(t, Buffer.from('1,2,3\n'), 2);
  const agent = harness.start(
    await harness.order({
      environment: { python: ['torch'] },
      data: [{ url: `${server.url}/a.csv` }],
      train: { command: 'python3 a > model.pt' },
    }),
    undefined,
    { PATH: `${harness.folder}:${harness.at('good')}:${process.env['PATH'] ?? ''}` },
  );
  await agent.until((entries) =>
    entries.some((entry) => entry.kind === 'self-test' && entry.checks.some(({ name }) => name === 'python')),
  );
  server.sendRest();
  const { exit, stderr } = await agent.finished;
  assert.equal(exit, 0, stderr);
  assert.equal(harness.result('model.pt'), 'chosen a\n');
});
