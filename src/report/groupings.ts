import type { JobHistory } from '../history/history.ts';
import type { GroupKey } from './groups.ts';
import { hostOf, siteNames } from './sites.ts';

export interface Grouping {
  /** Of what the groups are. */
  title: string;
  key: (jobs: readonly JobHistory[], logs: readonly string[]) => GroupKey;
  /** How a log comes to name it, if most do not. */
  lack?: string;
}

const named = (name: string): string | undefined => (name === '' ? undefined : name);

/** What `report --by` can group by. */
export const groupings = {
  owner: {
    title: 'owner',
    key: () => ({ job: ({ owner }) => owner }),
    lack: "An access point's own log (EVENT_LOG) names owners; the log of a job does with `job_ad_information_attrs = Owner` in the submit file.",
  },
  log: { title: 'log', key: (_jobs, logs) => ({ job: ({ log = logs[0] }) => log }) },
  site: {
    title: 'site',
    key: (jobs) => ({ attempt: siteNames(jobs) }),
    lack: 'A log names sites with `ulog_execute_attrs = GLIDEIN_ResourceName` in the submit file.',
  },
  machine: { title: 'machine', key: () => ({ attempt: ({ machine }) => named(hostOf(machine)) }) },
  gpu: {
    title: 'GPU model',
    key: () => ({ attempt: ({ gpu }) => named(gpu) }),
    lack: 'A log names GPUs with `ulog_execute_attrs = GPUs_DeviceName` in the submit file.',
  },
} as const satisfies Record<string, Grouping>;

export type GroupingName = keyof typeof groupings;
export const groupingNames = Object.keys(groupings) as GroupingName[];
