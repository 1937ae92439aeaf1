import { defined } from '@updraft/base';
import { isAgentEntry } from './codec.ts';
import { completeJob, type PlannedJob } from './complete-job.ts';
import type { AgentEntry, Phase, RunEntry } from './entry.ts';
import { foldAgentEntries } from './fold-agent.ts';
import { percentagesOf } from './metrics.ts';
import {
  type AccountTrouble,
  type Damage,
  type FoldedAttempt,
  type FoldedJob,
  type JobCounts,
  type JobState,
  type Observation,
  type PoolAccount,
  runEndedAt,
  type RunState,
} from './state.ts';
import type { AgentState } from './agent-state.ts';

export type PlannedFor = (job: string) => PlannedJob | undefined;

export interface RunFoldOptions {
  /** What the run's plan knows of a job. */
  plannedFor?: PlannedFor | undefined;
  jobs?: readonly string[];
}

/** The state of a run from all its entries: those of each journal in order, the journals in any. Pure. */
export function fold(entries: readonly Observation[], options?: RunFoldOptions): RunState {
  const folding = new RunFold(options);
  folding.addAll(entries);
  return folding.state();
}

/**
 * The fold, an entry at a time, to follow a run.
 *
 *   job:      waiting --attempt-started--> running --attempt-ended--> waiting --job-ended--> ended
 *                ^                            '---attempt-ended with success, job-ended------^ |
 *                '------------- round-started, job-released, attempt-started (a retry) --------'
 *   attempt:  queued --agent-started--> preparing … returning --agent-ended--> (the agent's outcome), cleaning
 *                '----------------------------attempt-ended-----------------> (the access point's outcome)
 *   run:      created --every job ended--> ended --round-started (a retry)--> created
 *
 * The access point's outcome is final; the agent's is kept as well. A follower sees entries as they arrive, so those of
 * the two journals may be interleaved in any way, as long as each journal's own order holds.
 */
