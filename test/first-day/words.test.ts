import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { configure as check } from '../../src/cli/commands/check.ts';
import { configure as plan } from '../../src/cli/commands/plan.ts';
import { configure as report } from '../../src/cli/commands/report.ts';
import { configure as why } from '../../src/cli/commands/why.ts';
import { liveView } from '../../src/cli/run-view/watch-run.ts';
import { glyphsFor } from '../../src/cli/text/glyphs.ts';
import { withSchemaHere } from '../../src/cli/text/schema-line.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { runCommand } from '../cli/run-command.ts';
import { growingRun } from '../growing-run.ts';
import { ObjectHarness } from '../objects/object-harness.ts';
import { RunHarness } from '../run/run-harness.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const root = path.resolve(import.meta.dirname, '../..');

const jobFile = (data: string, pool = 'local'): string => `name = "first"
[train]
command = "echo trained > model.pt"
outputs = ["model.pt"]
${data}
[run]
pool = "${pool}"
`;

test('46: the one server of the data is down', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml': jobFile('[data.set]\nurl = "http://127.0.0.1:9/set.tar.gz"'),
  });
  const { out } = await runCommand({ configure: check }, [], { cwd });
  assert.match(out, /could not be checked\n {2}data\.set: its server [\w.:]+ refuses connections\n/);
});

test('47: an expired token, in check and in why', async (t) => {
  const objects = await ObjectHarness.open(t, { caches: 1 });
  await objects.publish('private/set.tar.gz', 100);
  const { env } = objects;
  const harness = await RunHarness.make(t);
  Object.assign(harness.env, { ...env, XDG_STATE_HOME: harness.env['XDG_STATE_HOME'] });
  const token = path.join(harness.folder, 'token');
  await writeFile(token, objects.federation.issueToken({ namespace: '/private', expiresInSeconds: -60 }));
  const data = '[data.set]\nurl = "osdf:///private/set.tar.gz"\ntoken_file = "token"';
  await writeFile(path.join(harness.folder, 'updraft.toml'), jobFile(data));
  const checked = await harness.updraft('check');
  assert.equal(checked.code, 3);
  assert.match(
    checked.out,
    /updraft\.toml:6 {2}token-missing\n.*expired.*\n +fix: put a new one into \S*token: /,
  );
  const ran = await harness.updraft('run', '--no-check');
  assert.equal(ran.code, 1);
  const { out } = await harness.updraft('why');
  assert.match(out, /^0000 failed: the token has expired\n/);
  assert.match(out, /another attempt would fail the same way/);
  assert.ok(out.trim().split('\n').length <= 10, out);
  assert.equal(out.split('expired at').length, 2, 'said once');
});

const event = (number: string, text: string): string =>
  `${number} (001.000.000) 2026-11-15 10:00:00 ${text}\n...\n`;
const submitted = event('000', 'Job submitted from host: <10.0.0.1:9618?alias=ap.example.org>');

test('smaller: a GPU row that averages use asks for no more GPUs', async (t) => {
  const table = [
    'Job terminated.',
    '\t(1) Normal termination (return value 0)',
    '\tPartitionable Resources :    Usage  Request Allocated Assigned',
    '\t   Cpus                 :     0.81        1         1 ',
    '\t   Gpus (Average)       : 140810688        1         1 "GPU-ebb73fb1"',
    '\t   Memory (MB)          :     3844    40960     40960 ',
  ].join('\n');
  const cwd = await temporaryFolder(t, { 'my.log': submitted + event('005', table) });
  const { out } = await runCommand({ configure: report }, ['my.log'], { cwd });
  assert.match(out, /Memory +\S+ GB/);
  assert.doesNotMatch(out, /Gpus|Average|140810688/);
});

