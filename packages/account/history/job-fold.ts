import { defined } from '@updraft/base';
import type { Cause } from '../codes/causes.ts';
import { transferDirection } from '../codes/codes.ts';
import { causeOfRemoved } from '../diagnosis/cause-of.ts';
import { ownCopy } from '@updraft/htcondor/eventlog';
import { EventPlace, type QuotedLog } from './event-place.ts';
import type {
  Evidence,
  AttemptEnd,
  AttemptHistory,
  JobDetails,
  JobHistory,
  Span,
  Wait,
  Activity,
  Ending,
  JobOutcome,
} from './history.ts';
import { machineInReason } from './worker.ts';

/** A change of a job. An attempt may end twice: a hold that follows an eviction corrects its end. */
export type JobTransition =
  | { kind: 'began'; attempt: AttemptHistory }
  | { kind: 'doing'; attempt: AttemptHistory; doing: Activity }
  | { kind: 'connection'; isLost: boolean }
  | { kind: 'ended'; attempt: AttemptHistory; end: AttemptEnd }
  | { kind: 'held'; cause: Cause; said: EventReason }
  | { kind: 'released'; reason: string }
  | { kind: 'finished'; outcome: JobOutcome; reason: string };

/** Codes and text of a hold or an end, as in the event. */
export interface EventReason {
  code?: number | undefined;
  subcode?: number | undefined;
  reason?: string | undefined;
}

export interface FoldContext {
  /** Whether the jobs belong to an Updraft run, even if the log does not say so. */
  ours: boolean;
  onChange?: ((fold: JobFold, change: JobTransition) => void) | undefined;
}

/** One for all: a log may have a million jobs. */
const none: readonly never[] = [];
/** A copy has no spare capacity. */
const plus = <T>(list: readonly T[], one: T): readonly T[] =>
  list.length === 0 ? [one] : list.length === 1 ? [list[0] as T, one] : list.concat([one]);

const maxReasonChars = 600;
/** Longest reason that is kept for an explanation: a container may print pages into one. */
export const maxTextChars = 4000;
/** An eviction and the hold or removal that belongs to it are written within this time. */
const sameMomentMs = 1000;
/** Holds by a person or a rule: they can also hit a job in the queue, and may quote the end of an earlier attempt. */
export const queueHoldCodes: ReadonlySet<number> = new Set([1, 3, 26]);
const outputCauses = new Set<Cause>(['output-failed', 'output-missing', 'output-too-big']);

/** Whether the results did not arrive completely. */
const isAboutOutput = (cause: Cause | undefined, { code, reason }: AttemptEnd): boolean =>
  cause !== undefined && (outputCauses.has(cause) || transferDirection(code, reason) === 'output');

/**
 * One job, built from its events. Time never runs backwards here: an event that is older than the previous one gets the
 * time of that one, so that waits and spans never overlap.
 */
export class JobFold {
  readonly job: JobHistory;
  readonly #context: FoldContext;
  attempt: AttemptHistory | undefined;
  #doing: Activity = 'preparing';
  #wait: Wait = 'idle';
  #waits: readonly Span<Wait>[] = none;
  /** Milliseconds since the job's first event: start of the open span, current event, previous event. */
  #since = 0;
  #now = 0;
  #previous = 0;
  executed = false;
  /** Undefined until it has ended. */
  ended: JobOutcome | undefined;
  /** The last error of the execution point: some holds and evictions have no reason of their own. */
  complaint = '';
  /** The current event, if evidence was requested: where it is, and the evidence once it is needed. */
  #log: QuotedLog | undefined;
  #offset = 0;
  #quotedAt = 0;
  #evidence: Evidence | undefined;
  /** Whether it belongs to an Updraft run: then the agent's exit code shows what failed. */
  ours: boolean;

  constructor(id: string, time: number, context: FoldContext) {
    this.job = { id, from: time, to: time, attempts: none, after: none, outcome: 'waiting' };
    this.#context = context;
    this.ours = context.ours;
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.job.from + this.#now;
  }

  get doing(): Activity | undefined {
    return this.attempt && this.#doing;
  }

  get details(): JobDetails | undefined {
    return this.job.details;
  }

  advance(time: number): void {
    this.#previous = this.#now;
    this.#now = Math.max(this.#now, time - this.job.from);
  }

