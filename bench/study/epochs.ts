import { readOsgJobs, type OsgJob, type OsgTable } from '../../scripts/osg-jobs.ts';
import { ascending, quantile } from '@updraft/account/testing';
import type { Section } from '@updraft/view/document';

/** A site's seconds per epoch and before the first one, from its jobs of 5 and of 20 epochs. */
export interface EpochModel {
  site: string;
  perEpoch: number;
  fixed: number;
}

const ofSite = (table: OsgTable): Map<string, number[]> => {
  const good = readOsgJobs(table).filter(({ outcome }) => outcome === 'success');
  const bySite = Map.groupBy(good, ({ sites }) => sites.at(-1) ?? '');
  return new Map([...bySite].map(([site, jobs]) => [site, jobs.flatMap(({ execute }) => execute ?? [])]));
};

/** Execution time is linear in epochs; the 100 jobs had five. Uses medians, because some slots were slow. */
export function epochModels(): EpochModel[] {
  const [five, twenty] = [ofSite('osg-100'), ofSite('osg-5x20')];
  return [...twenty].map(([site, long]) => {
    const median = (values: readonly number[] = []) => quantile(ascending(values), 0.5) ?? 0;
    const [short, whole] = [median(five.get(site)), median(long)];
    const perEpoch = (whole - short) / (20 - 5);
    return { site, perEpoch, fixed: short - 5 * perEpoch };
  });
}

const right = (title: string) => ({ title, align: 'right' as const });
const cell = (value: number | undefined): string => (value === undefined ? '' : String(value));

/** The study's two small tables as published, and the time of an epoch computed from them. */
export function epochSections(): Section[] {
  const heads = ['execute', 'slot busy', 'transfer', 'last transfer', 'stalls'].map(right);
  const small = (epochs: number, table: OsgTable): Section => ({
    id: table,
    title: `Five jobs of ${epochs} epochs, in seconds`,
    columns: [{ title: 'job' }, { title: 'outcome' }, { title: 'site' }, ...heads],
    rows: readOsgJobs(table).map(smallRow),
  });
  return [
    small(20, 'osg-5x20'),
    small(5, 'osg-5x5'),
    {
      id: 'epochs',
      title: 'Execution by epochs, in seconds (medians; the 100 jobs of 5 beside those of 20)',
      columns: [{ title: 'site' }, right('an epoch'), right('before the first')],
      rows: epochModels().map(({ site, perEpoch, fixed }) => [site, perEpoch.toFixed(0), fixed.toFixed(0)]),
    },
  ];
}

const smallRow = ({ cluster, proc, outcome, sites, ...job }: OsgJob): string[] => {
  const { execute, slotBusy, transferTotal, lastTransfer, stalls } = job;
  const moved = transferTotal === 0 ? undefined : transferTotal;
  // If the table does not give the last of several transfers, it is unknown.
  const last = lastTransfer === 0 ? undefined : lastTransfer;
  return [
    `${cluster}.${proc}`,
    outcome,
    sites.join(', '),
    ...[execute, slotBusy, moved, last, stalls].map(cell),
  ];
};
