import { defined } from '../../../base/defined.ts';
import { answerToHold, exitOfHold, faultOfHold, type Hold } from '../../../codes/codes.ts';
import type { EventOf, LogEvent } from '../../../eventlog/events.ts';
import { kinds } from '../../../fault/kinds.ts';
import type { AttemptEnd, AttemptHistory, Doing } from '../../../history/history.ts';
import type { Change, JobFold, Said } from '../../../history/job-fold.ts';
import { LogFold } from '../../../history/log-fold.ts';
import { liveMark, resultsFolder } from '../../../job/layout.ts';
import { decode, isAgentEntry } from '../../../journal/codec.ts';
import type { AgentEntry, Entry, FaultRecord, Outcome, Phase, RunBody } from '../../../journal/entry.ts';
import { usualLeaseSeconds } from '../../../recovery/policy.ts';
import type { Failures } from '../../../recovery/releases.ts';
import { retryReason } from '../tools/queued-jobs.ts';
import type { Known } from './run-clusters.ts';

/** Whether a job held for this after such failures will be released by the rules of its run. */
export interface ReleaseRule {
  willRelease(hold: Hold, failures: Failures): boolean;
  /** How long a machine is looked for that cannot be reached. */
  leaseSeconds?(): number | undefined;
}

/** A job of the run, over all the clusters it was submitted in. */
interface Story {
  job: string;
  /** HTCondor's name of the job; it gets another one when it is submitted again. */
  cluster: number;
  /** The number of its latest attempt. */
  attempt: number;
  /** What that was last seen doing. */
  doing: Doing | undefined;
  /** Whether it has been said where that runs. */
  isPlaced: boolean;
  /** How that ended. */
  outcome: Outcome;
  /** When it was submitted, where the log says it. */
  queuedAt: number | undefined;
  /** Attempts that failed; those the pool took away do not count. */
  failures: number;
  /** Those of them that needed more memory. */
  ranOut: number;
  /** Why the next attempt will be made. */
  why: string;
}

/** HTCondor's code of a hold by hand. */
const userHold = 1;

/**
 * Turns what happens to the jobs of a log into journal entries: the same events give the same entries, so nothing needs
 * to be written down. An attempt is what HTCondor calls a shadow start; it begins with the first sign of it.
 */
export class EventEntries {
  readonly #rules: ReleaseRule;
  readonly #fold: LogFold;
  readonly #stories = new Map<string, Story>();
  readonly #whose: (cluster: number, proc: number) => Known;
  readonly #sizeOf: (cluster: number) => number;
  #entries: Entry[] = [];
  #seq = 0;
  #lastTime = 0;
  /** Whose event is being folded. */
  #story: Story | undefined;

  /** `sizeOf` says how many jobs a cluster has when all are in the queue. */
  constructor(
    rules: ReleaseRule,
    whose: (cluster: number, proc: number) => Known,
    sizeOf: (cluster: number) => number,
  ) {
    this.#rules = rules;
    this.#whose = whose;
    this.#sizeOf = sizeOf;
    this.#fold = new LogFold({ onChange: (fold, change) => this.#changed(fold, change) });
  }

  /** The entries of the events added since the last call. */
  take(): Entry[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }

  /** Whether a job's first event was not its submission: the log has lost its beginning. */
  get headless(): boolean {
    return this.#fold.headless;
  }

  /** The log begins again: what it repeats is known, what it does not repeat is kept. */
  beginAgain(): void {
    this.#fold.nextLog();
  }

