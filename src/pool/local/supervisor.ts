import path from 'node:path';
import { defined, isGone, unlessGone } from '@updraft/base';
import { acquireLease, type ProcessIdentity } from '@updraft/base/processes';
import { asFault } from '@updraft/account/fault';
import { attemptFolder, resultsFolder, runFiles } from '@updraft/account/run-folder';
import type { Plan } from '../../job/plan.ts';
import { planOfJob } from '../../job/variants.ts';
import {
  type FaultRecord,
  fold,
  isAgentEntry,
  endedBadly,
  type JobState,
  type Journal,
  JournalTail,
  openJournal,
  type Outcome,
  readJournal,
  type RunBody,
  runEndedAt,
  RunFold,
  toFaultRecord,
} from '@updraft/account/journal';
import type { Resources } from '../../job/spec.ts';
import { decide, nextBatch, outOfMemoryCount, pastAttempts, requestAfter } from '@updraft/account/recovery';
import type { AttemptExit } from '../attempt-exit.ts';
import { roundPlan } from '../pool.ts';
import { LocalAttempt, type AttemptContext, clearAttempt } from './local-attempt.ts';
import type { Machine } from './machine.ts';
import { localPolicy } from './order.ts';
import { Shares } from './shares.ts';
import { open, stat, type FileHandle } from 'node:fs/promises';

/** How often stop requests, free resources and adopted agents are polled. */
const pollMs = 500;
/** A clean-up that takes longer is reported. */
const slowMs = 1000;

/**
 * Brings every job of a run to its end. Its state is in the journal: a successor reads the same entries and continues.
 * `supervise` ensures that there is only one at a time.
 *
 *   read the journal -> for each job: [running?] finish or stop it : [decide] start, wait, end -> pause -> again
 */
class Supervisor {
  readonly #context: AttemptContext;
  /** Plans of later rounds. */
  readonly #plans = new Map<number, Plan>();
  readonly #journal: Journal<RunBody>;
  readonly #shares: Shares;
  readonly #tail: JournalTail;
  readonly #fold: RunFold;
  readonly #running = new Map<string, LocalAttempt>();
  #runEnded = false;
  /** Later jobs do not overtake one that does not fit: they request about the same, or it would starve. */
  #isFull = false;
  /** The fault of an attempt that the run's folder had no room for: until a retry, the next would end the same. */
  #full: FaultRecord | undefined;
  #wake = new AbortController();

  constructor(context: Omit<AttemptContext, 'onExit'>, journal: Journal<RunBody>, shares: Shares) {
    this.#context = { ...context, onExit: () => this.#wake.abort() };
    this.#journal = journal;
    this.#shares = shares;
    this.#fold = new RunFold({ jobs: context.plan.jobs.map(({ id }) => id) });
    this.#tail = new JournalTail(path.join(context.runFolder, runFiles.journal));
  }

