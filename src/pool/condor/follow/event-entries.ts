import { defined } from '@updraft/base';
import { exitOfHold, faultOfHold, remedyForHold, type ReportedHold } from '@updraft/account/codes';
import type { EventOf, LogEvent } from '@updraft/htcondor/eventlog';
import { kinds } from '@updraft/account/fault';
import {
  type Activity,
  type AttemptEnd,
  type AttemptHistory,
  type EventReason,
  type JobFold,
  type FoldOptions,
  type JobHistory,
  type JobTransition,
  LogFold,
} from '@updraft/account/history';
import { resultsFolder } from '@updraft/account/run-folder';
import {
  type AgentEntry,
  decodeLive,
  type FaultRecord,
  type Observation,
  type Outcome,
  type Phase,
  type RunBody,
} from '@updraft/account/journal';
import { defaultLeaseSeconds, type FailureCounts } from '@updraft/account/recovery';
import { retryReason } from '../tools/queued-jobs.ts';
import type { RunClusters } from './run-clusters.ts';

/** Decides whether the run's rules will release a held job after these failures. */
export interface ReleaseRule {
  willRelease(hold: ReportedHold, failures: FailureCounts, job: string): boolean;
  /** How long the pool tries to reconnect to a worker. */
  leaseSeconds?(): number | undefined;
}

/** Which jobs of the run are in the queue. */
type KnownJobs = Pick<RunClusters, 'jobOf' | 'sizeOf' | 'retriesOf'>;

/** A job of the run, over all its clusters. */
interface TrackedJob {
  job: string;
  /** The cluster of its latest submission, and the round that it is. */
  cluster: number;
  round: number;
  /** How often `updraft retry` has released it there. */
  releases: number;
  /** The number of its latest attempt. */
  attempt: number;
  /** How it ended. */
  outcome: Outcome;
  /** When it was submitted, if the log says so. */
  queuedAt: number | undefined;
  /** Failed attempts; evictions do not count. */
  failures: number;
  /** Those of them that needed more memory. */
  ranOut: number;
  /** The reason for the next attempt. */
  why: string;
}

/** HTCondor's code of a hold by hand. */
const userHoldCode = 1;

/**
 * Turns the events of a log into journal entries: the same events give the same entries, so nothing needs to be stored.
 * An attempt is what HTCondor calls a shadow start; it begins with its first event.
 */
export class EventEntries {
  readonly #rules: ReleaseRule;
  readonly #fold: LogFold;
  readonly #jobs = new Map<string, TrackedJob>();
  readonly #clusters: KnownJobs;
  #entries: Observation[] = [];
  #seq = 0;
  #lastTime = 0;
  /** The job whose event is being folded. */
  #current: TrackedJob | undefined;

  constructor(rules: ReleaseRule, clusters: KnownJobs, options: Pick<FoldOptions, 'evidence' | 'ours'> = {}) {
    this.#rules = rules;
    this.#clusters = clusters;
    this.#fold = new LogFold({ ...options, onChange: (fold, change) => this.#changed(fold, change) });
  }

  /** The entries of the events added since the last call. */
  take(): Observation[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }

  /** Whether a job's first event was not its submission: the beginning of the log is lost. */
  get isTruncated(): boolean {
    return this.#fold.headless;
  }

