import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readOsgJobs } from '../../scripts/osg-jobs.ts';
import { osgLog, wrongOutputs } from '../../scripts/osg-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { jobTable, readLogs, type ReadLogs, reportCharts } from '@updraft/account/report';
import { logSources } from '@updraft/htcondor/eventlog';
import { epochModels } from '../../bench/study/epochs.ts';
import { studyView } from '../../bench/study/study-view.ts';

const hours = (seconds: number): string => (seconds / 3600).toFixed(1);
const percent = (share: number | null | undefined): string => ((share ?? NaN) * 100).toFixed(1);

let reading: Promise<ReadLogs> | undefined;

/** The log of the 100 published jobs, written to a file and read as any log. */
const read = (t: Parameters<typeof temporaryFolder>[0]): Promise<ReadLogs> => (reading ??= readOnce(t));

async function readOnce(t: Parameters<typeof temporaryFolder>[0]): Promise<ReadLogs> {
  const folder = await temporaryFolder(t, { 'osg.log': osgLog() });
  return readLogs(await logSources([path.join(folder, 'osg.log')]), { invalid: wrongOutputs() });
}

test('the log of the 100 published jobs is reproducible and has no garbled part', async (t) => {
  assert.equal(osgLog(), osgLog());
  assert.deepEqual((await read(t)).report.notes, []);
});

test('the three wrong outputs with exit code 0 are found, and nothing else is suspected', async (t) => {
  const folder = await temporaryFolder(t, { 'osg.log': osgLog() });
  const { report } = await readLogs(await logSources([path.join(folder, 'osg.log')]));
  assert.deepEqual(new Set(report.suspicious.map(({ job }) => job)), wrongOutputs());
  const { total, success, suspicious, held } = report.jobs;
  assert.deepEqual([total, success, suspicious, held], [100, 79, 3, 18]);
  assert.equal(report.slotSeconds.underWay, 1988 + 7808 + 8);
});

test('a row per job has every figure of the published table', async (t) => {
  const { jobs, ledger } = await read(t);
  const rows = new Map(jobTable(jobs, ledger.rows).map((row) => [row.job, row]));
  const outcomes = {
    ...{ success: 'success', wrong_output: 'wrong-output', removed: 'removed' },
    ...{ held_compute: 'held', held_transfer: 'held' },
  };
  let compared = 0;
  for (const job of readOsgJobs()) {
    const row = rows.get(`${job.cluster}.${job.proc}`);
    const published = {
      outcome: outcomes[job.outcome],
      valid: job.outcome === 'success',
      sites: job.sites.filter((site, index) => site !== job.sites[index - 1]),
      executeSeconds: job.execute ?? null,
      // Two cells of the table are empty; the log has what the other cells imply.
      slotBusySeconds: job.slotBusy ?? row?.slotBusySeconds,
      transferTotalSeconds: job.transferTotal,
      lastTransferSeconds: job.lastTransfer,
      ...{ stalls: job.stalls, holds: job.held, evictions: job.evictions },
    };
    assert.deepEqual({ ...row, ...published }, row, `${job.cluster}.${job.proc}`);
    assert.ok((row?.attempts ?? 0) > job.stalls - job.held, 'a stall ends an attempt');
    compared += 1;
  }
  assert.equal(compared, 100);
});

test('the two small tables give 4 of 5 and 5 of 5, and the time per epoch', () => {
  const [long, short] = [readOsgJobs('osg-5x20'), readOsgJobs('osg-5x5')];
  const good = (all: typeof long) => all.filter(({ outcome }) => outcome === 'success');
  assert.deepEqual([good(long).length, good(short).length], [4, 5]);
  assert.equal(hours(Math.min(...good(long).flatMap(({ execute }) => execute ?? []))), '12.0');
  assert.equal(Math.min(...good(long).map(({ transferTotal }) => transferTotal)), 14 * 60 + 2);
  assert.deepEqual(
    epochModels().map(({ site, perEpoch, fixed }) => [site, Math.round(perEpoch), Math.round(fixed)]),
    [
      ['PDX-Coeus-CE1', 2755, 1070],
      ['CHTC-Spark-CE1', 2140, 536],
      ['GP-ARGO-ksu-backfill', 3115, 2035],
    ],
  );
});

test('the verdict on the published jobs is that transfers stalled', async (t) => {
  const { verdict } = (await read(t)).report;
  assert.deepEqual(
    [verdict?.kind, verdict?.name, percent(verdict?.share)],
    ['cause', 'transfer-stalled', '81.7'],
  );
});

