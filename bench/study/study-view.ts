import { sumOver } from '../../src/report/columns.ts';
import type { LogReport } from '../../src/report/log-report.ts';
import type { Ledger, JobRow } from '../../src/report/ledger.ts';
import type { AttemptHistory, JobHistory } from '../../src/history/history.ts';
import { secondsOf } from '../../src/report/places.ts';

/**
 * The same jobs by the definitions of the published study of 100 ImageNet jobs: its rows count only the last transfer
 * of a job that failed, and call "retried transfers" all the time between a job's first and last transfer, also what
 * was hold, waiting or lost execution in it. `split` says what that was.
 */
export interface StudyView {
  jobs: { success: number; heldInTransfer: number; heldInCompute: number; wrongOutput: number };
  /** Of the failed jobs. */
  failureShares: { heldInTransfer: number | null; wrongOutput: number | null; heldInCompute: number | null };
  seconds: {
    compute: number;
    lastTransfers: number;
    retriedTransfers: number;
    heldCompute: number;
    heldTransfers: number;
    wrongOutputCompute: number;
    wrongOutputTransfers: number;
    total: number;
  };
  /** Of the total. */
  shares: { compute: number; lastTransfers: number; retriedTransfers: number; heldCompute: number } | null;
  /** What the time called retried transfers was, for jobs that were evicted, else held, else only stalled. */
  split: Record<'stalledOnly' | 'held' | 'evicted', SplitGroup>;
  /** From the first transfer's start to the end, of the jobs that succeeded. */
  completion: LogReport['completion'];
  /** Of the jobs that succeeded, by their last site. */
  sites: { name: string; jobs: number; computeMeanSeconds: number; computeMedianSeconds: number }[];
}

export interface SplitGroup {
  jobs: number;
  seconds: number;
  heldOrIdleSeconds: number;
  lostComputeSeconds: number;
}

export function studyView(jobs: readonly JobHistory[], { rows }: Ledger, report: LogReport): StudyView {
  const good = jobs.filter(({ outcome }) => outcome === 'success');
  const wrong = jobs.filter(({ outcome }) => outcome === 'wrongOutput');
  const held = jobs.filter(({ outcome }) => outcome === 'held');
  const heldInCompute = held.filter((job) => executeOf(job) > 0);
  const parts = {
    compute: total(good, executeOf),
    lastTransfers: total(good, lastTransferOf),
    retriedTransfers: total(good, retriedOf),
    heldCompute: total(held, executeOf),
    heldTransfers: total(held, lastTransferOf),
    wrongOutputCompute: total(wrong, executeOf),
    wrongOutputTransfers: total(wrong, lastTransferOf),
  };
  const all = Object.values(parts).reduce((sum, part) => sum + part, 0);
  const counts = {
    success: good.length,
    heldInTransfer: held.length - heldInCompute.length,
    heldInCompute: heldInCompute.length,
    wrongOutput: wrong.length,
  };
  const { compute, lastTransfers, retriedTransfers, heldCompute } = parts;
  return {
    jobs: counts,
    failureShares: failureShares(counts),
    seconds: { ...parts, total: all },
    shares:
      all === 0
        ? null
        : {
            compute: compute / all,
            lastTransfers: lastTransfers / all,
            retriedTransfers: retriedTransfers / all,
            heldCompute: heldCompute / all,
          },
    split: split(good, new Map(rows.map((row) => [row.job, row]))),
    completion: report.completion,
    sites: siteRows(report),
  };
}

function failureShares({
  heldInTransfer,
  heldInCompute,
  wrongOutput,
}: StudyView['jobs']): StudyView['failureShares'] {
  const all = heldInTransfer + heldInCompute + wrongOutput;
  const share = (count: number) => (all === 0 ? null : count / all);
  return {
    heldInTransfer: share(heldInTransfer),
    wrongOutput: share(wrongOutput),
    heldInCompute: share(heldInCompute),
  };
}

function siteRows({ sites }: LogReport): StudyView['sites'] {
  return sites
    .flatMap(({ name, success, computeMeanSeconds, computeMedianSeconds }) =>
      computeMeanSeconds === null || computeMedianSeconds === null
        ? []
        : [{ name, jobs: success, computeMeanSeconds, computeMedianSeconds }],
    )
    .sort((a, b) => b.jobs - a.jobs);
}

const total = (jobs: readonly JobHistory[], amount: (job: JobHistory) => number): number =>
  jobs.reduce((sum, job) => sum + amount(job), 0);

const ofLast = (job: JobHistory, amount: (attempt: AttemptHistory) => number): number => {
  const last = job.attempts.at(-1);
  return last === undefined ? 0 : amount(last);
};
const executeOf = (job: JobHistory): number => ofLast(job, (attempt) => secondsOf(attempt, 'executing'));
const lastTransferOf = (job: JobHistory): number => ofLast(job, (attempt) => secondsOf(attempt, 'input'));

function retriedOf(job: JobHistory): number {
  const [first, last] = [job.attempts[0]?.spans[0], job.attempts.at(-1)?.spans[0]];
  return first === undefined || last === undefined ? 0 : (last.from - first.from) / 1000;
}

function split(good: readonly JobHistory[], rows: ReadonlyMap<string, JobRow>): StudyView['split'] {
  const none = (): SplitGroup => ({ jobs: 0, seconds: 0, heldOrIdleSeconds: 0, lostComputeSeconds: 0 });
  const groups = { stalledOnly: none(), held: none(), evicted: none() };
  for (const job of good) {
    const millis = rows.get(job.id)?.millis;
    if (retriedOf(job) === 0 || millis === undefined) continue;
    const group = groups[groupOf(job)];
    group.jobs += 1;
    group.seconds += retriedOf(job);
    group.heldOrIdleSeconds += (millis.held + millis.idle) / 1000;
    group.lostComputeSeconds +=
      sumOver(millis, ['lostToEviction', 'lostToTimeLimit', 'lostToFailure', 'lostToRemoval']) / 1000;
  }
  return groups;
}

function groupOf({ attempts }: JobHistory): keyof StudyView['split'] {
  if (attempts.some(({ ending }) => ending === 'evicted')) return 'evicted';
  return attempts.some(({ ending }) => ending === 'held') ? 'held' : 'stalledOnly';
}
