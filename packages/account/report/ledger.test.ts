/** Event logs, event by event: in which column of the ledger each second is counted. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseText } from '../../../test/eventlogs/plain.ts';
import { addAmounts, columns, lossColumns, lossIn, noAmounts, sumOver } from './columns.ts';
import { ledger, ledgerOf } from './ledger.ts';
import { noFacts } from '../history/log-facts.ts';
import { LogFold } from '../history/log-fold.ts';

const start = Date.UTC(2026, 0, 1);

/** An event as HTCondor writes it. */
function written(job: number, seconds: number, body: string): string {
  const [number = '', ...text] = body.split('|');
  const stamp = new Date(start + seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
  return `${number} (001.00${job}.000) ${stamp}Z ${text.join('|')}\n...\n`;
}

const submit = '000|Job submitted from host: <192.0.2.1:9618?alias=ap>';
const inputStarted = '040|Started transferring input files';
const inputFinished = '040|Finished transferring input files';
const outputStarted = '040|Started transferring output files';
const outputFinished = '040|Finished transferring output files';
const execute = '001|Job executing on host: <192.0.2.2:9618?alias=ep>\n\tSlotName: slot1_1@ep';
const terminate = (value: number) => `005|Job terminated.\n\t(1) Normal termination (return value ${value})`;
const evict = '004|Job was evicted. Code 1022 Subcode 0\n\t(0) CPU times\n\tReason: vacated';
const hold = (code: number, reason = 'because') => `012|Job was held.\n\t${reason}\n\tCode ${code} Subcode 0`;

const bodies = [
  submit,
  inputStarted,
  inputFinished,
  outputStarted,
  outputFinished,
  execute,
  evict,
  '040|Entered queue to transfer input files',
  '003|Job was checkpointed.',
  '013|Job was released.\n\tx',
  '007|Shadow exception!\n\tError: stalled',
  '009|Job was aborted.\n\tvia condor_rm (by user alice)',
  '010|Job was suspended.\n\tNumber of processes actually suspended: 1',
  '011|Job was unsuspended.',
  '022|Job disconnected, attempting to reconnect\n    x\n    Trying to reconnect to slot1@ep <a>',
  '023|Job reconnected to slot1@ep\n    startd address: <a>\n    starter address: <b>',
  '024|Job reconnection failed\n    x\n    Can not reconnect to slot1@ep, rescheduling job',
  '006|Image size of job updated: 10',
  '004|Job was evicted.\n\t(1) Job was checkpointed.',
  terminate(0),
  terminate(1),
  terminate(112),
  hold(13),
  hold(47),
  hold(1),
  hold(12),
];

test('sums and losses have all of their columns', () => {
  const powers = noAmounts();
  for (const [at, column] of columns.entries()) powers[column] = 2 ** at;
  const sum = noAmounts();
  addAmounts(sum, powers);
  assert.deepEqual(sum, powers);
  assert.equal(lossIn(powers), sumOver(powers, lossColumns));
});

test('every millisecond of a job is in one column, for any events in any order', async () => {
  const event = fc.tuple(fc.nat(2), fc.nat(10_000), fc.constantFrom(...bodies));
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const log = events.map(([job, seconds, body]) => written(job, seconds, body)).join('');
      const fold = new LogFold();
      for (const one of parseText(log)) fold.add(one);
      const jobs = fold.finish();
      const { rows, sum, totalMillis, slotMillis } = ledgerOf(jobs, fold.facts);
      for (const [index, row] of rows.entries()) {
        const job = jobs[index];
        assert.ok(job !== undefined);
        assert.ok(columns.every((column) => Number.isInteger(row.millis[column]) && row.millis[column] >= 0));
        assert.equal(sumOver(row.millis, columns), job.to - job.from);
        const parts = [...job.attempts.flatMap(({ waits, spans }) => [...waits, ...spans]), ...job.after];
        for (const [at, { from, to }] of parts.entries()) {
          assert.ok(to > from, 'no part is empty');
          assert.equal(from, at === 0 ? 0 : parts[at - 1]?.to, 'parts follow each other');
        }
      }
      assert.equal(sumOver(sum, columns), totalMillis);
      assert.equal(slotMillis, totalMillis - sum.queued - sum.idle - sum.held);
      const again = await ledger(parseText(log));
      assert.deepEqual(again.sum, sum);
    }),
    { numRuns: 300 },
  );
});

const logs = path.join(import.meta.dirname, '../../../test/eventlogs');

test('the columns of every real log add up to the time between first and last event', async () => {
  for (const name of readdirSync(logs).filter((file) => file.endsWith('.log'))) {
    const events = parseText(readFileSync(path.join(logs, name), 'utf8'));
    const { rows } = await ledger(events);
    for (const { job, totalMillis } of rows) {
      const own = events.filter(({ cluster, proc }) => `${cluster}.${proc}` === job);
      const times = own.map(({ time }) => time ?? 0);
      assert.equal(totalMillis, Math.max(...times) - (times[0] ?? 0), `${name}, job ${job}`);
    }
  }
});

