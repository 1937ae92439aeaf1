import { columnLabels, lossColumns } from '@updraft/account/report';
import { markdownTable } from '../markdown-table.ts';
import type { Account } from './account.ts';

/** Both variants as a Markdown table. Times are converted to those of the published table. */
export function sideBySide(ways: ReadonlyMap<string, Account>, scale: number): string {
  const names = [...ways.keys()];
  const accounts = [...ways.values()];
  const row = (name: string, show: (account: Account) => string): string[] => [name, ...accounts.map(show)];
  const hours = (seconds: number): string => ((seconds * scale) / 3600).toFixed(1);
  const share = (part: (account: Account) => number) => (account: Account) =>
    percent(part(account) / account.report.slotTotalSeconds);
  const lost = lossColumns.filter((column) => accounts.some(({ report }) => report.slotSeconds[column] > 0));
  return markdownTable(
    ['', ...names],
    [
      row('valid models', ({ valid, report }) => `${valid.size} of ${report.jobs.total}`),
      row('attempts', ({ report }) => String(report.attempts)),
      row('time on slots, h', ({ report }) => hours(report.slotTotalSeconds)),
      row('**useful: compute and the one transfer needed**', (account) => percent(usefulShare(account))),
      row('the same, with HTCondor’s pauses as long as they are', share(usefulOf)),
      row(
        'useful compute',
        share(({ usefulCompute }) => usefulCompute),
      ),
      row(
        'transfer needed',
        share(({ usefulTransfer }) => usefulTransfer),
      ),
      row(
        'transfer beyond it',
        share(({ report, usefulTransfer }) => report.slotSeconds.usefulTransfer - usefulTransfer),
      ),
      ...lost.map((column) =>
        row(
          columnLabels[column],
          share(({ report }) => report.slotSeconds[column]),
        ),
      ),
      row(
        'checkpoints and results',
        share(({ report }) => report.slotSeconds.saving + report.slotSeconds.returning),
      ),
      row(
        'starting and ending on the slot',
        share(({ report, pauses }) => report.slotSeconds.overhead - pauses),
      ),
      row(
        'HTCondor’s pauses of 5 s before starts, not scaled',
        share(({ pauses }) => pauses),
      ),
      row(
        'unknown',
        share(({ report }) => report.slotSeconds.unknown),
      ),
      row('completion, mean, h', ({ report }) => hours(report.completion.meanSeconds ?? NaN)),
      row('completion, median, h', ({ report }) => hours(report.completion.medianSeconds ?? NaN)),
      row('completion, 95 of 100 within, h', ({ report }) => hours(report.completion.p95Seconds ?? NaN)),
      row('mean ÷ median', (account) => ratio(account, 'meanSeconds')),
      row('95 of 100 ÷ median', (account) => ratio(account, 'p95Seconds')),
    ],
  );
}

/** The goals of the replay that Updraft missed. */
export function missedGoals(account: Account): string[] {
  const { report, valid } = account;
  const { meanSeconds, medianSeconds, p95Seconds } = report.completion;
  const goals: [boolean, string][] = [
    [valid.size === report.jobs.total, 'every job has a valid model'],
    [usefulShare(account) >= 0.95, '95 % of the time on slots are useful'],
    [(meanSeconds ?? Infinity) <= 1.15 * (medianSeconds ?? 0), 'mean ≤ 1.15 × median'],
    [(p95Seconds ?? Infinity) <= 1.4 * (medianSeconds ?? 0), '95 of 100 within 1.4 × median'],
  ];
  return goals.flatMap(([isMet, goal]) => (isMet ? [] : [goal]));
}

const usefulOf = ({ usefulCompute, usefulTransfer }: Account): number => usefulCompute + usefulTransfer;

/** Of the time on slots; a pause of 5 s in an attempt of hours is none. */
const usefulShare = (account: Account): number =>
  usefulOf(account) / (account.report.slotTotalSeconds - account.pauses);

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function ratio({ report }: Account, key: 'meanSeconds' | 'p95Seconds'): string {
  const { completion } = report;
  return ((completion[key] ?? NaN) / (completion.medianSeconds ?? NaN)).toFixed(2);
}
