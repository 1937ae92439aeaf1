import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { loadRun } from '../journal/load-run.ts';
import { jobCsv, jobTable } from './job-table.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { readRun } from './read-run.ts';
import { sections } from './sections.ts';

test('rows of a run have parameters and accuracy; rows of a log do not', async () => {
  const folder = path.join(import.meta.dirname, '../../../test/journals/retry-then-failure');
  const state = await loadRun(folder);
  const sweep = state.jobs.map((job, index) => ({
    ...job,
    parameters: { lr: 0.1 ** (index + 1) },
    name: `lr=${index}`,
  }));
  const { jobs, ledger, report } = readRun(folder, { ...state, jobs: sweep });
  const rows = jobTable(jobs, ledger.rows);
  assert.deepEqual(
    rows.map(({ parameters, loss }) => [parameters['lr'], typeof loss]),
    [
      [0.1, 'number'],
      [0.1 ** 2, 'number'],
    ],
  );
  const [head, first] = [...jobCsv(rows)];
  assert.match(
    head ?? '',
    /,cause,loss,accuracy,log,executeTotalSeconds,parameters\.lr,metrics\.loss,metrics\.accuracy,best\.loss,best\.accuracy\n$/,
  );
  assert.match(first ?? '', /^0000,,success,true,.*,0\.1,1\.07,0\.61,1\.07,0\.61\n$/);
  const shown = sections(report, { jobRows: rows }).find(({ id }) => id === 'jobs');
  assert.deepEqual(shown?.rows[0]?.slice(0, 3), ['0000', 'lr=0', 'success']);
  const plain = sections(report, { jobRows: jobTable(readRun(folder, state).jobs, ledger.rows) });
  assert.ok(plain.every(({ columns: titles }) => titles.every(({ title }) => title !== 'parameters')));
});

test('the execution of all attempts counts, besides that of the last', () => {
  const attempt = (number: number, from: number, to: number): AttemptHistory => ({
    ...{ number, waits: [], spans: [{ doing: 'training', from, to }], ending: 'failed' },
    ...{ checkpointed: false, site: '', machine: '', gpu: '', resources: [] },
  });
  const attempts = [attempt(1, 0, 5000), attempt(2, 6000, 7000), { ...attempt(3, 0, 0), spans: [] }];
  const job: JobHistory = { id: '1', from: 0, to: 7000, attempts, after: [], outcome: 'failed' };
  const seconds = [job, { ...job, attempts: attempts.slice(0, 2) }, { ...job, attempts: [] }];
  assert.deepEqual(
    jobTable(seconds, []).map((row) => [row.executeSeconds, row.executeTotalSeconds]),
    [
      [null, 6],
      [1, 6],
      [null, null],
    ],
  );
});
