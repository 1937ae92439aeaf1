/** Several logs of the same jobs, in any order, also without years. */
import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { logSources } from '@updraft/htcondor/eventlog';
import { logTime } from './log-facts.ts';
import { hasNumber } from './history.ts';
import { readHistory } from './read-history.ts';

const submit = (cluster: number, date: string): string =>
  `000 (${cluster}.000.000) ${date} 10:00:00 Job submitted from host: <192.0.2.1>\n...\n`;
const ended = (cluster: number, date: string): string =>
  `005 (${cluster}.000.000) ${date} 11:00:00 Job terminated.\n\t(1) Normal termination (return value 0)\n` +
  '\tJob terminated of its own accord at 2023-04-27T16:00:00Z with exit-code 0.\n...\n';

/** Reads logs whose files were last written in these years. */
async function read(t: TestContext, logs: Record<string, [text: string, year: number]>) {
  const texts = Object.fromEntries(Object.entries(logs).map(([name, [text]]) => [name, text]));
  const folder = await temporaryFolder(t, texts);
  for (const [name, [, year]] of Object.entries(logs)) {
    const written = new Date(Date.UTC(year, 10, 1));
    await utimes(path.join(folder, name), written, written);
  }
  return readHistory(await logSources(Object.keys(logs), { cwd: folder }));
}

test('a log without a year takes it from one that is read with it', async (t) => {
  const { facts } = await read(t, {
    'known.log': [submit(1, '04/27') + ended(1, '04/27'), 2026],
    'copied.log': [submit(2, '04/28'), 2026],
  });
  const years = [facts.firstTime, facts.lastTime].map((time) => new Date(time ?? 0).getFullYear());
  assert.deepEqual([years, facts.guessedYear], [[2023, 2023], false]);
});

test('the order in which logs are named changes nothing', async (t) => {
  const logs: Record<string, [string, number]> = {
    'old.log': [submit(1, '2013-11-15') + ended(1, '2013-11-15'), 2026],
    'new.log': [submit(2, '2026-04-19') + ended(2, '2026-04-19'), 2026],
    'bare.log': [submit(3, '12/29'), 2026],
    'same.log': [submit(2, '2026-04-19').replace('192.0.2.1', '192.0.2.2'), 2026],
  };
  const undated = await read(t, { ...logs, 'bare.log': [submit(3, '12/29'), 1970] });
  assert.equal(undated.facts.firstTime, (await read(t, logs)).facts.firstTime);
  const turned = Object.fromEntries(Object.entries(logs).toReversed());
  const [one, other] = [await read(t, logs), await read(t, turned)];
  assert.deepEqual(one.facts, other.facts);
  assert.deepEqual(one.jobs, other.jobs);
  assert.equal(new Date(one.facts.lastTime ?? 0).getFullYear(), 2026);
  assert.deepEqual(one.jobs.map(({ id }) => id).sort(), ['1.0', '2.0', '2.0#2', '3.0']);
});

test('a word names a job as logs and reports write its id', () => {
  const [first, second] = [{ id: '12.3' }, { id: '12.3#2', earlierIds: ['7.0'] }];
  for (const word of ['12', '12.3', '12.003', '012.003.000'])
    assert.deepEqual([hasNumber(first, word), hasNumber(second, word)], [true, true], word);
  for (const word of ['12.3#2', '7', '7.0'])
    assert.deepEqual([hasNumber(first, word), hasNumber(second, word)], [false, true], word);
  for (const word of ['1', '12.33', '3', 'train', ''])
    assert.deepEqual([hasNumber(first, word), hasNumber(second, word)], [false, false], word);
});

test('logs without a year agree on it, and that it is guessed is said', async (t) => {
  const { facts } = await read(t, {
    'a.log': [submit(1, '04/27'), 2026],
    'b.log': [submit(2, '04/27'), 2023],
  });
  assert.equal(facts.firstTime, facts.lastTime);
  assert.equal(new Date(facts.firstTime ?? 0).getFullYear(), 2023);
  assert.equal(facts.guessedYear, true);
  assert.equal((await read(t, { 'a.log': [submit(1, '04/27'), 2026] })).facts.guessedYear, true);
  assert.equal((await read(t, { 'a.log': [submit(1, '2026-04-27'), 2026] })).facts.guessedYear, false);
});