/** The only job of a log, in seconds, without empty columns. */
async function account(events: [number, string][]): Promise<Record<string, unknown>> {
  const { rows } = await ledger(parseText(events.map(([at, body]) => written(0, at, body)).join('')));
  const [row] = rows;
  assert.ok(row !== undefined && rows.length === 1);
  const used = columns.filter((column) => row.millis[column] > 0);
  return {
    outcome: row.outcome,
    ...Object.fromEntries(used.map((column) => [column, row.millis[column] / 1000])),
  };
}

const begun: [number, string][] = [
  [0, submit],
  [10, inputStarted],
  [30, inputFinished],
  [31, execute],
];

test('a successful job is queued, useful transfer, useful compute and returning results', async () => {
  const events: [number, string][] = [
    ...begun,
    [131, outputStarted],
    [135, outputFinished],
    [136, terminate(0)],
  ];
  assert.deepEqual(await account(events), {
    outcome: 'success',
    queued: 10,
    usefulTransfer: 20,
    overhead: 2,
    usefulCompute: 100,
    returning: 4,
  });
});

const saved: [number, string][] = [...begun, [91, outputStarted], [94, outputFinished], [104, evict]];
const resumed: [number, string][] = [...saved, [110, execute]];

test('an eviction loses only what came after the last checkpoint that a later attempt used', async () => {
  assert.deepEqual(await account([...resumed, [160, terminate(0)]]), {
    outcome: 'success',
    queued: 10,
    idle: 6,
    usefulTransfer: 20,
    overhead: 1,
    usefulCompute: 110,
    saving: 3,
    lostToEviction: 10,
  });
});

test('a checkpoint that no attempt has used yet is not decided', async () => {
  const row = await account(saved);
  assert.deepEqual([row['outcome'], row['underWay'], row['usefulCompute']], ['waiting', 60, undefined]);
  const running = await account([...resumed, [120, '006|Image size of job updated: 10']]);
  assert.deepEqual([running['usefulCompute'], running['underWay']], [60, 10]);
});

test('all compute of a removed job is lost, including used checkpoints', async () => {
  const removed = '009|Job was aborted.\n\tvia condor_rm (by user alice)';
  const row = await account([...resumed, [160, removed]]);
  assert.deepEqual([row['usefulCompute'], row['saving'], row['lostToRemoval']], [undefined, undefined, 113]);
  const limit = await account([
    ...begun,
    [91, outputStarted],
    [94, outputFinished],
    [94, hold(47)],
    [95, removed],
  ]);
  assert.deepEqual(
    [limit['outcome'], limit['usefulCompute'], limit['lostToTimeLimit']],
    ['removed', undefined, 63],
  );
});

test('incomplete output is not a checkpoint', () => {
  const spans = [
    { doing: 'training' as const, from: 0, to: 100 },
    { doing: 'returning' as const, from: 100, to: 110, failed: true as const },
  ];
  const rest = { checkpointed: false, site: '', machine: '', gpu: '', resources: [], waits: [] };
  const first = { number: 1, spans, ending: 'evicted' as const, cause: 'evicted' as const, ...rest };
  const later = [{ doing: 'training' as const, from: 110, to: 150 }];
  const attempts = [first, { number: 2, spans: later, ending: 'success' as const, ...rest }];
  const job = { id: '1.0', from: 0, to: 150, attempts, after: [], outcome: 'success' as const };
  const { sum } = ledgerOf([job], noFacts);
  assert.deepEqual([sum.usefulCompute, sum.lostToEviction], [40, 110]);
});

test('another cluster of a DAG node does not use checkpoints of the previous one', () => {
  const rest = { checkpointed: false, site: '', machine: '', gpu: '', resources: [], waits: [] };
  const spans = [
    { doing: 'training' as const, from: 0, to: 100 },
    { doing: 'returning' as const, from: 100, to: 110 },
  ];
  const first = {
    number: 1,
    id: '1.0',
    spans,
    ending: 'evicted' as const,
    cause: 'evicted' as const,
    ...rest,
  };
  const later = [{ doing: 'training' as const, from: 110, to: 150 }];
  const attempts = [first, { number: 2, id: '2.0', spans: later, ending: 'success' as const, ...rest }];
  const job = { id: '1.0', node: 'A', from: 0, to: 150, attempts, after: [], outcome: 'success' as const };
  assert.deepEqual(ledgerOf([job], noFacts).sum.usefulCompute, 40);
});