  get evidence(): Evidence | undefined {
    if (this.#evidence === undefined && this.#log !== undefined)
      this.#evidence = new EventPlace(this.#log, this.#offset, this.job.from + this.#quotedAt);
    return this.#evidence;
  }

  /** Keeps the current event as evidence. */
  quote(evidence: Evidence): void {
    this.#evidence = evidence;
    this.job.details ??= { first: evidence, last: evidence, holds: none, releases: none };
  }

  /** Keeps where the current event is: most are never needed as evidence. */
  locate(log: QuotedLog, offset: number, time: number): void {
    this.#log = log;
    this.#offset = offset;
    this.#quotedAt = time - this.job.from;
    this.#evidence = undefined;
    if (this.job.details === undefined) this.quote(new EventPlace(log, offset, time));
  }

  /** DAGMan submits the node again: what follows are further attempts of the same job. */
  resubmit(id: string): void {
    if (this.attempt !== undefined) this.#lose();
    this.#closeWait();
    this.#wait = 'idle';
    this.#reopen();
    this.job.earlierIds = [...(this.job.earlierIds ?? []), this.job.id];
    this.job.id = id;
  }

  begin(doing: Activity): void {
    if (this.attempt !== undefined) this.#lose();
    this.#closeWait();
    this.attempt = {
      number: (this.job.attempts.at(-1)?.number ?? 0) + 1,
      waits: this.#waits,
      spans: none,
      ending: 'running',
      checkpointed: false,
      site: '',
      machine: '',
      gpu: '',
      resources: none,
    };
    if (this.evidence !== undefined)
      this.attempt.details = {
        from: this.now,
        to: this.now,
        began: this.evidence,
        doing,
        memoryMb: 0,
        saves: 0,
        reconnects: 0,
      };
    if (this.job.node !== undefined) this.attempt.id = this.job.id;
    this.job.attempts = plus(this.job.attempts, this.attempt);
    this.#waits = none;
    this.complaint = '';
    this.#reopen();
    this.executed = doing === 'training';
    this.#doing = doing;
    this.#changed({ kind: 'began', attempt: this.attempt });
  }

  /** Starts an attempt whose start is missing in the log: the time until now is unknown. */
  startUnseen(): void {
    const [since, now] = [this.#since, this.#now];
    this.#now = since;
    this.begin('unknown');
    this.#now = now;
    this.executed = true;
    if (this.attempt?.details !== undefined) this.attempt.details.from = undefined;
  }

  enter(doing: Activity): void {
    // A lost connection interrupts the output.
    this.#closeSpan(this.#now, doing === 'cut-off');
    this.rename(doing);
    if (doing === 'training') this.executed = true;
  }

  /** Corrects the activity since the last change. */
  rename(doing: Activity): void {
    this.#doing = doing;
    if (this.attempt?.details === undefined) return;
    this.attempt.details.doing = doing;
    this.attempt.details.to = this.now;
  }

  /** Reports what the attempt is doing, once its machine is known. */
  announce(): void {
    if (this.attempt !== undefined)
      this.#changed({ kind: 'doing', attempt: this.attempt, doing: this.#doing });
  }

  /** The access point has lost the connection to the attempt, or restored it. */
  connect(isLost: boolean): void {
    this.#changed({ kind: 'connection', isLost });
  }

  end(ending: Ending, cause: Cause | undefined, end: AttemptEnd): void {
    const attempt = this.attempt;
    if (attempt === undefined) return;
    const hasExited = ending === 'success' || ending === 'wrong-output' || ending === 'failed';
    this.#closeSpan(this.#now, !hasExited);
    attempt.ending = ending;
    // A slot's name is better than the address that the input was sent to.
    if (!this.executed || attempt.machine === '')
      attempt.machine = machineInReason(end.reason) || attempt.machine;
    this.attempt = undefined;
    this.#wait = 'idle';
    this.#settle(attempt, cause, end);
  }

  hold(cause: Cause, end: AttemptEnd): void {
    const wasHeld = this.ended === 'held';
    const last = this.job.attempts.at(-1);
    const justEnded = this.#endedJustNow();
    // An attempt that fails before its first event leaves only the hold, which names its machine.
    const isUnseen = !queueHoldCodes.has(end.code ?? 0) && machineInReason(end.reason) !== '';
    if (this.attempt === undefined && justEnded === undefined && isUnseen) this.begin('preparing');
    const attempt = this.attempt ?? justEnded;
    const before = wasHeld || last === undefined ? undefined : last.details?.end;
    this.#endCurrentOrLast('held', cause, end);
    this.#closeWait();
    this.#wait = 'held';
    if (!wasHeld) this.job.holds = (this.job.holds ?? 0) + 1;
    this.#conclude('held', cause, end.reason);
    if (this.details !== undefined && this.evidence !== undefined) {
      const { code, subcode, reason } = end;
      // Some holds follow an eviction, which has the table of what was used.
      const eviction = before?.how === 'vacated' && attempt === last ? before : undefined;
      this.details.holds = plus(this.details.holds, {
        code,
        subcode,
        reason,
        evidence: this.evidence,
        resources: eviction?.resources ?? none,
        ...defined({ table: eviction && eviction.evidence, attempt: attempt && attempt.number }),
      });
    }
    this.#changed({ kind: 'held', cause, said: end });
  }

  release(reason: string): void {
    if (this.details !== undefined && this.evidence !== undefined)
      this.details.releases = plus(this.details.releases, { reason, evidence: this.evidence });
    if (this.attempt === undefined && this.#wait === 'held') {
      this.#closeWait();
      this.#wait = 'idle';
      this.#reopen();
    }
    this.#changed({ kind: 'released', reason });
  }

  remove(cause: Cause, end: AttemptEnd): void {
    // Removed while the results were being returned: they arrived anyway.
    if (this.attempt === undefined && this.ended === 'success') return;
    this.#endCurrentOrLast('removed', cause, end);
    const wasHeld = this.ended === 'held';
    const why = causeOfRemoved(cause, wasHeld ? this.job.cause : undefined);
    if (this.details !== undefined && this.evidence !== undefined)
      this.details.removal = { reason: end.reason, evidence: this.evidence, wasHeld };
    this.finish('removed', why, why === cause ? end.reason : (this.job.reason ?? ''));
  }

  finish(outcome: JobOutcome, cause: Cause | undefined, reason: string): void {
    if (this.attempt === undefined) this.#closeWait();
    this.#conclude(outcome, cause, reason);
    // Of many jobs, nobody asks why one succeeded at once: without its details it takes half the memory.
    const isPlain = outcome === 'success' && this.#log !== undefined && this.job.attempts.length === 1;
    if (isPlain) this.#evidence = this.#log = undefined;
    if (isPlain)
      for (const part of [this.job, ...this.job.attempts]) Object.assign(part, { details: undefined });
    this.#changed({ kind: 'finished', outcome, reason });
  }

  result(): JobHistory {
    const { job } = this;
    job.to = this.now;
    if (this.attempt !== undefined) {
      this.#closeSpan(this.#now, false);
      job.outcome = 'running';
    } else {
      this.#closeWait();
      job.outcome = this.ended ?? 'waiting';
    }
    job.after = this.#waits;
    if (job.details !== undefined && this.evidence !== undefined) job.details.last = this.evidence;
    if (job.outcome === 'running' || job.outcome === 'waiting' || job.outcome === 'success') {
      delete job.cause;
      delete job.reason;
      if (this.doing === 'cut-off') job.cause = 'disconnected';
    }
    return job;
  }

  /** Events after the end of a job mean that it was retried. */
  #reopen(): void {
    this.ended = undefined;
    if (this.details !== undefined) delete this.details.removal;
  }

  #conclude(outcome: JobOutcome, cause: Cause | undefined, reason: string): void {
    this.ended = outcome;
    if (cause === undefined) delete this.job.cause;
    else this.job.cause = cause;
    if (reason === '') delete this.job.reason;
    else this.job.reason = ownCopy(reason.slice(0, maxReasonChars));
  }