export class RunFold {
  #run: Omit<RunState, 'endedAt' | 'jobs' | 'tally' | 'garbled' | 'damaged' | 'trouble'> = {
    run: '',
    name: '',
    pool: '',
    version: '',
    stopRequested: false,
    rounds: 1,
  };
  /** Values are replaced, never mutated, so that returned states do not change. */
  readonly #jobs = new Map<string, FoldedJob>();
  readonly #plannedFor: PlannedFor;
  /** The jobs as they were returned: one that has not changed stays the same object. */
  #completed = new WeakMap<FoldedJob, JobState>();
  /** What all of them depend on. */
  #basis = '';

  /** Of jobs whose ids are given, no entry need be known. */
  constructor({ plannedFor = () => undefined, jobs = [] }: RunFoldOptions = {}) {
    this.#plannedFor = plannedFor;
    for (const id of jobs) this.#changeJob(id, (job) => job);
  }

  add(entry: Observation): void {
    if (isAgentEntry(entry)) this.#addAgent(entry.job, entry.attempt, [entry]);
    else if (entry.kind === 'attempt-logged') {
      const { job, attempt, logged } = entry;
      this.#changeAttempt(job, attempt, (old) => ({ ...old, logged }));
    } else this.#addRun(entry);
  }

  /** The same for several: entries of one agent that follow each other are added together, which is much cheaper. */
  addAll(entries: readonly Observation[]): void {
    let together: AgentEntry[] = [];
    const flush = (): void => {
      const [first] = together;
      if (first !== undefined) this.#addAgent(first.job, first.attempt, together);
      together = [];
    };
    for (const entry of entries) {
      const isAgent = isAgentEntry(entry);
      if (!isAgent || entry.attempt !== together[0]?.attempt || entry.job !== together[0].job) flush();
      if (isAgent) together.push(entry);
      else this.add(entry);
    }
    flush();
  }

  /** Sets what an agent reported in all its entries. */
  setAgent(job: string, attempt: number, agent: AgentState): void {
    this.#changeAttempt(job, attempt, (old) => ({ ...old, agent, phase: phaseOf(agent, old.pool) }));
  }

  /** Drops the agent's entries of an attempt: its journal was replaced and is read again. */
  forgetAgent(job: string, attempt: number): void {
    this.#changeAttempt(job, attempt, (old) => {
      const next: FoldedAttempt = { ...old, phase: old.pool?.phase ?? 'queued' };
      delete next.agent;
      return next;
    });
  }

  /** Records when the agent's journal last grew, by the clock of the access point's file system. */
  journalGrew(job: string, attempt: number, heardAt: number): void {
    this.#changeAttempt(job, attempt, (old) => ({ ...old, heardAt }));
  }

  state(damaged: readonly Damage[] = [], trouble?: AccountTrouble): RunState {
    const drafts = [...this.#jobs.values()];
    const percentages = percentagesOf(drafts);
    const isLost = trouble?.isAllLost ?? false;
    const basis = [isLost, ...percentages].join('\n');
    if (basis !== this.#basis) [this.#basis, this.#completed] = [basis, new WeakMap()];
    const jobs = drafts.map((draft) => {
      const known = this.#completed.get(draft);
      if (known !== undefined) return known;
      const judged = atItsRung(withOneNumber(draft));
      const job = completeJob(isLost ? asUnknown(judged) : judged, {
        createdAt: this.#run.createdAt,
        planned: this.#plannedFor(draft.id),
        percentages: percentages.length === 0 ? undefined : percentages,
      });
      this.#completed.set(draft, job);
      return job;
    });
    const endedAt = runEndedAt(jobs);
    return {
      ...this.#run,
      ...defined({ endedAt }),
      jobs,
      tally: tally(jobs),
      garbled: damaged.reduce((sum, { lines }) => sum + lines, 0),
      ...(damaged.length > 0 && { damaged: [...damaged] }),
      ...defined({ trouble }),
    };
  }

  #addAgent(job: string, attempt: number, entries: readonly AgentEntry[]): void {
    const known = this.#jobs.get(job)?.attempts.find((one) => one.attempt === attempt);
    const agent = foldAgentEntries(known?.agent, entries);
    if (agent !== undefined) this.setAgent(job, attempt, agent);
  }

  #addRun(entry: RunEntry): void {
    switch (entry.kind) {
      case 'run-created': {
        const { run, name, pool, version } = entry;
        this.#run = { ...this.#run, run, name, pool, version, createdAt: entry.t };
        for (const id of entry.jobs) this.#changeJob(id, (job) => job);
        return;
      }
      case 'canary-set':
        this.#keepBack(entry.rungs);
        return;
      case 'round-started':
        this.#startRound(entry);
        return;
      case 'rung-judged': {
        const { job, rung, seen, better, goesOn } = entry;
        this.#changeJob(job, (old) => ({ ...old, judged: { rung, seen, better, goesOn } }));
        return;
      }
      case 'attempt-started':
        this.#startAttempt(entry);
        return;
      case 'submitting':
      case 'submitted':
        // Only for submission; the job waits before and after.
        return;
      case 'attempt-phase':
        this.#changeAttempt(entry.job, entry.attempt, (old) => inPool(old, entry));
        return;
      case 'attempt-disconnected':
        this.#changeAttempt(entry.job, entry.attempt, (old) => disconnected(old, entry));
        return;
      case 'attempt-reconnected':
        this.#changeAttempt(entry.job, entry.attempt, reconnected);
        return;
      case 'job-held':
      case 'job-released':
        this.#changeJob(entry.job, (old) => (entry.kind === 'job-held' ? asHeld(old, entry) : released(old)));
        return;
      case 'attempt-ended':
        this.#endAttempt(entry);
        return;
      case 'job-ended':
        this.#changeJob(entry.job, (old) => asEnded(old, entry));
        return;
      case 'stop-requested':
        if (entry.jobs === 'all') this.#run = { ...this.#run, stopRequested: true };
        for (const id of this.#jobs.keys())
          if (entry.jobs === 'all' || entry.jobs.includes(id))
            this.#changeJob(id, (old) => stopping(old, entry.t));
        return;
      case 'run-ended':
        // Every job has its own entry.
        return;
    }
  }

  #endAttempt(entry: Extract<RunEntry, { kind: 'attempt-ended' }>): void {
    const { job, attempt, outcome, exit, fault, movedOn, t } = entry;
    this.#changeAttempt(job, attempt, (old) => ({
      ...reconnected(old),
      endedAt: t,
      outcome,
      exit,
      ...defined({ fault, movedOn }),
    }));
    // After a success its results are fetched, and the job ends.
    const status = outcome === 'success' ? 'running' : 'waiting';
    this.#changeJob(job, (old) => (old.status === 'ended' ? old : { ...old, status }));
  }

  #startAttempt(entry: Extract<RunEntry, { kind: 'attempt-started' }>): void {
    const { job, attempt, why, was, t } = entry;
    if (was !== undefined) {
      this.#renumber(job, was, attempt);
      return;
    }
    const known = this.#jobs.get(job);
    const before = known?.attempts.findLast((one) => one.attempt < attempt);
    // A job that had ended was not waiting until it was retried.
    const waited = known?.status !== 'ended';
    const madeAt = known?.addedAt ?? this.#run.createdAt;
    const waitingSince = !waited ? undefined : before === undefined ? madeAt : before.endedAt;
    this.#changeAttempt(job, attempt, (old) => ({ ...old, why, startedAt: t, ...defined({ waitingSince }) }));
    this.#changeJob(job, (old) => ({ ...again(old), status: 'running' }));
  }

  /** Values of the agent may have come first, under the new number. */
  #renumber(id: string, was: number, attempt: number): void {
    this.#changeJob(id, (job) => {
      const found = job.attempts.find((one) => one.attempt === was);
      if (found === undefined) return job;
      const known = job.attempts.find((one) => one.attempt === attempt);
      const agent = known?.agent ?? found.agent;
      const next = { ...known, ...found, attempt, ...defined({ agent }), phase: phaseOf(agent, found.pool) };
      const others = job.attempts.filter((one) => one !== found && one !== known);
      return { ...job, attempts: [...others, next].sort((a, b) => a.attempt - b.attempt) };
    });
  }

  #keepBack(rungs: number[]): void {
    this.#run = { ...this.#run, canary: rungs };
    for (const id of [...this.#jobs.keys()].slice(rungs[0] ?? 0))
      this.#changeJob(id, (old) => ({ ...old, isKeptBack: true }));
  }

  /** A scheduler's log may repeat a round of the run's journal. */
  #startRound({ round, jobs, t }: Extract<RunEntry, { kind: 'round-started' }>): void {
    const isNew = round > this.#run.rounds;
    if (isNew) this.#run = { ...this.#run, rounds: round, stopRequested: false };
    for (const id of jobs)
      this.#changeJob(id, (old) => {
        const isDone = old.status === 'ended' || old.isKeptBack;
        const next: FoldedJob = isDone ? { ...again(old), attemptsBefore: lastAttempt(old) } : old;
        if (round <= (old.round ?? 1)) return next;
        const isAdded = !isDone && old.attempts.length === 0 && old.round === undefined;
        return { ...next, ...(isAdded && { addedAt: t }), round, stopRequested: false };
      });
  }

  #changeJob(id: string, change: (old: FoldedJob) => FoldedJob): void {
    const old = this.#jobs.get(id) ?? { id, status: 'waiting', stopRequested: false, attempts: [] };
    this.#jobs.set(id, change(old));
  }

  #changeAttempt(id: string, attempt: number, change: (old: FoldedAttempt) => FoldedAttempt): void {
    this.#changeJob(id, (job) => {
      const found = job.attempts.find((one) => one.attempt === attempt);
      const next = change(found ?? { job: id, attempt, why: '', phase: 'queued' });
      const attempts =
        found === undefined
          ? [...job.attempts, next].sort((a, b) => a.attempt - b.attempt)
          : job.attempts.map((one) => (one === found ? next : one));
      return { ...job, attempts };
    });
  }
}

