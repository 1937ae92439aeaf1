import { readFileSync } from 'node:fs';
import path from 'node:path';

/** A row of a published table, in seconds; undefined where the table is empty. */
export interface OsgJob {
  cluster: number;
  proc: number;
  sites: string[];
  outcome: 'success' | 'wrong_output' | 'held_compute' | 'held_transfer' | 'removed';
  execute: number | undefined;
  slotBusy: number | undefined;
  transferTotal: number;
  lastTransfer: number;
  stalls: number;
  held: number;
  evictions: number;
}

/** A stretch of transfer at one site: how often it stalled, and what ended it before the job finished. */
export interface TransferPart {
  seconds: number;
  stalls: number;
  then?: 'held' | 'evicted';
  /** How long the evicted job had run, if the table says so. */
  executed?: number;
}

const data = path.join(import.meta.dirname, '../data');

/** The study's tables: the 100 jobs, and five jobs each of 20 and of 5 epochs before them. */
export type OsgTable = 'osg-100' | 'osg-5x20' | 'osg-5x5';

export function readOsgJobs(table: OsgTable = 'osg-100'): OsgJob[] {
  return readFileSync(path.join(data, `${table}.tsv`), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map(readRow);
}

function readRow(line: string): OsgJob {
  const [id = '', sites = '', outcome = '', ...figures] = line.split('\t');
  const [cluster, proc] = id.split('.').map(Number);
  const [execute, slotBusy, transferTotal = 0, lastTransfer = 0, stalls = 0, held = 0, evictions = 0] =
    figures.slice(0, 7).map((cell) => (cell === '' ? undefined : Number(cell)));
  if (cluster === undefined || proc === undefined) throw new Error(`no job id in "${line}"`);
  return {
    cluster,
    proc,
    outcome: outcome as OsgJob['outcome'],
    sites: sites === '' ? [] : sites.split(','),
    execute,
    slotBusy,
    transferTotal,
    lastTransfer,
    stalls,
    held,
    evictions,
  };
}

/** The parts of a job's transfers, from the table's notes; without notes, one stretch. */
export function transferParts(job: OsgJob): TransferPart[] {
  const noted = notes[`${job.cluster}.${job.proc}`];
  if (noted !== undefined) return noted;
  if (job.outcome !== 'success' || job.held === 0)
    return [{ seconds: job.transferTotal, stalls: job.stalls }];
  // Held once for an unknown time: all of it counts as transfer.
  return [
    { seconds: job.transferTotal - job.lastTransfer, stalls: job.stalls, then: 'held' },
    { seconds: job.lastTransfer, stalls: 0 },
  ];
}

/** Parses the table's notes: "first transfer 8:31:42 stalled 8 then held; second 2:12:51 stalled 3, successful". */
const notes: Record<string, TransferPart[]> = {
  '794569.14': [
    { seconds: 19_470, stalls: 5, then: 'held' },
    { seconds: 31_353, stalls: 7 },
  ],
  '794569.30': [
    { seconds: 30_702, stalls: 8, then: 'held' },
    { seconds: 7971, stalls: 3 },
  ],
  '794569.34': [
    { seconds: 51_416, stalls: 12, then: 'held' },
    { seconds: 7940, stalls: 2 },
  ],
  '794569.37': [
    { seconds: 42_184, stalls: 10, then: 'held' },
    { seconds: 23_647, stalls: 6, then: 'held' },
    { seconds: 827, stalls: 0 },
  ],
  '794570.4': [
    { seconds: 571, stalls: 0, then: 'evicted' },
    { seconds: 2984, stalls: 0 },
  ],
  '794570.5': [
    { seconds: 480, stalls: 0, then: 'evicted' },
    { seconds: 2950, stalls: 0 },
  ],
  '794570.6': [
    { seconds: 447, stalls: 0, then: 'evicted' },
    { seconds: 522, stalls: 0, then: 'evicted' },
    { seconds: 18_966, stalls: 1 },
  ],
  '794570.10': [
    { seconds: 939, stalls: 0, then: 'evicted', executed: 19_746 },
    { seconds: 784, stalls: 0 },
  ],
};
