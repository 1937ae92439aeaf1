import { formatShare } from '@updraft/view/format';
import type { Section } from '@updraft/view/document';
import type { StudyView, SplitGroup } from './study-view.ts';

/** In hours even below one, like the study. */
const showHours = (seconds: number): string => `${(seconds / 3600).toFixed(1)} h`;
const right = (title: string) => ({ title, align: 'right' as const });

const group = (what: string, { jobs: count, ...amounts }: SplitGroup) => [
  what,
  String(count),
  showHours(amounts.seconds),
  showHours(amounts.heldOrIdleSeconds),
  showHours(amounts.lostComputeSeconds),
];

const splitRows = ({ stalledOnly, held, evicted }: StudyView['split']) => [
  group('only stalled', stalledOnly),
  group('were held', held),
  group('were evicted', evicted),
];

/** The published study's tables. */
export function studySections({
  jobs,
  failureShares,
  seconds,
  shares,
  split,
  ...rest
}: StudyView): Section[] {
  const time = (what: string, amount: number, share?: number) => [
    what,
    String(amount),
    showHours(amount),
    share === undefined ? '' : formatShare(share),
  ];
  return [
    {
      id: 'seed-jobs',
      title: 'Jobs',
      columns: [{ title: '' }, right('jobs'), right('share of failed')],
      rows: [
        ['success', String(jobs.success), ''],
        ['held in transfer', String(jobs.heldInTransfer), formatShare(failureShares.heldInTransfer)],
        ['wrong output', String(jobs.wrongOutput), formatShare(failureShares.wrongOutput)],
        ['held in compute', String(jobs.heldInCompute), formatShare(failureShares.heldInCompute)],
      ],
    },
    {
      id: 'seed-time',
      title: 'Time',
      columns: [{ title: '' }, right('seconds'), right('hours'), right('share')],
      rows: [
        time('compute, successful jobs', seconds.compute, shares?.compute),
        time('last transfers, successful jobs', seconds.lastTransfers, shares?.lastTransfers),
        time('transfers that were retried', seconds.retriedTransfers, shares?.retriedTransfers),
        time('compute of held jobs', seconds.heldCompute, shares?.heldCompute),
        time('last transfers of held jobs', seconds.heldTransfers),
        time('compute with a wrong output', seconds.wrongOutputCompute),
        time('last transfers with a wrong output', seconds.wrongOutputTransfers),
        time('all of these', seconds.total),
      ],
    },
    {
      id: 'seed-split',
      title: 'What the time of retried transfers was',
      columns: [
        { title: 'jobs that' },
        right('jobs'),
        right('hours'),
        right('held or idle'),
        right('lost compute'),
      ],
      rows: splitRows(split),
    },
    completionSection(rest),
    siteSection(rest),
  ];
}

/** Integer seconds, truncated like in the study. */
const whole = (seconds: number | null): string => (seconds === null ? '-' : String(Math.floor(seconds)));

function completionSection({ completion }: Pick<StudyView, 'completion'>): Section {
  return {
    id: 'seed-completion',
    title: 'First match to completion',
    columns: [{ title: '' }, right('seconds')],
    rows: [
      ['mean', whole(completion.meanSeconds)],
      ['median', whole(completion.medianSeconds)],
    ],
  };
}

function siteSection({ sites }: Pick<StudyView, 'sites'>): Section {
  return {
    id: 'seed-sites',
    title: 'Compute per site, in seconds',
    columns: [{ title: 'site' }, right('jobs'), right('mean'), right('median')],
    rows: sites.map(({ name, jobs, computeMeanSeconds, computeMedianSeconds }) => [
      name,
      String(jobs),
      computeMeanSeconds.toFixed(0),
      computeMedianSeconds.toFixed(0),
    ]),
  };
}