test('79 of 100 succeed; 16, 3 and 2 fail, in the published shares', async (t) => {
  const { report } = await read(t);
  const { total, success, 'wrong-output': wrongOutput, held, removed, running } = report.jobs;
  assert.deepEqual([total, success, wrongOutput, held, removed, running], [100, 79, 3, 18, 0, 0]);
  assert.deepEqual(
    report.failures.map(({ cause, jobs, share }) => [cause, jobs, percent(share)]),
    [
      ['object-missing', 16, '76.2'],
      ['wrong-output', 3, '14.3'],
      ['time-limit', 2, '9.5'],
    ],
  );
});

test('every setback has a cause, most often stalled transfers', async (t) => {
  const { setbacks } = (await read(t)).report;
  assert.deepEqual([setbacks[0]?.cause, setbacks[0]?.attempts], ['transfer-stalled', 226]);
  assert.ok(setbacks.every(({ cause }) => cause !== 'unknown'));
});

test('first match to completion: mean 31,006 s and median 17,845 s', async (t) => {
  const { completion } = (await read(t)).report;
  assert.equal(Math.floor(completion.meanSeconds ?? 0), 31_006);
  assert.equal(completion.medianSeconds, 17_845);
});

test('compute per site has the published counts, means and medians', async (t) => {
  const { sites } = (await read(t)).report;
  const good = sites.filter(({ success }) => success > 0);
  assert.deepEqual(
    good.map(({ name, success, computeMeanSeconds, computeMedianSeconds }) => [
      name,
      success,
      Math.round(computeMeanSeconds ?? 0),
      computeMedianSeconds,
    ]),
    [
      ['CHTC-Spark-CE1', 24, 11_222, 11_237],
      ['PDX-Coeus-CE1', 42, 14_824, 14_846],
      ['GP-ARGO-ksu-backfill', 13, 23_400, 17_608],
    ],
  );
});

test("the ledger has the successes' compute and last transfers, and the compute lost to the time limit", async (t) => {
  const { slotSeconds } = (await read(t)).report;
  assert.equal(hours(slotSeconds.usefulCompute), '332.3');
  assert.equal(hours(slotSeconds.usefulTransfer), '45.8');
  assert.equal(hours(slotSeconds.lostToTimeLimit), '40.0');
  assert.equal(slotSeconds.lostToWrongOutput, 1988);
  assert.equal(slotSeconds.lostToEviction + slotSeconds.idle, 47_467);
});

test("by the study's definitions, 332.3, 45.8, 302.2 and 40.0 h are 45.9, 6.3, 41.8 and 5.5 % of 723.7 h", async (t) => {
  const { jobs, ledger, report } = await read(t);
  const { seconds, shares, failureShares, jobs: counts } = studyView(jobs, ledger, report);
  assert.deepEqual(counts, { success: 79, heldInTransfer: 16, heldInCompute: 2, wrongOutput: 3 });
  assert.deepEqual(Object.values(failureShares).map(percent), ['76.2', '14.3', '9.5']);
  const { compute, lastTransfers, retriedTransfers, heldCompute, total } = seconds;
  assert.deepEqual([compute, lastTransfers, retriedTransfers, heldCompute, total].map(hours), [
    '332.3',
    '45.8',
    '302.2',
    '40.0',
    '723.7',
  ]);
  assert.deepEqual(Object.values(shares ?? {}).map(percent), ['45.9', '6.3', '41.8', '5.5']);
  assert.deepEqual(
    [seconds.heldTransfers, seconds.wrongOutputCompute, seconds.wrongOutputTransfers],
    [2349, 1988, 7808],
  );
});

test('the 302 hours of retried transfers split into stalls, holds and evictions', async (t) => {
  const { jobs, ledger, report } = await read(t);
  const { stalledOnly, held, evicted } = studyView(jobs, ledger, report).split;
  const shown = [stalledOnly, held, evicted].map((group) => [group.jobs, hours(group.seconds)]);
  assert.deepEqual(shown, [
    [21, '227.6'],
    [5, '55.6'],
    [4, '19.0'],
  ]);
  assert.equal(hours(held.heldOrIdleSeconds), '4.1');
  assert.equal(hours(evicted.lostComputeSeconds + evicted.heldOrIdleSeconds), '13.2');
});

test('the charts leave out suspicious jobs', async (t) => {
  const folder = await temporaryFolder(t, { 'osg.log': osgLog() });
  const { jobs, ledger, report } = await readLogs(await logSources([path.join(folder, 'osg.log')]));
  const compute = reportCharts(jobs, ledger, report).find(({ section }) => section === 'sites');
  assert.match(compute?.svg ?? '', /PDX-Coeus-CE1: 42, mean/);
});
