import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { asWrongOutput, ledgerOf, logReport, noFacts } from '@updraft/account/testing';
import type { LogReport } from '@updraft/account/report';
import { startPauseSeconds } from '../start-pause.ts';
import type { Setting } from './replay.ts';
import { numberOf, type Finished } from './seed-leg.ts';

const run = promisify(execFile);

/** The report on one variant: that of `updraft report`, with every model checked. */
export interface Account {
  report: LogReport;
  /** Numbers of the jobs with a valid model. */
  valid: ReadonlySet<number>;
  /** Seconds on slots: useful compute, and the one transfer that each successful job needs. */
  usefulCompute: number;
  usefulTransfer: number;
  /** HTCondor's own pauses before starts, which do not become shorter as time passes faster. */
  pauses: number;
}

/** Checks every model, whatever the job's exit code, and accounts for the time of the jobs. */
export async function accountFor(setting: Setting, { jobs, model, log }: Finished): Promise<Account> {
  const done = jobs.filter(({ outcome }) => outcome === 'success').map(({ id }) => numberOf(id));
  const valid = await validModels(
    setting,
    done.map((job) => `${job} ${model(job)}`),
  );
  const judged = jobs.map((job) =>
    job.outcome === 'success' && !valid.has(numberOf(job.id)) ? asWrongOutput(job) : job,
  );
  const ledger = ledgerOf(judged, noFacts);
  const report = logReport(judged, ledger, { logs: [], notes: [] });
  // Only the time that a transfer takes without stalls counts as needed.
  const usefulTransfer = ledger.rows.reduce((sum, { job, outcome, millis }) => {
    const needed = (setting.scenario.jobs[numberOf(job)]?.transferSeconds ?? 0) / setting.scale;
    return sum + (outcome === 'success' ? Math.min(needed, millis.usefulTransfer / 1000) : 0);
  }, 0);
  const { usefulCompute } = report.slotSeconds;
  return { report, valid, usefulCompute, usefulTransfer, pauses: await startPauseSeconds(log) };
}

/** Numbers of the jobs with a valid model; `lines` has `NUMBER FILE` for each candidate. */
async function validModels({ dataset }: Setting, lines: string[]): Promise<Set<number>> {
  const judge = path.join(import.meta.dirname, 'judge.py');
  const weights = path.join(dataset.published, 'weights.json');
  const judging = run('python3', ['-B', judge, dataset.unpacked, weights]);
  judging.child.stdin?.end(lines.map((line) => `${line}\n`).join(''));
  const { stdout } = await judging;
  return new Set(stdout.split('\n').filter(Boolean).map(Number));
}
