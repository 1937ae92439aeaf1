import { fileSize, defined } from '@updraft/base';
import path from 'node:path';
import { EventLogTail, type LogEvent, type EventOf } from '@updraft/htcondor/eventlog';
import { attemptFolder, resultsFolder } from '@updraft/account/run-folder';
import type { Plan } from '../../../job/plan.ts';
import {
  type FoldOptions,
  type JobHistory,
  type Activity,
  type AttemptEnd,
  type AttemptHistory,
  type EventReason,
  type JobFold,
  type JobTransition,
  LogFold,
} from '@updraft/account/history';
import {
  type AccountTrouble,
  type EntrySource,
  type Observation,
  type SourceUpdate,
  type AgentEntry,
  decodeLive,
  type FaultRecord,
  type Outcome,
  type Phase,
  type RunBody,
} from '@updraft/account/journal';
import { willRelease, defaultLeaseSeconds, type FailureCounts } from '@updraft/account/recovery';
import { readAttemptExit, withOutcomes } from '../../attempt-exit.ts';
import { condorFiles } from '../condor-files.ts';
import { policyOfJob, readPolicy, type RunPolicy } from '../submit/condor-policy.ts';
import { RunClusters } from './run-clusters.ts';
import { exitOfHold, faultOfHold, remedyForHold, type ReportedHold } from '@updraft/account/codes';
import { kinds } from '@updraft/account/fault';
import { retryReason } from '../tools/queued-jobs.ts';

/** The entries from HTCondor's event log of a run. Reads only the run's folder; does not ask the schedd. */
export const eventLogSource = (runFolder: string, plan: Plan): EntrySource =>
  new EventLogSource(runFolder, plan);

/** The jobs' histories from the same log, with evidence, by job id; `ours` unless it has its own rules. */
export const loggedHistories = (runFolder: string, ours: boolean): Promise<Map<string, JobHistory>> =>
  new EventLogSource(runFolder, undefined, { evidence: condorFiles.eventLog, ours }).histories();

class EventLogSource {
  readonly path: string;
  readonly paths: readonly string[];
  readonly #runFolder: string;
  readonly #plan: Plan | undefined;
  #policy: RunPolicy | undefined;
  #tail: EventLogTail | undefined;
  readonly #entries: EventEntries;
  readonly #clusters: RunClusters;
  /** Events since the first one whose job is not in the journal yet. */
  #deferred: LogEvent[] = [];
  #sawEvents = false;
  #garbled = 0;
  /** What happened to the file besides growing; kept. */
  #change: 'shrank' | 'replaced' | undefined;

