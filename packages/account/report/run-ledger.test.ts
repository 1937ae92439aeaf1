/** The same for runs by their journals: what lost, silent and late agents cost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { outcomes, phases, type AgentBody, type Entry, type RunBody } from '../journal/entry.ts';
import { fold } from '../journal/fold.ts';
import { noFacts } from '../history/log-facts.ts';
import { columns, sumOver } from './columns.ts';
import { ledgerOf } from './ledger.ts';

const ledger = (entries: Entry[]) => ledgerOf(fold(entries).jobs, noFacts);

const stamp = (millis: number): string => new Date(Date.UTC(2026, 0, 1) + millis).toISOString();

/** A run of one job with an attempt of arbitrary times, also backwards. */
const attempts = fc.record({
  created: fc.nat(1e7),
  started: fc.nat(1e7),
  ended: fc.option(fc.nat(1e7)),
  outcome: fc.constantFrom(...outcomes),
  said: fc.array(fc.tuple(fc.nat(1e7), fc.constantFrom(...phases)), { maxLength: 12 }),
  restarts: fc.array(fc.nat(1e7), { maxLength: 2 }),
  byeAt: fc.option(fc.nat(2e7)),
});

type Times = typeof attempts extends fc.Arbitrary<infer T> ? T : never;

function entriesOf({ created, started, ended, outcome, said, restarts, byeAt }: Times): Entry[] {
  const run = (millis: number, body: RunBody): Entry => ({ v: 1, t: stamp(millis), seq: 0, ...body });
  const agent = (millis: number, body: AgentBody): Entry => ({
    v: 1,
    t: stamp(millis),
    seq: 0,
    job: '0',
    attempt: 1,
    ...body,
  });
  const hello: AgentBody = { kind: 'agent-started', version: '', host: '', pid: 1, gpus: [] };
  return [
    run(created, {
      kind: 'run-created',
      run: 'r',
      name: 'r',
      pool: 'local',
      jobs: ['0'],
      planHash: '',
      version: '',
    }),
    run(started, { kind: 'attempt-started', job: '0', attempt: 1, why: '' }),
    ...said.map(([millis, phase]) => agent(millis, { kind: 'phase', phase })),
    ...restarts.map((millis) => agent(millis, hello)),
    ...(byeAt === null ? [] : [agent(byeAt, { kind: 'agent-ended', outcome, exit: 0 })]),
    ...(ended === null
      ? []
      : [run(ended, { kind: 'attempt-ended', job: '0', attempt: 1, outcome, exit: 0 })]),
  ];
}

test('every millisecond of an attempt is in one column, and rows and columns add up', () => {
  fc.assert(
    fc.property(attempts, (times) => {
      const { rows, sum } = ledger(entriesOf(times));
      const [row] = rows;
      assert.ok(row !== undefined);
      const parts = columns.map((column) => row.millis[column]);
      assert.ok(parts.every((part) => part >= 0 && Number.isInteger(part)));
      assert.equal(sumOver(row.millis, columns), row.totalMillis);
      assert.equal(sumOver(sum, columns), row.totalMillis);
      // Durations by either machine's clock are kept.
      const wait = Math.max(0, times.started - times.created);
      const access = Math.max(0, (times.ended ?? times.started) - times.started);
      const spoken = [
        ...times.said.map(([millis]) => millis),
        ...times.restarts,
        ...(times.byeAt === null ? [] : [times.byeAt]),
      ];
      const agent = spoken.length === 0 ? 0 : Math.max(...spoken) - (spoken[0] ?? 0);
      assert.equal(row.totalMillis, wait + Math.max(access, agent));
    }),
  );
});

test("time after an agent's last entry is unknown; after its end it is overhead", () => {
  const times: Times = {
    created: 0,
    started: 1000,
    ended: 61_000,
    outcome: 'lost',
    said: [
      [5_000_000, 'training'],
      [5_010_000, 'saving'],
    ],
    restarts: [],
    byeAt: null,
  };
  const rowOf = (given: Times) => ledger(entriesOf(given)).rows[0]?.millis;
  const silent = rowOf(times);
  assert.deepEqual([silent?.lostToEviction, silent?.unknown, silent?.overhead], [10_000, 50_000, 0]);
  const polite = rowOf({ ...times, byeAt: 5_030_000 });
  assert.deepEqual([polite?.lostToEviction, polite?.unknown, polite?.overhead], [10_000, 0, 50_000]);
});
