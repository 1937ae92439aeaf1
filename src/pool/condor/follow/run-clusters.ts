import path from 'node:path';
import type { LogEvent } from '@updraft/htcondor/eventlog';
import { jobId, runFiles } from '@updraft/account/run-folder';
import { JournalTail } from '@updraft/account/journal';
import { roundOfBatch } from '../condor-files.ts';

/** A job of the run, and the round in which it was submitted. */
interface KnownJob {
  job: string;
  round: number;
}

/** How often a job was retried, as the run's journal has it. */
export interface JobRetries {
  /** The round in which it was last submitted. */
  round: number;
  /** How often `updraft retry` has released it since. */
  releases: number;
}

/** Which clusters are rounds of a run, and which of the run's jobs their jobs are. */
export class RunClusters {
  readonly #tail: JournalTail;
  #run = '';
  /** When the run was created, in milliseconds since the epoch. */
  createdAt = 0;
  readonly #rounds = new Map<number, readonly string[]>();
  readonly #clusters = new Map<number, number>();
  readonly #submittedAt = new Map<number, number>();
  readonly #retries = new Map<string, JobRetries>();
  #shift: number | undefined;

  constructor(runFolder: string) {
    this.#tail = new JournalTail(path.join(runFolder, runFiles.journal));
  }

  get numbers(): number[] {
    return [...this.#clusters.keys()];
  }

  /** Reads new entries of the run's journal. A round is recorded there before its jobs are submitted. */
  async refresh(): Promise<void> {
    const { entries } = await this.#tail.read();
    for (const entry of entries) {
      if (entry.kind === 'run-created') {
        [this.#run, this.createdAt] = [entry.run, Date.parse(entry.t)];
        this.#rounds.set(1, entry.jobs);
      }
      if (entry.kind === 'round-started') this.#rounds.set(entry.round, entry.jobs);
      if (entry.kind === 'job-released') {
        const { round, releases } = this.retriesOf(entry.job);
        this.#retries.set(entry.job, { round, releases: releases + 1 });
      }
      if (entry.kind !== 'submitted') continue;
      const { round = 1 } = entry;
      for (const job of this.#rounds.get(round) ?? []) this.#retries.set(job, { round, releases: 0 });
      this.#clusters.set(entry.cluster, round);
      this.#submittedAt.set(entry.cluster, Date.parse(entry.t));
    }
  }

  /** Whether an event belongs to a job of the run; `later` if that is known only after `refresh`. */
  has(event: LogEvent): boolean | 'later' {
    if (event.kind === 'submit' || event.kind === 'cluster-submit') {
      const round = roundOfBatch(event.details.batchName, this.#run);
      if (round !== undefined && !this.#clusters.has(event.cluster)) this.#clusters.set(event.cluster, round);
    }
    const round = this.#clusters.get(event.cluster);
    if (round === undefined) return false;
    return round === 1 || this.#rounds.has(round) ? true : 'later';
  }

  /** The time of an event by the clock of the run's journal, wherever the log is read. */
  timeOf({ time, zone, kind, cluster }: LogEvent): number | undefined {
    if (time === undefined || zone !== 'unknown') return time;
    if (kind === 'submit' || kind === 'cluster-submit')
      this.#shift ??= zoneShift(time, this.createdAt, this.#submittedAt.get(cluster) ?? Infinity);
    return time + (this.#shift ?? 0);
  }

  retriesOf(job: string): JobRetries {
    return this.#retries.get(job) ?? { round: 1, releases: 0 };
  }

  /** How many jobs a cluster has when all are in the queue. */
  sizeOf(cluster: number): number {
    return this.#rounds.get(this.#clusters.get(cluster) ?? 0)?.length ?? 0;
  }

  /** The run's job behind HTCondor's id. */
  jobOf(cluster: number, proc: number): KnownJob {
    const round = this.#clusters.get(cluster) ?? 1;
    return { job: this.#rounds.get(round)?.[proc] ?? jobId(proc), round };
  }
}

const minute = 60_000;
const quarterHour = 15 * minute;
/** The largest difference between two time zones. */
const maxShift = 26 * 60 * minute;

/**
 * What to add to the times of a log that names no time zone to match the journal: a run's folder may be read far from
 * where it was written. `written` is when the jobs entered the queue by the log, read as local time; by the journal it
 * was between `earliest` and `latest`. All in milliseconds.
 */
export function zoneShift(written: number, earliest: number, latest: number): number {
  const early = earliest - minute - written;
  const late = written - latest - minute;
  const shift =
    early > 0
      ? Math.ceil(early / quarterHour) * quarterHour
      : late > 0
        ? -Math.ceil(late / quarterHour) * quarterHour
        : 0;
  return Math.abs(shift) > maxShift ? 0 : shift;
}
