import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ledgerOf } from '../../src/report/log/event-ledger.ts';
import { logReport, type LogReport } from '../../src/report/log/log-report.ts';
import type { LoggedJob } from '../../src/report/log/history.ts';
import type { Setting } from './replay.ts';
import { numberOf, type Finished } from './seed-leg.ts';

const run = promisify(execFile);

/** The report on one way: what `updraft report` says, with every model looked at. */
export interface Account {
  report: LogReport;
  valid: number;
  /** Of all time on slots, in seconds: compute that counts, and the one transfer that each good job needs. */
  usefulCompute: number;
  usefulTransfer: number;
}

/** Looks at every model, whatever the job's exit status said, and accounts for the time of the jobs. */
export async function accountFor(setting: Setting, { jobs, model }: Finished): Promise<Account> {
  const judged: LoggedJob[] = [];
  let valid = 0;
  for (const job of jobs) {
    const number = numberOf(job.id);
    const isValid = job.outcome === 'success' && (await isModel(setting, model(number), number));
    if (isValid) valid += 1;
    judged.push(job.outcome === 'success' && !isValid ? asWrongOutput(job) : job);
  }
  const facts = { events: 0, backwards: 0, cut: 0, repeated: 0, firstTime: undefined, lastTime: undefined };
  const ledger = ledgerOf(judged, facts);
  const report = logReport([], judged, ledger, []);
  // A transfer that met stalls takes longer than it must: only what it takes without them counts as needed.
  const usefulTransfer = ledger.rows.reduce((sum, { job, outcome, millis }) => {
    const needed = (setting.world.jobs[numberOf(job)]?.transferSeconds ?? 0) / setting.scale;
    return sum + (outcome === 'success' ? Math.min(needed, millis.usefulTransfer / 1000) : 0);
  }, 0);
  return { report, valid, usefulCompute: report.slotSeconds.usefulCompute, usefulTransfer };
}

/** The exit status said success: that there is no valid model is known only now. */
function asWrongOutput(job: LoggedJob): LoggedJob {
  const attempts = job.attempts.map((attempt, index) =>
    index === job.attempts.length - 1
      ? ({ ...attempt, ending: 'wrong-output', cause: 'wrong-output' } as const)
      : attempt,
  );
  return { ...job, attempts, outcome: 'wrongOutput', cause: 'wrong-output' };
}

async function isModel({ dataset }: Setting, file: string, job: number): Promise<boolean> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (!isThere) return false;
  const check = path.join(import.meta.dirname, 'workload/check.py');
  const weights = path.join(dataset.published, 'weights.json');
  return run('python3', ['-B', check, file, dataset.unpacked, weights, String(job)]).then(
    () => true,
    () => false,
  );
}
