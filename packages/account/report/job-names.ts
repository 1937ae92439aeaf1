import { defined } from '@updraft/base';
import { nodeJobLabel } from '@updraft/htcondor/dag';
import type { JobHistory } from '../history/history.ts';
import { jobLabel, type Parameters } from '../journal/describe-parameters.ts';

/** A job, its DAG node if it has one, and its log if there are several. */
export interface JobName {
  job: string;
  node: string | null;
  /** Whether that node has other jobs. */
  siblings?: true;
  log: string | null;
  /** For a run with a matrix: the job's values, and those in which its jobs differ: `lr=0.1 seed=2`. */
  parameters?: Parameters;
  name?: string;
}

/** What names a job in tables and charts. */
export const jobName = ({ id, node, siblings, log, parameters, name }: JobHistory): JobName => ({
  job: id,
  node: node ?? null,
  log: log ?? null,
  ...defined({ siblings, parameters, name }),
});

/** The names of logs without the folder that all are in. */
export function shortLogNames(logs: readonly string[]): (log: string) => string {
  const [first = '', ...more] = logs;
  const folders = first.split('/').slice(0, -1);
  const isShared = (_: string, index: number) =>
    more.every((log) => log.split('/')[index] === folders[index]);
  const differs = folders.findIndex((folder, index) => !isShared(folder, index));
  const shared = folders.slice(0, differs === -1 ? undefined : differs).join('/');
  return (log) => (shared !== '' && log.startsWith(`${shared}/`) ? log.slice(shared.length + 1) : log);
}

/** How charts name a job: by its node, or its number and its name in the run. */
export const rowLabel = ({ job, node, siblings, name }: NamedRow): string =>
  node === undefined || node === null ? jobLabel(job, name) : nodeJobLabel(job, node, siblings);
export const historyLabel = (job: JobHistory): string => rowLabel(jobName(job));

interface NamedRow {
  job: string;
  node?: string | null | undefined;
  siblings?: boolean | undefined;
  name?: string;
}

/** How tables name a job: by its node or number, after its log if there are several, as `updraft why` takes them. */
export function jobLabels({ logs }: { logs: readonly string[] }): (name: JobName) => string {
  const short = shortLogNames(logs);
  return ({ log, ...name }) => `${log === null ? '' : `${short(log)} `}${rowLabel(name)}`;
}
