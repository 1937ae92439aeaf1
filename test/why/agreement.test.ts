import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { osgLog } from '../../scripts/osg-log.ts';
import type { LogEvent } from '@updraft/htcondor/eventlog';
import { loadRun } from '@updraft/account/journal';
import { parseEventLog, stamps } from '../eventlogs/plain.ts';
import { differences, accountsOfLog, accountsOfRun } from './agreement.ts';
import { eventLogs } from './render-log.ts';

const eventsOf = (log: Uint8Array): LogEvent[] => parseEventLog(log, stamps).events;
const logsIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.log'));
const ends = new Set<LogEvent['kind']>(['held', 'terminated', 'aborted', 'evicted', 'released']);

test('why, report, status and the page agree on every job, after every end in every real log', () => {
  let compared = 0;
  for (const log of logsIn(eventLogs)) {
    const events = eventsOf(readFileSync(path.join(eventLogs, log)));
    for (const [index, { kind }] of events.entries()) {
      if (!ends.has(kind) && index < events.length - 1) continue;
      const said = accountsOfLog(events.slice(0, index + 1));
      compared += said.length;
      assert.deepEqual(differences(said), [], `${log}, event ${index + 1}`);
    }
  }
  assert.ok(compared > 150, `${compared} compared`);
});

test('they agree on each of the published 100 jobs', () => {
  const said = accountsOfLog(eventsOf(Buffer.from(osgLog())));
  assert.deepEqual([said.length, differences(said)], [100, []]);
});

test('they agree on the jobs of runs, by their journals', async () => {
  const journals = path.join(import.meta.dirname, '../journals');
  for (const run of readdirSync(journals))
    assert.deepEqual(differences(accountsOfRun(await loadRun(path.join(journals, run)))), [], run);
});

/** `UPDRAFT_LOGS=FOLDER node --test test/why/agreement.test.ts` compares the logs of a folder. */
const folder = process.env['UPDRAFT_LOGS'];
const skip = folder === undefined && 'UPDRAFT_LOGS is not set';
test('they agree on the logs in the folder UPDRAFT_LOGS', { skip }, (t) => {
  let [logs, jobs, four] = [0, 0, 0];
  const wrong: string[] = [];
  for (const log of logsIn(folder ?? '')) {
    const said = accountsOfLog(eventsOf(readFileSync(path.join(folder ?? '', log))));
    logs += 1;
    jobs += said.length;
    four += said.filter((one) => 'status' in one.said).length;
    wrong.push(...differences(said).map((line) => `${log} ${line}`));
  }
  t.diagnostic(`${logs} logs, ${jobs} jobs, ${four} of them in all four views, ${wrong.length} differ`);
  assert.deepEqual(wrong, []);
});
