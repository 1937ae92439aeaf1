import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../test/agent/manual-clock.ts';
import { abortable } from '@updraft/base';
import type { ConnectionPool } from '../../http/connections.ts';
import { defaultTransferLimits } from '../limits.ts';
import type { Sink } from '../sinks/sink.ts';
import { SegmentScheduler } from './assignment.ts';
import { Fetchers } from './fetchers.ts';
import { Roster, type Source } from './roster.ts';
import { SegmentMap } from './segments.ts';

test('while the only cache at work is between two answers, one without the object is not made to fetch it', async () => {
  const clock = new ManualClock();
  const roster = new Roster();
  const servers = ['a', 'b', 'c'].map((host) => ({
    url: `http://${host}/x`,
    host,
    kind: 'cache' as const,
  }));
  const headers = () => Promise.resolve({});
  roster.add({ url: 'osdf:///x', servers, requireToken: false, headers }, clock.monotonic());
  const [dropped, cold, atWork] = roster.sources as [Source, Source, Source];
  const segments = new SegmentMap(64 << 20);
  const fetchers = new Fetchers(clock);
  const limits = defaultTransferLimits;
  const known = { size: segments.size, etag: undefined, modified: undefined };
  const sink = { maxSegment: Infinity, alignment: 1, before: Infinity } as Sink;
  const pool = {} as ConnectionPool;
  const scheduler = new SegmentScheduler(
    { clock, limits, sink, segments, known, isProvable: true, pool },
    roster,
    fetchers,
  );
  const start = (work: Parameters<Fetchers['start']>[0]): void =>
    fetchers.start(
      work,
      ({ controller }) => abortable(new Promise<void>(() => undefined), controller.signal),
      () => undefined,
    );
  scheduler.found(dropped, 60);
  const segment = segments.claim({ server: 'c', limit: 8 << 20, before: Infinity, grain: 1 })!;
  start({ source: atWork, segment, helps: true });
  const fetcher = { segment, source: atWork, startedAt: 0 } as Parameters<SegmentScheduler['consider']>[0];
  assert.ok(scheduler.consider(fetcher, 0));
  cold.cold = true;
  const asked = [];
  for (const work of scheduler.next()) {
    asked.push([work.source.server.host, work.helps]);
    start(work);
  }
  assert.deepEqual(asked, [['a', true]]);
  // Once they all have been silent for long, whoever can is asked for the object.
  await clock.pass(3_000);
  assert.deepEqual(
    [...scheduler.next()].map(({ source, helps }) => [source.server.host, helps]),
    [['b', false]],
  );
  await fetchers.stop();
});
