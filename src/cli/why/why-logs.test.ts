import assert from 'node:assert/strict';
import path from 'node:path';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import * as why from '../commands/why.ts';

const event = (number: string, id: string, minute: number, rest: string): string =>
  `${number} (${id}.000) 2026-11-15 10:${String(minute).padStart(2, '0')}:00Z ${rest}\n...\n`;
const submit = (id: string, minute = 0, more = ''): string =>
  event('000', id, minute, `Job submitted from host: <192.0.2.1:9618?alias=ap>${more}`);
const held = (id: string, minute = 5): string =>
  event('012', id, minute, 'Job was held.\n\tvia condor_hold (by user alice)\n\tCode 1 Subcode 0');
const failed = (id: string, minute = 5): string =>
  event('001', id, minute, 'Job executing on host: <192.0.2.2:9618?alias=ep>') +
  event('005', id, minute + 1, 'Job terminated.\n\t(1) Normal termination (return value 3)');

const explain = async (words: string[], cwd: string, stdin?: Uint8Array): Promise<Explanation[]> => {
  const pipe = stdin && { stdin: (): AsyncIterable<Uint8Array> => ReadableStream.from([stdin]) };
  const { out } = await runCommand(why, [...words, '--json'], { cwd, ...pipe });
  return (JSON.parse(out) as { jobs: Explanation[] }).jobs;
};

test('jobs of several logs are named with their log', async (t) => {
  const cwd = await temporaryFolder(t, {
    'ada.log': submit('1.000') + held('1.000'),
    'bob.log': submit('2.000', 1) + held('2.000') + submit('3.000', 1) + failed('3.000'),
  });
  const jobs = await explain(['ada.log', 'bob.log'], cwd);
  assert.deepEqual(
    jobs.map(({ job, log, evidence }) => [job, log, evidence[0]?.file]),
    [
      ['1.0', 'ada.log', 'ada.log'],
      ['2.0', 'bob.log', 'bob.log'],
      ['3.0', 'bob.log', 'bob.log'],
    ],
  );
  const { out } = await runCommand(why, ['.'], { cwd });
  assert.match(out, /^2 held: .*\n {2}jobs 1\.0 of ada\.log, 2\.0 of bob\.log\n/);
  const { out: one } = await runCommand(why, ['ada.log', 'bob.log', '3.0'], { cwd });
  assert.match(one, /^3\.0 of bob\.log failed: /);
});

test('a log on stdin, compressed too, is explained like its file', async (t) => {
  const log = readFileSync(path.join(import.meta.dirname, '../../../test/eventlogs/hold404.log'));
  const cwd = await temporaryFolder(t, { 'my.log': log.toString() });
  const [expected] = await explain(['my.log'], cwd);
  for (const bytes of [log, gzipSync(log)]) {
    const [explained] = await explain(['-'], cwd, bytes);
    assert.deepEqual({ ...explained, evidence: [] }, { ...expected, evidence: [] });
    assert.equal(explained?.evidence[0]?.file, 'stdin');
  }
});

test('all clusters of a DAG node are one job, whichever of them is named', async (t) => {
  const node = (id: string, minute: number): string => submit(id, minute, '\n    DAG Node: fit');
  const cwd = await temporaryFolder(t, {
    'dag.log':
      node('1.000', 0) + failed('1.000') + submit('2.000', 6) + node('3.000', 8) + failed('3.000', 9),
  });
  const whole = await explain(['dag.log', 'fit'], cwd);
  assert.equal(whole.length, 1);
  assert.match(whole[0]?.because.join(' ') ?? '', /Attempt 1/);
  for (const word of ['1.0', '3.0', '3'])
    assert.deepEqual(await explain(['dag.log', word], cwd), whole, word);
  await assert.rejects(explain(['dag.log', 'fut'], cwd), /"fut" names no job and no DAG node in dag\.log/);
  await assert.rejects(explain(['dag.log', '9.0'], cwd), /there is no job 9\.0 in dag\.log/);
  await assert.rejects(explain(['dag.log', '1.0', '3.0'], cwd), /why takes one job, and "3\.0" is another/);
});