const lastAttempt = ({ attempts }: FoldedJob): number => attempts.at(-1)?.attempt ?? 0;

/**
 * The pool counts starts that its log does not show. If the agent's line with its number did not arrive either, the log
 * has an attempt without an agent, and a journal one without a start: they are the same, under the agent's number, and
 * so are those between them, each with the next one's agent.
 */
function withOneNumber(job: FoldedJob): FoldedJob {
  const { attempts } = job;
  const at = attempts.findIndex((one) => one.startedAt === undefined && one.agent !== undefined);
  const from = attempts.slice(0, Math.max(0, at)).findLastIndex(hasRunUnheard);
  if (from === -1) return job;
  const joined = attempts.slice(from, at).map((logged, index): FoldedAttempt => {
    const { attempt, agent } = attempts[from + index + 1] ?? logged;
    return { ...logged, attempt, ...defined({ agent }), phase: phaseOf(agent, logged.pool) };
  });
  return withOneNumber({ ...job, attempts: attempts.toSpliced(from, at - from + 1, ...joined) });
}

/** Whether the pool has run it, and no agent's entries are known. */
const hasRunUnheard = ({ agent, pool, exit, endedAt }: FoldedAttempt): boolean =>
  agent === undefined && pool !== undefined && (endedAt === undefined || typeof exit === 'number');

