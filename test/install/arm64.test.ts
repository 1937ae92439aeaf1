import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import packageJson from '../../package.json' with { type: 'json' };
import { findProgram } from '@updraft/base';
import { AgentHarness } from '../agent/agent-harness.ts';
import { makeTarGz } from '../agent/tar.ts';

const project = path.resolve(import.meta.dirname, '../..');
const executable = path.join(project, 'dist/updraft-linux-arm64');
/** Where Debian's `libc6-arm64-cross` has the C library of such a machine; QEMU reads the variable too. */
const library = process.env['QEMU_LD_PREFIX'] ?? '/usr/aarch64-linux-gnu';

/** The words that start the executable on an emulated machine; undefined, and the test skipped, if one is missing. */
async function emulated(t: TestContext): Promise<string[] | undefined> {
  const qemu = await findProgram(['qemu-aarch64-static', 'qemu-aarch64'], process.env);
  const lacks = [
    ...(existsSync(executable) ? [] : [`${path.basename(executable)} is not built (npm run build)`]),
    ...(qemu === undefined ? ['qemu-aarch64 is not on the PATH (Debian: qemu-user-static)'] : []),
    ...(existsSync(path.join(library, 'lib/ld-linux-aarch64.so.1'))
      ? []
      : [`${library} has no C library (Debian: libc6-arm64-cross)`]),
  ];
  if (qemu !== undefined && lacks.length === 0) return [qemu, '-L', library, executable];
  t.skip(lacks.join('; '));
  return undefined;
}

test('the executable for arm64 reads logs, and is the agent of a whole attempt', async (t) => {
  const command = await emulated(t);
  if (command === undefined) return;
  const [program = '', ...words] = command;
  const updraft = (...args: string[]): string =>
    spawnSync(program, [...words, ...args], { encoding: 'utf8' }).stdout;
  const log = path.join(project, 'test/eventlogs/exit3.log');
  assert.equal(updraft('--version'), `${packageJson.version}\n`);
  assert.match(updraft('report', log), /on slots/);
  assert.match(updraft('why', log), /The program exited with code 3/);

  const harness = await AgentHarness.open(t);
  writeFileSync(harness.at('set.tar.gz'), makeTarGz({ 'set/a.txt': 'alpha' }));
  const order = await harness.order({
    data: [{ url: pathToFileURL(harness.at('set.tar.gz')).href }],
    train: { command: 'echo epoch=1; cp data/set/a.txt model.pt' },
  });
  const { exit, stderr } = await harness.start(order, [...command, 'updraft-agent']).finished;
  assert.equal(exit, 0, stderr);
  assert.equal(harness.result('model.pt'), 'alpha');
  assert.equal(harness.entries('progress')[0]?.epoch, 1);
  assert.deepEqual(harness.leftovers(), []);
});