  /** The jobs' histories, by job; of a resubmitted one the latest. Ends the fold. */
  finish(): Map<string, JobHistory> {
    return new Map(
      this.#fold.finish().map((history) => {
        const [cluster, proc] = history.id.split('.');
        return [this.#clusters.jobOf(Number(cluster), Number(proc)).job, history];
      }),
    );
  }

  /** The log starts over: repeated events are known, others are kept. */
  restart(): void {
    this.#fold.nextLog();
  }

  /** `at`: the time of the event, if it differs from the log's own time zone. */
  add(event: LogEvent, at = event.time): void {
    if (event.kind === 'cluster-remove') this.#removed(event, at);
    if (event.proc < 0) return;
    const { job, round } = this.#clusters.jobOf(event.cluster, event.proc);
    const tracked = this.#jobs.get(job) ?? {
      ...{ job, cluster: event.cluster, round, releases: 0, attempt: 0, failures: 0, ranOut: 0 },
      ...{ outcome: 'lost', queuedAt: undefined, why: 'first attempt' },
    };
    this.#jobs.set(job, tracked);
    if (event.cluster < tracked.cluster) return;
    this.#lastTime = at ?? this.#lastTime;
    if (event.cluster > tracked.cluster) this.#again(tracked, event.cluster, round);
    this.#current = tracked;
    if (!this.#fold.add(event, at)) return;
    if (event.kind === 'submit') tracked.queuedAt = this.#lastTime;
    if (event.kind === 'generic') this.#recordAgentLine(tracked, event.details.text);
  }

  /** Jobs that were not yet in the queue when their cluster was removed will never run. */
  #removed({ cluster, details }: EventOf<'cluster-remove'>, at: number | undefined): void {
    if (details.completion === 'complete') return;
    this.#lastTime = at ?? this.#lastTime;
    for (let proc = details.jobs ?? Infinity; proc < this.#clusters.sizeOf(cluster); proc++) {
      const { job } = this.#clusters.jobOf(cluster, proc);
      if ((this.#jobs.get(job)?.cluster ?? 0) < cluster)
        this.#emit({ kind: 'job-ended', job, outcome: 'stopped' });
    }
  }

  /** The job was resubmitted: attempts are numbered on, earlier failures no longer count. */
  #again(tracked: TrackedJob, cluster: number, round: number): void {
    tracked.cluster = cluster;
    tracked.round = round;
    tracked.releases = 0;
    tracked.failures = 0;
    tracked.ranOut = 0;
    tracked.why = `submitted again, in round ${round}`;
    this.#emit({ kind: 'round-started', round, jobs: [tracked.job], why: tracked.why });
  }

  #changed(fold: JobFold, change: JobTransition): void {
    const tracked = this.#current;
    if (tracked === undefined) return;
    const { job } = tracked;
    switch (change.kind) {
      case 'began': {
        tracked.attempt += 1;
        // Attempts are numbered on in the next cluster.
        change.attempt.number = tracked.attempt;
        const { attempt, why } = tracked;
        this.#emit({ kind: 'attempt-started', job, attempt, why });
        this.#entries.push({ kind: 'attempt-logged', job, attempt, logged: change.attempt });
        return;
      }
      case 'doing':
        if (change.attempt.number > tracked.attempt) this.#renumber(tracked, change.attempt.number);
        else this.#phase(tracked, change.doing);
        return;
      case 'connection': {
        const { attempt } = tracked;
        const leaseSeconds = this.#rules.leaseSeconds?.() ?? defaultLeaseSeconds;
        const until = new Date(this.#lastTime + leaseSeconds * 1000).toISOString();
        if (change.isLost) this.#emit({ kind: 'attempt-disconnected', job, attempt, until });
        else this.#emit({ kind: 'attempt-reconnected', job, attempt });
        return;
      }
      case 'ended':
        this.#ended(tracked, change.attempt, change.end, fold.complaint);
        return;
      case 'held':
        this.#held(tracked, change.said, fold.job.cause);
        return;
      case 'released':
        tracked.why = change.reason === '' ? 'released' : `released: ${change.reason}`;
        if (change.reason.includes(retryReason)) {
          tracked.failures = 0;
          tracked.releases += 1;
        }
        this.#emit({ kind: 'job-released', job, why: change.reason });
        return;
      case 'finished':
        this.#finished(tracked, change, fold.job.cause);
    }
  }

  /** The pool counts starts that its log does not show. */
  #renumber(tracked: TrackedJob, attempt: number): void {
    const { job, why, attempt: was } = tracked;
    tracked.attempt = attempt;
    this.#emit({ kind: 'attempt-started', job, attempt, why, was });
  }

  #phase(tracked: TrackedJob, doing: Activity): void {
    const { job, attempt } = tracked;
    const phase = phases[doing];
    if (phase !== undefined) this.#emit({ kind: 'attempt-phase', job, attempt, phase });
  }

  #ended(tracked: TrackedJob, ended: AttemptHistory, end: AttemptEnd, complaint: string): void {
    const { ending, cause } = ended;
    const { job, attempt } = tracked;
    const [outcome, exit, found] = exitOf(end, complaint);
    const fault = found && { ...found, ...defined({ cause }) };
    if (ending === 'requeued') {
      tracked.failures += 1;
      if (exit === kinds['memory-exceeded'].exit) tracked.ranOut += 1;
    }
    tracked.outcome = outcome;
    tracked.why = `attempt ${attempt} ended as ${outcome}${fault === undefined ? '' : `: ${fault.message}`}`;
    this.#emit({ kind: 'attempt-ended', job, attempt, outcome, exit, ...defined({ fault }) });
  }

  #held(
    tracked: TrackedJob,
    { code = 0, subcode = 0, reason = '' }: EventReason,
    cause: FaultRecord['cause'],
  ): void {
    const { job } = tracked;
    const hold = { code, subcode, reason };
    const fault = { ...faultOfHold(code, subcode, reason), ...defined({ cause }) };
    if (code !== userHoldCode) tracked.failures += 1;
    this.#emit({ kind: 'job-held', job, fault });
    // A user's hold waits for the user; any other hold that no rule releases ends the job.
    if (remedyForHold(hold, 1) === 'more-memory') tracked.ranOut += 1;
    const heldAfter = tracked.queuedAt === undefined ? 0 : (this.#lastTime - tracked.queuedAt) / 1000;
    if (code !== userHoldCode && !this.#rules.willRelease(hold, { ...tracked, heldAfter }, job))
      this.#end(tracked, { outcome: 'failed' });
  }

  /** A retry of which the journal knows has happened, though HTCondor writes it into the log only a moment later. */
  #end(tracked: TrackedJob, how: Pick<JobEnd, 'outcome' | 'results' | 'fault'>): void {
    const { job } = tracked;
    this.#emit({ kind: 'job-ended', job, ...how });
    const { round, releases } = this.#clusters.retriesOf(job);
    if (round > tracked.round) this.#emit({ kind: 'round-started', round, jobs: [job], why: retryReason });
    else if (releases > tracked.releases) this.#emit({ kind: 'job-released', job, why: retryReason });
  }

  #finished(tracked: TrackedJob, { outcome: how, reason }: Finished, cause: FaultRecord['cause']): void {
    const { job, outcome: last } = tracked;
    if (how === 'success') {
      this.#end(tracked, { outcome: how, results: resultsFolder('.', job) });
      return;
    }
    const outcome = how === 'removed' ? 'stopped' : last === 'success' ? 'failed' : last;
    const kind = how === 'removed' ? 'interrupted' : 'training-failed';
    // The end of the attempt already says how it failed.
    const isSaid = outcome === last && how !== 'removed';
    const fault = { kind, message: reason || 'removed from the queue', ...(cause && { cause }) } as const;
    this.#end(tracked, { outcome, ...(isSaid ? {} : { fault }) });
  }

  #recordAgentLine(tracked: TrackedJob, text: string): void {
    const entry = decodeLive(text);
    if (entry !== undefined) this.#entries.push({ ...entry, job: tracked.job } satisfies AgentEntry);
  }

  #emit(body: RunBody): void {
    const t = new Date(this.#lastTime).toISOString();
    this.#entries.push({ v: 1, t, seq: this.#seq++, ...body });
  }
}

