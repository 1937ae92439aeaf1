import {
  type JobRow,
  jobTable,
  type JobTableRow,
  type Ledger,
  type LogReport,
  sumOver,
} from '@updraft/account/report';
import type { JobHistory } from '@updraft/account/history';

/**
 * Jobs by the definitions of the published study of 100 ImageNet jobs: its rows count only the last transfer of a
 * failed job, and call all time between a job's first and last transfer "retried transfers", including holds, waiting
 * and lost execution. `split` separates these.
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
  /** The parts of "retried transfers", for jobs that were evicted, else held, else only stalled. */
  split: Record<'stalledOnly' | 'held' | 'evicted', SplitGroup>;
  /** From the start of the first transfer to the end, of successful jobs. */
  completion: LogReport['completion'];
  /** Of successful jobs, by their last site. */
  sites: { name: string; jobs: number; computeMeanSeconds: number; computeMedianSeconds: number }[];
}

export interface SplitGroup {
  jobs: number;
  seconds: number;
  heldOrIdleSeconds: number;
  lostComputeSeconds: number;
}

export function studyView(jobs: readonly JobHistory[], { rows }: Ledger, report: LogReport): StudyView {
  const table = jobTable(jobs, rows);
  const good = table.filter(({ outcome }) => outcome === 'success');
  const wrong = table.filter(({ outcome }) => outcome === 'wrong-output');
  const held = table.filter(({ outcome }) => outcome === 'held');
  const heldInCompute = held.filter(({ executeSeconds }) => executeSeconds !== null);
  const parts = {
    compute: total(good, 'executeSeconds'),
    lastTransfers: total(good, 'lastTransferSeconds'),
    retriedTransfers: good.reduce((sum, row) => sum + retriedOf(row), 0),
    heldCompute: total(held, 'executeSeconds'),
    heldTransfers: total(held, 'lastTransferSeconds'),
    wrongOutputCompute: total(wrong, 'executeSeconds'),
    wrongOutputTransfers: total(wrong, 'lastTransferSeconds'),
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

const total = (rows: readonly JobTableRow[], key: Amount): number =>
  rows.reduce((sum, row) => sum + (row[key] ?? 0), 0);

type Amount = 'executeSeconds' | 'lastTransferSeconds';

/** The time between a job's first and last transfer. */
const retriedOf = ({ transferTotalSeconds, lastTransferSeconds }: JobTableRow): number =>
  (transferTotalSeconds ?? 0) - (lastTransferSeconds ?? 0);

function split(good: readonly JobTableRow[], rows: ReadonlyMap<string, JobRow>): StudyView['split'] {
  const none = (): SplitGroup => ({ jobs: 0, seconds: 0, heldOrIdleSeconds: 0, lostComputeSeconds: 0 });
  const groups = { stalledOnly: none(), held: none(), evicted: none() };
  for (const row of good) {
    const millis = rows.get(row.job)?.millis;
    if (retriedOf(row) === 0 || millis === undefined) continue;
    const group = groups[row.evictions > 0 ? 'evicted' : row.holds > 0 ? 'held' : 'stalledOnly'];
    group.jobs += 1;
    group.seconds += retriedOf(row);
    group.heldOrIdleSeconds += (millis.held + millis.idle) / 1000;
    group.lostComputeSeconds +=
      sumOver(millis, ['lostToEviction', 'lostToTimeLimit', 'lostToFailure', 'lostToRemoval']) / 1000;
  }
  return groups;
}