test('the zone is the one that the log names, or shows by an end in UTC; its own clock is kept', async (t) => {
  const shown = (await read(t, { 'a.log': [submit(1, '04/27') + ended(1, '04/27'), 2026] })).facts;
  assert.equal(shown.zone, 'UTC-05:00');
  assert.equal(logTime(shown.firstTime ?? 0, shown), '2023-04-27 10:00:00 UTC-05:00');
  const named = submit(1, '2026-04-27').replace('10:00:00', '10:00:00+02:00');
  const { facts } = await read(t, { 'a.log': [named, 2026] });
  assert.deepEqual([facts.zone, facts.offsetMinutes], ['UTC+02:00', 120]);
  assert.equal(logTime(facts.firstTime ?? 0, facts), '2026-04-27 10:00:00 UTC+02:00');
});

test('a log without events of transfers says so', async (t) => {
  const moving = '040 (1.000.000) 2026-04-27 10:00:01 Started transferring input files\n...\n';
  assert.equal((await read(t, { 'a.log': [submit(1, '2026-04-27'), 2026] })).facts.hasTransfers, false);
  assert.equal(
    (await read(t, { 'a.log': [submit(1, '2026-04-27') + moving, 2026] })).facts.hasTransfers,
    true,
  );
});

const node = (cluster: number, name: string, end: string): string =>
  `000 (${cluster}.000.000) 2026-01-0${cluster} 10:00:00 Job submitted from host: <192.0.2.1>\n    DAG Node: ${name}\n...\n` +
  `005 (${cluster}.000.000) 2026-01-0${cluster} 11:00:00 Job terminated.\n\t(1) Normal termination (return value ${end})\n...\n`;

test('nodes of the same name in different logs are different jobs', async (t) => {
  const { jobs } = await read(t, { 'x.log': [node(1, 'A', '1'), 2026], 'y.log': [node(2, 'A', '0'), 2026] });
  assert.deepEqual(
    jobs.map(({ id, outcome, log }) => [id, outcome, log]),
    [
      ['1.0', 'failed', 'x.log'],
      ['2.0', 'success', 'y.log'],
    ],
  );
});

test("DAGMan's own logs show which DAG a node is of, also in a log that two DAGs share", async (t) => {
  const { jobs } = await read(t, {
    'shared.log': [node(1, 'A', '1') + node(2, 'A', '0'), 2026],
    'retried.log': [node(3, 'A', '0'), 2026],
    'x.dag.nodes.log': [node(1, 'A', '1') + node(3, 'A', '0'), 2026],
    'y.dag.nodes.log': [node(2, 'A', '0'), 2026],
  });
  assert.deepEqual(
    jobs.map(({ id, earlierIds, dag }) => [id, earlierIds, dag]),
    [
      ['3.0', ['1.0'], 'x.dag'],
      ['2.0', undefined, 'y.dag'],
    ],
  );
});

test("no secret in HTCondor's words is kept, whatever they are about", async (t) => {
  const token = ['ghp', 'planted0123456789planted0123'].join('_');
  const said = `see https://bob:planted1@h/x?access_token=planted2 Authorization: Bearer planted3.x (token: PLANTEDx) ${token}`;
  const event = (number: string, second: number, text: string): string =>
    `${number} (1.000.000) 2026-04-27 10:00:0${second} ${text}\n...\n`;
  const folder = await temporaryFolder(t, {
    'a.log': [
      submit(1, '2026-04-27'),
      event('001', 1, 'Job executing on host: <192.0.2.2>'),
      event('021', 2, `Error from slot1@e1:\n\t${said}`),
      event('007', 3, `Shadow exception!\n\t${said}`),
      event('012', 4, `Job was held.\n\t${said}\n\tCode 34 Subcode 0`),
      event('013', 5, `Job was released.\n\t${said}`),
      event('009', 6, `Job was aborted.\n\t${said}`),
    ].join(''),
  });
  const sources = await logSources(['a.log'], { cwd: folder });
  const { jobs } = await readHistory(sources, { evidence: true });
  const kept = JSON.stringify(jobs);
  assert.doesNotMatch(kept, /planted/i);
  for (const part of ['complaint', 'holds', 'releases', 'removal', '"reason":"see https://h/x'])
    assert.ok(kept.includes(part), part);
});

test('while it reads a large log, Bun collects garbage', async (t) => {
  const collections: boolean[] = [];
  const gc = (synchronously: boolean): void => void collections.push(synchronously);
  Object.assign(globalThis, { Bun: { gc } });
  t.after(() => Reflect.deleteProperty(globalThis, 'Bun'));
  await read(t, { 'large.log': [submit(1, '04/27').repeat(250_000), 2026] });
  assert.deepEqual(collections, [false, false]);
});