test('a time limit, a wrong output and a failure each have their own column', async () => {
  assert.equal((await account([...begun, [81, hold(47)]]))['lostToTimeLimit'], 50);
  const [[first], ...others] = begun as [[number, string], ...[number, string][]];
  const ours: [number, string][] = [[first, `${submit}\n    Updraft run r`], ...others];
  assert.equal((await account([...ours, [81, terminate(112)]]))['lostToWrongOutput'], 50);
  assert.equal((await account([...begun, [81, terminate(112)]]))['lostToFailure'], 50);
  assert.equal((await account([...begun, [81, terminate(1)]]))['lostToFailure'], 50);
  assert.equal((await account([...begun, [81, hold(34)]]))['lostToFailure'], 50);
});

test('a stalled transfer, and one of an attempt without a result, are not useful', async () => {
  const stalled: [number, string][] = [
    [0, submit],
    [5, inputStarted],
    [105, '007|Shadow exception!\n\tstalled'],
  ];
  assert.deepEqual(await account(stalled), { outcome: 'waiting', queued: 5, retriedTransfer: 100 });
  assert.equal((await account([...begun, [81, evict]]))['retriedTransfer'], 20);
});

test('held and idle time is between attempts and not on a slot', async () => {
  const events: [number, string][] = [
    ...([
      [0, submit],
      [5, inputStarted],
      [25, hold(13)],
      [65, '013|Job was released.\n\tx'],
    ] as [number, string][]),
    ...([
      [70, inputStarted],
      [75, inputFinished],
      [75, execute],
      [80, terminate(0)],
    ] as [number, string][]),
  ];
  assert.deepEqual(await account(events), {
    outcome: 'success',
    queued: 5,
    retriedTransfer: 20,
    held: 40,
    idle: 5,
    usefulTransfer: 5,
    usefulCompute: 5,
  });
});

test("an attempt that ended because the access point's disk was full is not lost to eviction", async () => {
  const full = evict
    .replace('1022', '1007')
    .replace('vacated', "stdout: couldn't write: Disk quota exceeded");
  const { lostToEviction, lostToFailure, usefulCompute } = await account([
    ...begun,
    [41, full],
    [61, execute],
    [71, terminate(0)],
  ]);
  assert.deepEqual([lostToEviction, lostToFailure, usefulCompute], [undefined, 10, 10]);
});

test('time that no event covers is unknown: after a dead shadow or a lost connection', async () => {
  const died: [number, string][] = [
    ...begun,
    [41, '006|Image size of job updated: 10'],
    [61, execute],
    [71, terminate(0)],
  ];
  const lost = await account(died);
  assert.deepEqual([lost['lostToEviction'], lost['unknown'], lost['usefulCompute']], [10, 20, 10]);
  const only: [number, string][] = [
    [0, submit],
    [50, terminate(0)],
  ];
  assert.deepEqual(await account(only), { outcome: 'success', unknown: 50 });
});

test('a job still on a slot is under way: neither useful nor lost', async () => {
  const events: [number, string][] = [...begun, [131, '006|Image size of job updated: 10']];
  const row = await account(events);
  assert.deepEqual([row['outcome'], row['underWay'], row['usefulCompute']], ['running', 100, undefined]);
});

test('the cause of a job removed while held is that of the hold, unless a user held it', async () => {
  const removed = '009|Job was aborted.\n\tvia condor_rm (by user alice)';
  const causeAfter = async (body: string) => {
    const log = [submit, execute, body, removed].map((each, index) => written(0, index, each)).join('');
    return (await ledger(parseText(log))).rows.map(({ outcome, cause }) => [outcome, cause]);
  };
  assert.deepEqual(await causeAfter(hold(34, 'over memory limit')), [['removed', 'memory-exceeded']]);
  assert.deepEqual(await causeAfter(hold(1, 'via condor_hold (by user alice)')), [['removed', 'user']]);
});

test('an attempt that died at its start is lost in full', async () => {
  const died = [
    written(0, 0, submit),
    written(0, 10, '040|Entered queue to transfer input files'),
    written(0, 14, inputStarted),
    written(0, 20, inputFinished),
    written(0, 25, '007|Shadow exception!\n\tError: no such image'),
    written(0, 30, '009|Job was aborted.\n\tvia condor_rm (by user alice)'),
  ];
  const { sum, slotMillis } = await ledger(parseText(died.join('')));
  assert.deepEqual([lossIn(sum), slotMillis, sum.overhead], [15_000, 15_000, 0]);
});

test('what a job lost to a hold by hand is not that of a removed job, unless it is removed then', async () => {
  const held = [submit, execute, hold(1, 'via condor_hold (by user alice)')];
  const released = [...held, '013|Job was released.\n\tx', execute, terminate(0)];
  const removed = [...held, '009|Job was aborted.\n\tvia condor_rm (by user alice)'];
  const lossOf = async (events: string[]) => {
    const log = events.map((body, index) => written(0, index * 10, body)).join('');
    const { lostToEviction, lostToRemoval } = (await ledger(parseText(log))).sum;
    return [lostToEviction, lostToRemoval];
  };
  assert.deepEqual(await lossOf(released), [10_000, 0]);
  assert.deepEqual(await lossOf(removed), [0, 10_000]);
});