  /** The next attempt begins, and this one has no end: its time counts up to its last event. */
  #lose(): void {
    this.#closeSpan(this.#previous, true);
    this.#doing = 'unknown';
    this.end('lost', 'silent-end', {
      how: 'silent',
      code: undefined,
      subcode: undefined,
      reason: '',
      termination: undefined,
      resources: none,
    });
  }

  /** `isBroken`: output that was being returned has not arrived. */
  #closeSpan(to: number, isBroken: boolean): void {
    if (to > this.#since && this.attempt !== undefined) {
      const span: Span<Activity> = { doing: this.#doing, from: this.#since, to };
      if (isBroken && this.#doing === 'returning') span.failed = true;
      this.attempt.spans = plus(this.attempt.spans, span);
    }
    this.#since = to;
  }

  #closeWait(): void {
    if (this.#now > this.#since)
      this.#waits = plus(this.#waits, { doing: this.#wait, from: this.#since, to: this.#now });
    this.#since = this.#now;
  }

  /** Sets why an attempt ended; a later event may know better. */
  #settle(
    attempt: AttemptHistory,
    cause: Cause | undefined,
    end: AttemptEnd & { evidence?: Evidence },
  ): void {
    if (cause !== undefined) attempt.cause = cause;
    // A hold that follows may name another cause; the stall still counts.
    if (cause === 'transfer-stalled') attempt.stalls = 1;
    const output = attempt.spans.findLast(({ doing }) => doing === 'returning');
    if (output !== undefined && isAboutOutput(cause, end)) output.failed = true;
    const evidence = end.evidence ?? this.evidence;
    if (attempt.details !== undefined && evidence !== undefined) {
      if (attempt.details.end === undefined) attempt.details.to = this.now;
      attempt.details.end = { ...end, evidence };
    }
    this.#changed({ kind: 'ended', attempt, end });
  }

  /** The last attempt, if it was evicted at this very moment. */
  #endedJustNow(): AttemptHistory | undefined {
    const last = this.job.attempts.at(-1);
    if (this.attempt !== undefined || this.ended !== undefined || this.#wait !== 'idle') return undefined;
    if (last?.ending !== 'evicted' && last?.ending !== 'transfer-failed') return undefined;
    return this.#now - this.#since <= sameMomentMs ? last : undefined;
  }

  /** Some versions of HTCondor write an eviction before a hold or a removal. */
  #endCurrentOrLast(ending: 'held' | 'removed', cause: Cause, end: AttemptEnd): void {
    const last = this.#endedJustNow();
    if (this.attempt !== undefined) this.end(ending, cause, end);
    else if (last !== undefined) {
      last.ending = ending;
      const before = last.details?.end;
      const hasReason = before !== undefined && (before.code !== undefined || before.reason.trim() !== '');
      const better = ending === 'removed' && hasReason ? before : end;
      this.#settle(last, cause, { ...better, resources: before?.resources ?? none });
    }
  }

  #changed(change: JobTransition): void {
    this.#context.onChange?.(this, change);
  }
}