/** The activities that are phases of an attempt. */
const phases: Partial<Record<Activity, Phase>> = {
  queued: 'fetching',
  fetching: 'fetching',
  preparing: 'preparing',
  training: 'training',
  'cut-off': 'training',
  returning: 'returning',
};

type JobEnd = Extract<RunBody, { kind: 'job-ended' }>;
type Finished = Extract<JobTransition, { kind: 'finished' }>;
type Ended = [outcome: Outcome, exit: number | null, fault?: Omit<FaultRecord, 'cause'>];

/** How an attempt ended, in terms of the journal. */
function exitOf({ how, code = 0, subcode = 0, reason, termination }: AttemptEnd, complaint: string): Ended {
  const words = reason.trim() === '' ? complaint : reason;
  switch (how) {
    case 'exited': {
      if (termination?.normal === true)
        return [termination.returnValue === 0 ? 'success' : 'failed', termination.returnValue];
      const signal = termination === undefined ? 'unknown' : String(termination.signal);
      return ['lost', null, { kind: 'evicted', message: `the agent was killed by signal ${signal}` }];
    }
    case 'removed':
      return ['stopped', null, { kind: 'interrupted', message: words || 'removed from the queue' }];
    case 'silent':
      return ['lost', null, { kind: 'evicted', message: 'the log does not say how the attempt ended' }];
    case 'exception':
      return ['lost', null, faultOfHold(0, 0, words)];
    case 'vacated': {
      const isHold = code > 0 && code < 1000;
      return [
        isHold ? 'failed' : 'evicted',
        exitOfHold(code, subcode, words) ?? null,
        faultOfHold(code, subcode, words),
      ];
    }
  }
}