  /**
   * Works until every job has ended, until the signal aborts (then the attempts continue without us), or until the
   * run's folder is gone.
   */
  async work(signal: AbortSignal, place: RunPlace): Promise<'ended' | 'left' | Loss> {
    for (const job of await this.#read()) await this.#adopt(job);
    while (!signal.aborted) {
      const loss = await place.loss();
      if (loss !== undefined) return this.#abandon(loss);
      this.#wake = new AbortController();
      this.#isFull = false;
      let changed = false;
      for (const job of await this.#read()) changed = (await this.#step(job)) || changed;
      const jobs = await this.#read();
      if (runEndedAt(jobs) !== undefined) return this.#end(jobs);
      changed = (await this.#giveUp(jobs)) || (await this.#startNextBatch(jobs)) || changed;
      if (!changed) await this.#pause(signal);
    }
    return 'left';
  }

  /** The jobs of the plan, and those added since, as the journal has them; one without entries was never tried. */
  async #read(): Promise<JobState[]> {
    const { entries } = await this.#tail.read();
    for (const entry of entries) {
      this.#fold.add(entry);
      if (isAgentEntry(entry)) continue;
      if (entry.kind === 'run-ended') this.#runEnded = true;
      if (entry.kind === 'round-started') this.#full = undefined;
      if (entry.kind === 'attempt-ended') this.#noteFull(entry.fault);
      if (entry.kind === 'attempt-started' || entry.kind === 'round-started') this.#runEnded = false;
    }
    return this.#fold.state().jobs;
  }

  async #adopt(job: JobState): Promise<void> {
    const last = job.attempts.at(-1);
    if (last === undefined || last.ending !== 'running') return;
    this.#running.set(job.id, await LocalAttempt.adopt(this.#context, job.id, last.number));
  }

  /** Advances one job by one step; true if something changed. */
  async #step(job: JobState): Promise<boolean> {
    const attempt = this.#running.get(job.id);
    if (attempt !== undefined) {
      if (attempt.isOver) return this.#finish(attempt, job);
      if (job.stopRequested) await attempt.stop();
      return false;
    }
    if (job.status === 'ended') return false;
    if (job.stopRequested && job.attempts.at(-1)?.ending !== 'success')
      return this.#endJob(job.id, 'stopped');
    if (job.isKeptBack) return false;
    const ofRound = job.attempts.filter(({ number }) => number > (job.attemptsBefore ?? 0));
    const policy = localPolicy(await this.#planOf(job));
    const decision = decide(pastAttempts(ofRound), policy, this.#journal.now());
    if (decision.do === 'end') return this.#endJob(job.id, decision.outcome);
    if (decision.do === 'start' && this.#full !== undefined)
      return this.#endJob(job.id, 'failed', this.#full);
    const isRetry = ofRound.length === 0 && job.attempts.length > 0;
    return decision.do === 'start' && this.#start(job, isRetry ? 'tried again by hand' : decision.why);
  }

  /** Stops the rest of the run when as many jobs have failed as its file allows. */
  async #giveUp(jobs: JobState[]): Promise<boolean> {
    const { failedJobs = Infinity } = localPolicy(this.#context.plan);
    const failed = jobs.filter((job) => endedBadly(job) && job.outcome !== 'removed');
    if (failed.length < failedJobs || this.#fold.state().stopRequested) return false;
    const names = failed.map(({ id }) => id).slice(0, 5);
    const why = `${names.join(', ')} failed for good, and [recovery] failed_jobs = ${failedJobs}`;
    await this.#journal.append({ kind: 'stop-requested', jobs: 'all', why });
    return true;
  }

  /** Starts the jobs that waited for the canary's valid results. */
  async #startNextBatch(jobs: JobState[]): Promise<boolean> {
    const { canary, rounds } = this.#fold.state();
    const ahead = canary === undefined ? [] : nextBatch({ canary, jobs });
    if (ahead.length === 0) return false;
    const why = 'all earlier jobs have a valid result';
    await this.#journal.append({ kind: 'round-started', round: rounds + 1, jobs: ahead, why });
    return true;
  }

  async #start(job: JobState, why: string): Promise<boolean> {
    if (this.#isFull) return false;
    const plan = await this.#planOf(job);
    const planned = plan.jobs.find(({ id }) => id === job.id);
    if (planned === undefined) return false;
    const number = (job.attempts.at(-1)?.number ?? 0) + 1;
    const folder = attemptFolder(this.#context.runFolder, job.id, number);
    const share = await this.#shares.take(folder, grownResources(plan, job));
    this.#isFull = share === undefined;
    if (share === undefined) return false;
    // From here on the attempt exists: a successor finds out whether it has an agent.
    await this.#journal.append({ kind: 'attempt-started', job: job.id, attempt: number, why });
    if (job.attempts.at(-1)?.fault?.kind === 'token-expired') await this.#context.renewTokens?.(plan);
    try {
      this.#running.set(job.id, await LocalAttempt.start({ ...this.#context, plan }, planned, number, share));
    } catch (error) {
      await this.#startFailed(job.id, number, error);
    }
    return true;
  }

  async #planOf({ id, round = 1 }: JobState): Promise<Plan> {
    return planOfJob(await this.#roundPlan(round), id);
  }

  async #roundPlan(round: number): Promise<Plan> {
    if (round === 1) return this.#context.plan;
    const known = this.#plans.get(round);
    if (known !== undefined) return known;
    const plan = await roundPlan(this.#context.runFolder, round);
    this.#plans.set(round, plan);
    return plan;
  }

  async #startFailed(job: string, number: number, error: unknown): Promise<void> {
    const folder = attemptFolder(this.#context.runFolder, job, number);
    await clearAttempt(this.#context, folder);
    await this.#endAttempt(job, number, {
      outcome: 'failed',
      exit: null,
      fault: toFaultRecord(asFault(error)),
    });
  }

  /** Removing what a killed agent left may take long; the other jobs need not wait for it. */
  async #finish(attempt: LocalAttempt, { stopRequested, attempts }: JobState): Promise<boolean> {
    const clearing = attempt.clear();
    if (clearing !== 'done') {
      if (clearing < slowMs || attempts.at(-1)?.pool?.phase === 'cleaning') return false;
      const { job, number } = attempt;
      await this.#journal.append({ kind: 'attempt-phase', job, attempt: number, phase: 'cleaning' });
      return true;
    }
    const end = await attempt.end();
    // A stopped agent does not know who stopped it; we do.
    const outcome = stopRequested && end.outcome !== 'success' ? 'stopped' : end.outcome;
    await this.#endAttempt(attempt.job, attempt.number, { ...end, outcome });
    this.#running.delete(attempt.job);
    return true;
  }

  #noteFull(fault: FaultRecord | undefined): void {
    if (fault?.kind === 'run-folder-full') this.#full = fault;
  }

  async #endAttempt(job: string, number: number, end: AttemptExit): Promise<void> {
    await this.#journal.append({ kind: 'attempt-ended', job, attempt: number, ...end });
    this.#noteFull(end.fault);
    await this.#shares.release(attemptFolder(this.#context.runFolder, job, number));
  }

