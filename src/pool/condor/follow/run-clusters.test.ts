/** Which clusters are rounds of a run, and the zone of their times. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import type { LogEvent } from '@updraft/htcondor/eventlog';
import { createParser } from '@updraft/htcondor/testing';
import { openJournal } from '@updraft/account/journal';
import { RunClusters, zoneShift } from './run-clusters.ts';

function submitEvent(cluster: number, batch: string): LogEvent {
  const events: LogEvent[] = [];
  const parser = createParser({ reference: 0, onEvent: (event) => void events.push(event) });
  parser.feed(
    Buffer.from(
      `000 (${cluster}.000.000) 2026-11-15 03:00:00 Job submitted from host: <1.2.3.4>\n    [ JobBatchName = "${batch}" ]\n...\n`,
    ),
  );
  parser.end();
  return events[0]!;
}

test('another cluster counts as soon as the journal has its round, and its jobs keep their ids', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'run-clusters-'));
  t.after(() => rm(folder, { recursive: true }));
  await using journal = await openJournal(path.join(folder, 'journal.jsonl'), systemClock);
  const jobs = ['0000', '0001', '0002'];
  await journal.append({
    kind: 'run-created',
    run: 'r-1',
    name: 'r',
    pool: 'condor',
    jobs,
    planHash: '',
    version: '1',
  });
  await journal.append({ kind: 'submitted', cluster: 7 });
  const clusters = new RunClusters(folder);
  await clusters.refresh();
  assert.equal(clusters.has(submitEvent(9, 'r-1#2')), 'later');
  await journal.append({ kind: 'round-started', round: 2, jobs: ['0002'], why: '' });
  await clusters.refresh();
  assert.equal(clusters.has(submitEvent(9, 'r-1#2')), true);
  assert.deepEqual(clusters.jobOf(9, 0), { job: '0002', round: 2 });
  assert.deepEqual(clusters.jobOf(7, 1), { job: '0001', round: 1 });
  await journal.append({ kind: 'job-released', job: '0001', why: 'updraft retry' });
  await clusters.refresh();
  assert.deepEqual(clusters.retriesOf('0001'), { round: 1, releases: 1 });
  // A round that has not been submitted may never be.
  assert.deepEqual(clusters.retriesOf('0002'), { round: 1, releases: 0 });
  await journal.append({ kind: 'submitted', cluster: 9, round: 2 });
  await clusters.refresh();
  assert.deepEqual(clusters.retriesOf('0002'), { round: 2, releases: 0 });
  for (const other of ['r-10', 'r-1#x', 'r-1 #2', 'else'])
    assert.equal(clusters.has(submitEvent(11, other)), false, other);
});

test("a log without a time zone, read on another machine, gets the journal's times", async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'run-clusters-'));
  t.after(() => rm(folder, { recursive: true }));
  const written = submitEvent(7, 'r-1');
  const now = (written.time ?? NaN) - 6 * 3_600_000;
  await using journal = await openJournal(path.join(folder, 'journal.jsonl'), {
    ...systemClock,
    now: () => now,
  });
  await journal.append({
    kind: 'run-created',
    run: 'r-1',
    name: 'r',
    pool: 'condor',
    jobs: ['0000'],
    planHash: '',
    version: '1',
  });
  await journal.append({ kind: 'submitted', cluster: 7 });
  const clusters = new RunClusters(folder);
  await clusters.refresh();
  assert.equal(clusters.timeOf(written), now);
  const later = {
    kind: 'execute',
    cluster: 7,
    zone: 'unknown',
    time: (written.time ?? NaN) + 5000,
  } as LogEvent;
  assert.equal(clusters.timeOf(later), now + 5000);
  assert.equal(clusters.timeOf({ ...later, zone: 'utc' }), later.time);
});

const at = Date.parse('2026-11-15T12:00:00Z');
const [minute, hour] = [60_000, 3_600_000];

test('a log read in another time zone is shifted by the difference, to the quarter hour', () => {
  for (const off of [-12, -6, -5.5, -0.75, 0, 1, 5.75, 14])
    assert.equal(zoneShift(at + off * hour, at - 5000, at + 5000), 0 - off * hour, String(off));
});

test('clocks seconds apart, and a submission found again hours later, cause no shift', () => {
  assert.equal(zoneShift(at - 20_000, at, at + 5000), 0);
  assert.equal(zoneShift(at + minute, at, at + 5 * hour), 0);
  assert.equal(zoneShift(at, at - 5000, Infinity), 0);
});

test('a difference of days is not a time zone', () => {
  assert.equal(zoneShift(at - 72 * hour, at, at), 0);
});