  constructor(runFolder: string, plan: Plan | undefined, options?: Pick<FoldOptions, 'evidence' | 'ours'>) {
    this.#runFolder = runFolder;
    this.path = path.join(runFolder, condorFiles.eventLog);
    this.paths = [this.path];
    this.#plan = plan;
    this.#clusters = new RunClusters(runFolder);
    this.#entries = new EventEntries(
      {
        willRelease: (hold, failures, job) =>
          this.#policy !== undefined && willRelease(policyOfJob(this.#policy, job), hold, failures),
        leaseSeconds: () => this.#policy?.leaseSeconds,
      },
      this.#clusters,
      options,
    );
  }

  async histories(): Promise<Map<string, JobHistory>> {
    await this.#readLog();
    return this.#entries.finish();
  }

  async #readLog(): Promise<void> {
    await this.#clusters.refresh();
    this.#tail ??= await this.#openTail();
    await this.#tail.read();
    await this.#takeDeferred();
  }

  async read(): Promise<SourceUpdate> {
    await this.#readLog();
    const entries = await Promise.all(this.#entries.take().map((entry) => this.#explain(beforeAgent(entry))));
    const damage = { file: condorFiles.eventLog, lines: this.#garbled };
    return {
      entries: withOutcomes(entries),
      damaged: this.#garbled === 0 ? [] : [damage],
      trouble: await this.#trouble(),
    };
  }

  async #trouble(): Promise<AccountTrouble | undefined> {
    if (this.#clusters.numbers.length === 0) return undefined; // not submitted yet
    const bytes = await fileSize(this.path);
    return eventLogTrouble({
      path: this.path,
      clusters: this.#clusters.numbers,
      bytes,
      hasEvents: this.#sawEvents,
      change: this.#change,
      isTruncated: this.#entries.isTruncated,
    });
  }

  /** Other jobs may write to the same log: only the run's own count. */
  #take(event: LogEvent): void {
    const isOurs = this.#deferred.length > 0 ? 'later' : this.#clusters.has(event);
    if (isOurs === 'later') this.#deferred.push(event);
    if (isOurs !== true) return;
    this.#sawEvents = true;
    this.#entries.add(event, this.#clusters.timeOf(event));
  }

  /** A round that began between reading the journal and the log is in the journal by now. */
  async #takeDeferred(): Promise<void> {
    if (this.#deferred.length === 0) return;
    await this.#clusters.refresh();
    const events = this.#deferred;
    this.#deferred = [];
    for (const event of events) this.#take(event);
  }

  async #openTail(): Promise<EventLogTail> {
    this.#policy = this.#plan && (await readPolicy(this.#runFolder, this.#plan));
    return new EventLogTail(this.path, {
      // Logs of old releases omit the year: it is the run's.
      reference: this.#clusters.createdAt,
      onEvent: (event) => this.#take(event),
      onGarbled: () => void (this.#garbled += 1),
      onNotice: (notice) => {
        this.#change = notice;
        this.#garbled = 0;
        this.#entries.restart();
      },
    });
  }

  /** HTCondor knows only the exit code; the agent's journal, returned with the outputs, knows why. */
  async #explain(entry: Observation): Promise<Observation> {
    if (entry.kind !== 'attempt-ended' || entry.exit === null || entry.exit === 0) return entry;
    const { job, attempt, exit } = entry;
    const folder = attemptFolder(this.#runFolder, job, attempt);
    const said = path.join(this.#runFolder, condorFiles.said, `${job}.err`);
    return { ...entry, ...(await readAttemptExit(folder, { code: exit, signal: null }, said)), exit };
  }
}

/** An executing job is at first only the agent, which reports when the training starts. */
const beforeAgent = (entry: Observation): Observation =>
  entry.kind === 'attempt-phase' && entry.phase === 'training' ? { ...entry, phase: 'preparing' } : entry;

/** The state of an event log. */
interface LogCondition {
  path: string;
  clusters: number[];
  /** Its size now; undefined if the file is missing. */
  bytes: number | undefined;
  /** Whether it has ever had events of the run. */
  hasEvents: boolean;
  /** What happened to the file while it was followed. */
  change: 'shrank' | 'replaced' | undefined;
  /** Whether a job's first event is not its submission. */
  isTruncated: boolean;
}

/** Why the log of a submitted run may be incomplete; undefined if it is fine. Pure. */
function eventLogTrouble(log: LogCondition): AccountTrouble | undefined {
  const what = troubleOf(log);
  if (what === undefined) return undefined;
  const clusters = log.clusters.join(' ');
  return {
    message: `the run's event log ${log.path} ${what}`,
    fix:
      `the jobs are not affected: see \`condor_q ${clusters}\` and \`condor_history ${clusters}\`; ` +
      'restore the log if you can, and do not touch it while jobs are in the queue',
    ...(log.hasEvents ? {} : { isAllLost: true }),
  };
}

function troubleOf({ bytes, hasEvents, change, isTruncated }: LogCondition): string | undefined {
  const kept = hasEvents ? 'earlier events are kept' : 'the state of the jobs is unknown';
  if (bytes === undefined) return `is missing: ${kept}`;
  if (change === 'shrank') return `was truncated: ${kept}, unread ones are lost`;
  if (change === 'replaced')
    return `was replaced by another file: ${kept}, but HTCondor still writes to the old one`;
  if (!hasEvents) return `has no events of the run's jobs: ${kept}`;
  if (isTruncated) return 'has lost its beginning: jobs may be further than shown';
  return undefined;
}

/** Decides whether the run's rules will release a held job after these failures. */
interface ReleaseRule {
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
      job,
      cluster: event.cluster,
      round,
      releases: 0,
      attempt: 0,
      failures: 0,
      ranOut: 0,
      outcome: 'lost',
      queuedAt: undefined,
      why: 'first attempt',
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