  async #endJob(job: string, outcome: Outcome, fault?: FaultRecord): Promise<boolean> {
    // Relative: the run's folder may be moved.
    const results = resultsFolder('.', job);
    await this.#journal.append({
      kind: 'job-ended',
      job,
      outcome,
      ...(outcome === 'success' && { results }),
      ...defined({ fault }),
    });
    return true;
  }

  async #end(jobs: JobState[]): Promise<'ended'> {
    const succeeded = jobs.filter(({ outcome }) => outcome === 'success').length;
    if (!this.#runEnded)
      await this.#journal.append({ kind: 'run-ended', succeeded, failed: jobs.length - succeeded });
    return 'ended';
  }

  /**
   * Ends every attempt: without the folder there is nowhere to return a result. A moved journal records it, through the
   * open file, so that the run can be submitted again from its new place.
   */
  async #abandon(loss: Loss): Promise<Loss> {
    const { say, runFolder } = this.#context;
    say(`${runFolder} was ${loss}: its attempts are ended`);
    for (const attempt of this.#running.values()) {
      await attempt.abandon().catch((error: unknown) => say(`job ${attempt.job}: ${asFault(error).message}`));
      const fault = { kind: 'evicted', message: `the run's folder was ${loss} during the attempt` } as const;
      await this.#endAttempt(attempt.job, attempt.number, { outcome: 'lost', exit: null, fault });
    }
    return loss;
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const woken = AbortSignal.any([signal, this.#wake.signal]);
    await this.#context.clock.sleep(pollMs, woken).catch((error: unknown) => {
      if (!woken.aborted) throw error;
    });
  }
}

/** What a job requests: more memory, and so fewer jobs beside it, for each attempt that ran out. */
function grownResources(plan: Plan, { attempts }: JobState): Resources {
  const memoryBytes = requestAfter(localPolicy(plan).memory, outOfMemoryCount(attempts));
  return { ...plan.spec.resources, memoryBytes };
}

export interface SuperviseOptions extends Omit<AttemptContext, 'onExit'> {
  self: ProcessIdentity;
  machine: Machine;
  /** Folder in which all of the user's runs record what they use of the machine. */
  poolFolder: string;
  signal: AbortSignal;
}

/**
 * Supervises a run until it has ended, or until the signal aborts. `held` if another living process supervises it:
 * there are never two. `moved` or `removed` if its folder is gone, which then does not come back.
 */
export async function supervise(options: SuperviseOptions): Promise<'ended' | 'left' | 'held' | Loss> {
  const { runFolder, self, machine, poolFolder, clock, signal } = options;
  const file = path.join(runFolder, runFiles.journal);
  await using place = await RunPlace.open(runFolder);
  if (place === undefined) return 'removed';
  for (;;) {
    const lease = await acquireLease(path.join(runFolder, runFiles.supervisor), self);
    if (lease === undefined) return 'held';
    await using journal = await openJournal(file, clock);
    const shares = new Shares(poolFolder, machine, self, clock);
    const outcome = await new Supervisor(options, journal, shares).work(signal, place);
    // A supervisor that leaves early keeps the lease, which shows everyone that it died.
    if (outcome !== 'ended') return outcome;
    await lease.release();
    // A retry recorded after our last poll, while we still had the lease, is ours.
    if (runEndedAt(fold((await readJournal(file)).entries).jobs) !== undefined) return outcome;
  }
}

/** What became of a run's folder: no longer at its path, or deleted. */
type Loss = 'moved' | 'removed';

/** Knows a run's folder by its journal, to notice that someone removed it or moved it away while the run goes on. */
class RunPlace {
  readonly #file: string;
  readonly #handle: FileHandle;
  readonly #inode: number;

  private constructor(file: string, handle: FileHandle, inode: number) {
    this.#file = file;
    this.#handle = handle;
    this.#inode = inode;
  }

  /** Undefined if the folder has no journal. */
  static async open(runFolder: string): Promise<RunPlace | undefined> {
    const file = path.join(runFolder, runFiles.journal);
    const handle = await unlessGone(open(file, 'r'));
    return handle && new RunPlace(file, handle, (await handle.stat()).ino);
  }

  /** Undefined while it is in its place. A path that cannot be read, as on a network disk that is away, is no loss. */
  async loss(): Promise<Loss | undefined> {
    const isHere = await stat(this.#file).then(
      ({ ino }) => ino === this.#inode,
      (error: unknown) => !isGone(error),
    );
    if (isHere) return undefined;
    // On a network disk, a file that was removed elsewhere has no stat.
    const links = (await this.#handle.stat().catch(() => undefined))?.nlink ?? 0;
    return links > 0 ? 'moved' : 'removed';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