  /** `at`: when it was, if that is not as the log's own zone would have it. */
  add(event: LogEvent, at = event.time): void {
    if (event.kind === 'cluster-remove') this.#removed(event, at);
    if (event.proc < 0) return;
    const { job, round } = this.#whose(event.cluster, event.proc);
    const story = this.#stories.get(job) ?? newStory(job, event.cluster);
    this.#stories.set(job, story);
    if (event.cluster < story.cluster) return;
    this.#lastTime = at ?? this.#lastTime;
    if (event.cluster > story.cluster) this.#again(story, event.cluster, round);
    this.#story = story;
    if (!this.#fold.add(event, at)) return;
    if (event.kind === 'submit') story.queuedAt = this.#lastTime;
    if (event.kind === 'generic') this.#said(story, event.details.text);
  }

  /** Jobs that were not in the queue yet when their cluster left it will never be. */
  #removed({ cluster, details }: EventOf<'cluster-remove'>, at: number | undefined): void {
    if (details.completion === 'complete') return;
    this.#lastTime = at ?? this.#lastTime;
    for (let proc = details.jobs ?? Infinity; proc < this.#sizeOf(cluster); proc++) {
      const { job } = this.#whose(cluster, proc);
      if ((this.#stories.get(job)?.cluster ?? 0) < cluster)
        this.#emit({ kind: 'job-ended', job, outcome: 'stopped' });
    }
  }

  /** The job was submitted again: its attempts go on, and what befell it before no longer counts. */
  #again(story: Story, cluster: number, round: number): void {
    story.cluster = cluster;
    story.failures = 0;
    story.ranOut = 0;
    story.why = `submitted again, in round ${round}`;
    this.#emit({ kind: 'round-started', round, jobs: [story.job], why: story.why });
  }

  #changed(fold: JobFold, change: Change): void {
    const story = this.#story;
    if (story === undefined) return;
    const { job } = story;
    switch (change.kind) {
      case 'began':
        story.attempt += 1;
        story.doing = undefined;
        story.isPlaced = false;
        this.#emit({ kind: 'attempt-started', job, attempt: story.attempt, why: story.why });
        return;
      case 'doing':
        this.#phase(story, change.doing, change.attempt);
        return;
      case 'connection': {
        const { attempt } = story;
        const leaseSeconds = this.#rules.leaseSeconds?.() ?? usualLeaseSeconds;
        const until = new Date(this.#lastTime + leaseSeconds * 1000).toISOString();
        if (change.isLost) this.#emit({ kind: 'attempt-disconnected', job, attempt, until });
        else this.#emit({ kind: 'attempt-reconnected', job, attempt });
        return;
      }
      case 'ended':
        this.#ended(story, change.attempt, change.end, fold.complaint);
        return;
      case 'held':
        this.#held(story, change.said, fold.job.cause);
        return;
      case 'released':
        story.why = change.reason === '' ? 'released' : `released: ${change.reason}`;
        if (change.reason.includes(retryReason)) story.failures = 0;
        this.#emit({ kind: 'job-released', job, why: change.reason });
        return;
      case 'finished':
        this.#finished(story, change, fold.job.cause);
    }
  }

  #phase(story: Story, doing: Doing, attempt: AttemptHistory): void {
    const { doing: before } = story;
    story.doing = doing;
    // After the output has come, whatever the job still does is not known to be more than cleaning up.
    const phase = before === 'output' && doing !== 'output' ? 'cleaning' : phases[doing];
    const isThere = doing === 'executing' || doing === 'cut-off';
    if (phase !== undefined) this.#place(story, phase, isThere ? attempt : undefined);
  }

