/** Attempt numbers of `why`, by HTCondor's log of a run with several clusters. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { systemClock } from '@updraft/base';
import { openJournal } from '@updraft/account/journal';
import { explainStory } from '@updraft/account/why';
import { condorAccount } from '../condor-pool.ts';

const event = (number: string, cluster: number, second: number, title: string, ...body: string[]): string =>
  [
    `${number} (${cluster}.000.000) 2026-03-04 10:00:0${second} ${title}`,
    ...body.map((line) => `\t${line}`),
    '...\n',
  ].join('\n');

const attempt = (cluster: number, second: number, exit?: number): string =>
  event('000', cluster, second, 'Job submitted from host: <10.0.0.1:9618>') +
  event('001', cluster, second, 'Job executing on host: <10.0.0.2:9618>', 'SlotName: slot1@node') +
  (exit === undefined
    ? ''
    : event('005', cluster, second, 'Job terminated.', `(1) Normal termination (return value ${exit})`));

test('a resubmitted job continues its attempt numbers, even after a cluster without attempts', async (t) => {
  const folder = await temporaryFolder(t);
  await using journal = await openJournal(path.join(folder, 'journal.jsonl'), systemClock);
  const run = { run: 'r-1', name: 'r', pool: 'condor', planHash: '', version: '1' } as const;
  await journal.append(
    { kind: 'run-created', ...run, jobs: ['0000'] },
    { kind: 'submitted', cluster: 7 },
    { kind: 'round-started', round: 2, jobs: ['0000'], why: '' },
    { kind: 'submitted', cluster: 8, round: 2 },
    { kind: 'round-started', round: 3, jobs: ['0000'], why: '' },
    { kind: 'submitted', cluster: 9, round: 3 },
  );
  const unmatched =
    event('000', 8, 2, 'Job submitted from host: <10.0.0.1:9618>') +
    event('009', 8, 3, 'Job was aborted.', 'via condor_rm (by user ann)');
  const sentence = async (log: string): Promise<string> => {
    await writeFile(path.join(folder, 'events.log'), log);
    const job = (await condorAccount(folder)).histories?.get('0000');
    assert.ok(job);
    const { title, because } = explainStory(job);
    return `${title}: ${because[0] ?? ''}`;
  };
  assert.match(
    await sentence(attempt(7, 1, 3) + unmatched + attempt(9, 4)),
    /: Attempt 2 at node is running/,
  );
  assert.match(await sentence(attempt(7, 1, 3) + unmatched + attempt(9, 4, 0)), /took more than one attempt/);
  const line = `updraft ${JSON.stringify({ v: 1, t: '2026-03-04T10:00:05Z', seq: 0, job: '0000', attempt: 4, kind: 'agent-paused' })}`;
  assert.match(
    await sentence(attempt(7, 1, 3) + attempt(9, 4) + event('008', 9, 5, line)),
    /: Attempt 4 at node is running/,
  );
});