/** A job that was kept back was never submitted, so stopping ends it. */
const stopping = (job: FoldedJob, t: string): FoldedJob =>
  job.isKeptBack
    ? {
        ...without(job, ['isKeptBack']),
        stopRequested: true,
        status: 'ended',
        outcome: 'stopped',
        endedAt: t,
      }
    : { ...job, stopRequested: true };

const asEnded = (
  job: FoldedJob,
  { outcome, results, fault, t }: Extract<RunEntry, { kind: 'job-ended' }>,
): FoldedJob => ({
  // A removed job is no longer held.
  ...(outcome === 'stopped' ? without(job, ['held']) : job),
  status: 'ended',
  outcome,
  endedAt: t,
  ...defined({ results, fault }),
});

/** A trial that ended at its rung waits there until a round has judged it; then its place is the one among all. */
function atItsRung(job: FoldedJob): FoldedJob {
  const { judged, attempts, status, outcome, stopRequested } = job;
  const atRung = attempts.at(-1)?.agent?.atRung;
  if (atRung !== undefined && atRung > (judged?.rung ?? 0) && outcome === 'success' && !stopRequested)
    return status === 'ended' ? { ...again(job), isKeptBack: true, atRung } : job;
  if (judged === undefined) return job;
  const placed = attempts.map((one): FoldedAttempt => {
    const { agent } = one;
    if (agent?.training?.rungs === undefined) return one;
    const rungs = agent.training.rungs.map((at) => (at.rung === judged.rung ? { ...at, ...judged } : at));
    return { ...one, agent: { ...agent, training: { ...agent.training, rungs } } };
  });
  return { ...job, attempts: placed };
}

/** A waiting job whose state is unknown, because the pool's log is lost. */
const asUnknown = (job: FoldedJob): FoldedJob =>
  job.status === 'waiting' && !job.isKeptBack ? { ...job, isUntold: true } : job;

/** A job that waits again. */
const again = (job: FoldedJob): FoldedJob => ({
  ...without(job, ['outcome', 'endedAt', 'results', 'fault', 'held', 'isKeptBack']),
  status: 'waiting',
});

function without(
  job: FoldedJob,
  names: readonly ('outcome' | 'endedAt' | 'results' | 'fault' | 'held' | 'isKeptBack')[],
): FoldedJob {
  const next = { ...job };
  for (const name of names) Reflect.deleteProperty(next, name);
  return next;
}

/** The agent's phase while it works; before and after, the pool's. */
function phaseOf(agent: AgentState | undefined, pool: PoolAccount | undefined): Phase {
  if (agent === undefined || pool?.phase === 'cleaning') return pool?.phase ?? 'queued';
  // After an agent has ended and cleaned up, the pool only returns its files.
  const isOver = agent.outcome !== undefined && agent.phase !== 'cleaning';
  return isOver && pool !== undefined ? 'returning' : agent.phase;
}

function inPool(old: FoldedAttempt, entry: Extract<RunEntry, { kind: 'attempt-phase' }>): FoldedAttempt {
  const { phase, host, site, t } = entry;
  const pool = { ...reconnected(old).pool, phase, since: t, ...defined({ host, site }) };
  return { ...old, pool, phase: phaseOf(old.agent, pool) };
}

const disconnected = (
  old: FoldedAttempt,
  { t: since, until }: Extract<RunEntry, { kind: 'attempt-disconnected' }>,
): FoldedAttempt => ({
  ...old,
  pool: { phase: 'preparing', since, ...old.pool, disconnected: { since, until } },
});

/** Once the pool has heard of it again, or has given it up. */
function reconnected(attempt: FoldedAttempt): FoldedAttempt {
  const { pool } = attempt;
  if (pool?.disconnected === undefined) return attempt;
  const { disconnected: _ended, ...known } = pool;
  return { ...attempt, pool: known };
}

const asHeld = (job: FoldedJob, { fault }: Extract<RunEntry, { kind: 'job-held' }>): FoldedJob => ({
  ...job,
  held: fault,
  holds: (job.holds ?? 0) + (job.held === undefined ? 1 : 0),
});

const released = (job: FoldedJob): FoldedJob =>
  job.held !== undefined && job.status === 'ended' ? again(job) : without(job, ['held']);

function tally(jobs: readonly JobState[]): JobCounts {
  const ended = { success: 0, 'wrong-output': 0, failed: 0, held: 0, removed: 0 };
  const sum = { total: jobs.length, waiting: 0, running: 0, ...ended };
  for (const { outcome } of jobs) sum[outcome] += 1;
  return sum;
}