  #place(story: Story, phase: Phase, { machine = '', site = '' }: Partial<AttemptHistory> = {}): void {
    const { job, attempt } = story;
    story.isPlaced ||= machine !== '' || site !== '';
    const place = defined({ host: machine || undefined, site: site || undefined });
    this.#emit({ kind: 'attempt-phase', job, attempt, phase, ...place });
  }

  #ended(story: Story, ended: AttemptHistory, end: AttemptEnd, complaint: string): void {
    const { ending, cause, machine, site } = ended;
    const { job, attempt } = story;
    // Where an attempt was that never executed is known from its transfer, or from the words of its end.
    if (!story.isPlaced && (machine !== '' || site !== ''))
      this.#place(story, phases[story.doing ?? 'input'] ?? 'fetching', ended);
    const [outcome, exit, found] = endOf(end, complaint);
    const fault = found && { ...found, ...defined({ cause }) };
    if (ending === 'requeued') {
      story.failures += 1;
      if (exit === kinds['memory-exceeded'].exit) story.ranOut += 1;
    }
    story.outcome = outcome;
    story.why = `attempt ${attempt} ended as ${outcome}${fault === undefined ? '' : `: ${fault.message}`}`;
    this.#emit({ kind: 'attempt-ended', job, attempt, outcome, exit, ...defined({ fault }) });
  }

  #held(story: Story, { code = 0, subcode = 0, reason = '' }: Said, cause: FaultRecord['cause']): void {
    const { job } = story;
    const hold = { code, subcode, reason };
    const fault = { ...faultOfHold(code, subcode, reason), ...defined({ cause }) };
    if (code !== userHold) story.failures += 1;
    this.#emit({ kind: 'job-held', job, fault });
    // A person's hold waits for that person; any other that no rule will release is the end.
    if (answerToHold(hold, 1) === 'more-memory') story.ranOut += 1;
    const heldAfter = this.#ageOf(story);
    if (code !== userHold && !this.#rules.willRelease(hold, { ...story, heldAfter }))
      this.#emit({ kind: 'job-ended', job, outcome: 'failed' });
  }

  #ageOf({ queuedAt }: Story): number {
    return queuedAt === undefined ? 0 : (this.#lastTime - queuedAt) / 1000;
  }

  #finished(story: Story, { outcome: how, reason }: Finished, cause: FaultRecord['cause']): void {
    const { job, outcome: last } = story;
    if (how === 'success') {
      this.#emit({ kind: 'job-ended', job, outcome: how, results: resultsFolder('.', job) });
      return;
    }
    const outcome = how === 'removed' ? 'stopped' : last === 'success' ? 'failed' : last;
    const kind = how === 'removed' ? 'interrupted' : 'training-failed';
    // How an attempt failed is said with its end.
    const isSaid = outcome === last && how !== 'removed';
    const fault = { kind, message: reason || 'removed from the queue', ...(cause && { cause }) } as const;
    this.#emit({ kind: 'job-ended', job, outcome, ...(isSaid ? {} : { fault }) });
  }

  #said(story: Story, text: string): void {
    if (!text.startsWith(liveMark)) return;
    const entry = decode(text.slice(liveMark.length).trim());
    if (typeof entry === 'string' || !isAgentEntry(entry)) return;
    this.#entries.push({ ...entry, job: story.job } satisfies AgentEntry);
  }

  #emit(body: RunBody): void {
    const t = new Date(this.#lastTime).toISOString();
    this.#entries.push({ v: 1, t, seq: this.#seq++, ...body });
  }
}

/** What of an attempt's doings is a phase of it. */
const phases: Partial<Record<Doing, Phase>> = {
  queue: 'fetching',
  input: 'fetching',
  starting: 'preparing',
  executing: 'preparing',
  'cut-off': 'preparing',
  output: 'returning',
};

type Finished = Extract<Change, { kind: 'finished' }>;
type Ended = [outcome: Outcome, exit: number | null, fault?: Omit<FaultRecord, 'cause'>];

/** How an attempt ended, in a journal's terms. */
function endOf({ how, code = 0, subcode = 0, reason, termination }: AttemptEnd, complaint: string): Ended {
  const words = reason.trim() === '' ? complaint : reason;
  switch (how) {
    case 'exited': {
      if (termination?.normal === true)
        return [termination.returnValue === 0 ? 'success' : 'failed', termination.returnValue];
      const signal = termination === undefined ? 'unknown' : String(termination.signal);
      return ['lost', null, { kind: 'evicted', message: `the agent was ended by signal ${signal}` }];
    }
    case 'removed':
      return ['stopped', null, { kind: 'interrupted', message: words || 'removed from the queue' }];
    case 'silent':
      return ['lost', null, { kind: 'evicted', message: 'the attempt ended without a word in the log' }];
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

const newStory = (job: string, cluster: number): Story => ({
  job,
  cluster,
  attempt: 0,
  doing: undefined,
  isPlaced: false,
  outcome: 'lost',
  queuedAt: undefined,
  failures: 0,
  ranOut: 0,
  why: 'first attempt',
});