test('smaller: a hold whose reason nobody knows, or that has none', async (t) => {
  const held = (reason: string): string => event('012', `Job was held.\n\t${reason}\n\tCode 99 Subcode 3`);
  const cwd = await temporaryFolder(t, {
    'known.log': submitted + held('The site is closed.'),
    'none.log': submitted + held('Reason unspecified'),
  });
  const known = await runCommand({ configure: why }, ['known.log'], { cwd });
  assert.match(known.out, /code 99, subcode 3 and this reason: The site is closed\./);
  const none = await runCommand({ configure: why }, ['none.log'], { cwd });
  assert.match(none.out, /code 99, subcode 3 and no reason/);
  for (const { out } of [known, none]) {
    assert.match(out, /fix +Ask the staff of the access point: HTCondor's own logs say more\./);
    assert.doesNotMatch(out, /Read the reason/);
  }
});

test('smaller: the schema of the demo is the one of this installation', async () => {
  const text = await readFile(path.join(root, 'examples/cifar10/updraft.toml'), 'utf8');
  const [, url = ''] = /^#:schema (\S+)/.exec(await withSchemaHere(text, {})) ?? [];
  assert.match(await readFile(new URL(url), 'utf8'), /"\$schema"/);
});

test('smaller: the checkpoint lines of the page also work by hand', async (t) => {
  const page = await readFile(path.join(root, 'docs/checkpoints.md'), 'utf8');
  const [, snippet = ''] = /```python\n(folder = .*?)```/s.exec(page) ?? [];
  const head =
    'import os, signal, sys\nclass torch:\n  load = print\n  save = lambda state, file: open(file, "w").close()\n';
  const cwd = await temporaryFolder(t, { 'train.py': `${head}state, asked = {}, []\n${snippet}` });
  await promisify(execFile)('python3', ['train.py'], { cwd });
  await readFile(path.join(cwd, 'checkpoints/checkpoint.pt'));
});

test('smaller: a failed training is reported at once', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('exit 3');
  await harness.updraft('run', '--no-check');
  const [run] = await harness.runs();
  const journal = await readFile(path.join(run!, 'jobs/0000/attempt-1/agent.jsonl'), 'utf8');
  const at = (kind: string): number =>
    Date.parse(new RegExp(`"t":"([^"]+)"[^\\n]*"kind":"${kind}"`).exec(journal)?.[1] ?? '');
  assert.ok(at('fault') - at('training-ended') < 4000);
});

test('ranked 12: at 80 columns, watch keeps the time left', async (t) => {
  const run = await growingRun(t, await temporaryFolder(t), ['0000']);
  await run.run({ kind: 'attempt-started', job: '0000', attempt: 1, why: 'first try' });
  await run.agent(
    '0000',
    1,
    { kind: 'agent-started', version: '1', host: 'node-a', pid: 1, gpus: [] },
    { kind: 'phase', phase: 'training' },
    { kind: 'training-started', pid: 2, command: 'python3 train.py' },
    { kind: 'progress', epoch: 16, epochs: 30, loss: 0.125, accuracy: 0.4 },
  );
  const state = await readRunState(run.folder);
  const frame = {
    columns: 80,
    rows: 24,
    now: Date.now(),
    color: false,
    hint: '',
    glyphs: glyphsFor({ LANG: 'C.UTF-8' }),
  };
  assert.match(liveView(state, frame).join('\n'), / 16\/30 .* ETA \d+/);
});

test('ranked 12: a plan for HTCondor names the submit file instead of printing it', async (t) => {
  const cwd = await temporaryFolder(t, { 'updraft.toml': jobFile('', 'condor') });
  const { out } = await runCommand({ configure: plan }, [], { cwd });
  assert.doesNotMatch(out, /transfer_input_files|periodic_release/);
});

test('ranked 12: a report on many logs repeats no list of names', async (t) => {
  const cwd = await temporaryFolder(t);
  const logs = Array.from({ length: 12 }, (_, index) => `job-${index}.log`);
  for (const log of logs) await writeFile(path.join(cwd, log), submitted);
  const { out, err } = await runCommand({ configure: report }, logs, { cwd });
  assert.match(err, /updraft report LOGS --jobs/);
  assert.doesNotMatch(out + err, /job-11\.log/);
});
