import type { Cause } from '../codes/causes.ts';
import { transferDirection } from '../codes/codes.ts';
import { causeOfRemoved } from '../diagnosis/cause-of.ts';
import type { Evidence } from '../diagnosis/explanation.ts';
import type {
  AttemptEnd,
  AttemptHistory,
  Activity,
  Ending,
  JobDetails,
  JobHistory,
  JobOutcome,
  Span,
  Wait,
} from './history.ts';
import { machineInReason } from './worker.ts';

/** What happens to a job, as it happens. An end may be corrected by another of the same attempt: a hold says why. */
export type JobTransition =
  | { kind: 'began'; attempt: AttemptHistory }
  | { kind: 'doing'; attempt: AttemptHistory; doing: Activity }
  | { kind: 'connection'; isLost: boolean }
  | { kind: 'ended'; attempt: AttemptHistory; end: AttemptEnd }
  | { kind: 'held'; cause: Cause; said: EventReason }
  | { kind: 'released'; reason: string }
  | { kind: 'finished'; outcome: JobOutcome; reason: string };

/** What an event says of a hold or an end. */
export interface EventReason {
  code?: number | undefined;
  subcode?: number | undefined;
  reason?: string | undefined;
}

/** How jobs are to be folded. */
export interface FoldContext {
  /** Whether the jobs are a run's of ours, whatever the log says. */
  ours: boolean;
  onChange?: ((fold: JobFold, change: JobTransition) => void) | undefined;
}

const maxReasonChars = 600;
/** Text that is kept of a reason for an explanation, whatever a container printed into it. */
export const maxTextChars = 4000;
/** An eviction and the hold or removal it belongs to are written within this time. */
const sameMomentMs = 1000;
/** Holds by a person or by a rule: they befall jobs in the queue too, and may quote what befell an attempt before. */
const queueHoldCodes: ReadonlySet<number> = new Set([1, 3, 26]);
const outputCauses = new Set<Cause>(['output-failed', 'output-missing', 'output-too-big']);

/** Whether the results did not come home whole. */
const isAboutOutput = (cause: Cause | undefined, { code, reason }: AttemptEnd): boolean =>
  cause !== undefined && (outputCauses.has(cause) || transferDirection(code, reason) === 'output');

/**
 * One job while its events come in. Time never runs backwards here: an event older than the one before it counts as
 * of the same moment, so that waits and spans always follow each other.
 */
export class JobFold {
  readonly job: JobHistory;
  readonly #context: FoldContext;
  #attempt: AttemptHistory | undefined;
  #doing: Activity = 'starting';
  #wait: Wait = 'idle';
  #waits: Span<Wait>[] = [];
  /** These are milliseconds since the job's first event. */
  #since = 0;
  #now = 0;
  #heard = 0;
  #executed = false;
  #ended: JobOutcome | undefined;
  /** What the execution point said last of the attempt: some holds and evictions leave the words to it. */
  complaint = '';
  /** The event at hand, where evidence was asked for. */
  evidence: Evidence | undefined;
  /** Whether it is a job of a run of ours: then the exit codes of its agent say what failed. */
  ours: boolean;

  constructor(id: string, time: number, context: FoldContext) {
    this.job = { id, from: time, to: time, attempts: [], after: [], outcome: 'waiting' };
    this.#context = context;
    this.ours = context.ours;
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.job.from + this.#now;
  }

  get executed(): boolean {
    return this.#executed;
  }

  /** How it ended, as far as it has. */
  get ended(): JobOutcome | undefined {
    return this.#ended;
  }

  /** The attempt that is under way. */
  get attempt(): AttemptHistory | undefined {
    return this.#attempt;
  }

  get doing(): Activity | undefined {
    return this.#attempt && this.#doing;
  }

  get details(): JobDetails | undefined {
    return this.job.details;
  }

  /** Moves on to an event's time. */
  advance(time: number): void {
    this.#heard = this.#now;
    this.#now = Math.max(this.#now, time - this.job.from);
  }

  /** Keeps the event at hand as evidence. */
  quote(evidence: Evidence): void {
    this.evidence = evidence;
    if (this.job.details === undefined)
      this.job.details = { first: evidence, last: evidence, holds: [], releases: [] };
    else this.job.details.last = evidence;
  }

  /** A DAG submits its node again: what comes are further attempts of the same job. */
  resubmit(id: string): void {
    if (this.#attempt !== undefined) this.#lose();
    this.#closeWait();
    this.#wait = 'idle';
    this.#reopen();
    this.job.earlierIds = [...(this.job.earlierIds ?? []), this.job.id];
    this.job.id = id;
  }

  begin(doing: Activity): void {
    if (this.#attempt !== undefined) this.#lose();
    this.#closeWait();
    this.#attempt = {
      number: this.job.attempts.length + 1,
      ...(this.job.node === undefined ? {} : { id: this.job.id }),
      waits: this.#waits,
      spans: [],
      ending: 'running',
      checkpointed: false,
      site: '',
      machine: '',
      gpu: '',
      resources: [],
    };
    if (this.evidence !== undefined)
      this.#attempt.details = {
        ...{ from: this.now, to: this.now, began: this.evidence },
        ...{ doing, memoryMb: 0, saves: 0, reconnects: 0 },
      };
    this.job.attempts.push(this.#attempt);
    this.#waits = [];
    this.complaint = '';
    this.#reopen();
    this.#executed = doing === 'executing';
    this.#doing = doing;
    this.#changed({ kind: 'began', attempt: this.#attempt });
  }

  /** An attempt whose beginning the log does not have: nobody knows what the time until now was. */
  startUnseen(): void {
    const [since, now] = [this.#since, this.#now];
    this.#now = since;
    this.begin('silent');
    this.#now = now;
    this.#executed = true;
    if (this.#attempt?.details !== undefined) this.#attempt.details.from = undefined;
  }

  enter(doing: Activity): void {
    // The output stops half way when the connection breaks.
    this.#closeSpan(this.#now, doing === 'cut-off');
    this.rename(doing);
    if (doing === 'executing') this.#executed = true;
  }

  /** What was thought of the time since the last change was wrong: it was this. */
  rename(doing: Activity): void {
    this.#doing = doing;
    if (this.#attempt?.details === undefined) return;
    this.#attempt.details.doing = doing;
    this.#attempt.details.to = this.now;
  }

  /** Reports what the attempt is doing now, once its place is known. */
  announce(): void {
    if (this.#attempt !== undefined)
      this.#changed({ kind: 'doing', attempt: this.#attempt, doing: this.#doing });
  }

  /** The access point has lost touch with the attempt, or found it again. */
  connect(isLost: boolean): void {
    this.#changed({ kind: 'connection', isLost });
  }

  end(ending: Ending, cause: Cause | undefined, end: AttemptEnd): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    const isWhole = ending === 'success' || ending === 'wrong-output' || ending === 'failed';
    this.#closeSpan(this.#now, !isWhole);
    // An array that grew has room to spare; a log may have a million of them.
    attempt.spans = attempt.spans.slice();
    attempt.waits = attempt.waits.slice();
    attempt.ending = ending;
    // A slot's name says more than the address that input was sent to.
    if (!this.#executed || attempt.machine === '')
      attempt.machine = machineInReason(end.reason) || attempt.machine;
    this.#attempt = undefined;
    this.#wait = 'idle';
    this.#settle(attempt, cause, end);
  }

  hold(cause: Cause, end: AttemptEnd): void {
    const wasHeld = this.#ended === 'held';
    const last = this.job.attempts.at(-1);
    const justEnded = this.#endedJustNow();
    // An attempt that fails before its first event leaves the hold alone; the hold names its machine.
    const isUnseen = !queueHoldCodes.has(end.code ?? 0) && machineInReason(end.reason) !== '';
    if (this.#attempt === undefined && justEnded === undefined && isUnseen) this.begin('starting');
    const attempt = this.#attempt ?? justEnded;
    const before = wasHeld || last === undefined ? undefined : last.details?.end;
    this.#endCurrentOrLast('held', cause, end);
    this.#closeWait();
    this.#wait = 'held';
    if (!wasHeld) this.job.holds = (this.job.holds ?? 0) + 1;
    this.#conclude('held', cause, end.reason);
    if (this.details !== undefined && this.evidence !== undefined) {
      const { code, subcode, reason } = end;
      // What was used stands in the eviction that some holds begin with.
      const eviction = before?.how === 'vacated' && attempt === last ? before : undefined;
      this.details.holds.push({
        ...{ code, subcode, reason, evidence: this.evidence, resources: eviction?.resources ?? [] },
        ...(eviction === undefined ? {} : { table: eviction.evidence }),
        ...(attempt === undefined ? {} : { attempt: attempt.number }),
      });
    }
    this.#changed({ kind: 'held', cause, said: end });
  }

  release(reason: string): void {
    if (this.details !== undefined && this.evidence !== undefined)
      this.details.releases.push({ reason, evidence: this.evidence });
    if (this.#attempt === undefined && this.#wait === 'held') {
      this.#closeWait();
      this.#wait = 'idle';
      this.#reopen();
    }
    this.#changed({ kind: 'released', reason });
  }

  remove(cause: Cause, end: AttemptEnd): void {
    // Asked for while the results were on their way: they came all the same.
    if (this.#attempt === undefined && this.#ended === 'success') return;
    this.#endCurrentOrLast('removed', cause, end);
    const wasHeld = this.#ended === 'held';
    const why = causeOfRemoved(cause, wasHeld ? this.job.cause : undefined);
    if (this.details !== undefined && this.evidence !== undefined)
      this.details.removal = { reason: end.reason, evidence: this.evidence, wasHeld };
    this.finish('removed', why, why === cause ? end.reason : (this.job.reason ?? ''));
  }

  finish(outcome: JobOutcome, cause: Cause | undefined, reason: string): void {
    if (this.#attempt === undefined) this.#closeWait();
    this.#conclude(outcome, cause, reason);
    this.#changed({ kind: 'finished', outcome, reason });
  }

  /** The job as it stands. */
  result(): JobHistory {
    const { job } = this;
    job.to = this.now;
    if (this.#attempt !== undefined) {
      this.#closeSpan(this.#now, false);
      job.outcome = 'running';
    } else {
      this.#closeWait();
      job.outcome = this.#ended ?? 'waiting';
    }
    job.after = this.#waits;
    job.attempts = job.attempts.slice();
    if (job.outcome === 'running' || job.outcome === 'waiting' || job.outcome === 'success') {
      delete job.cause;
      delete job.reason;
      if (this.doing === 'cut-off') job.cause = 'disconnected';
    }
    return job;
  }

  /** A job that goes on after its end was retried. */
  #reopen(): void {
    this.#ended = undefined;
    if (this.details !== undefined) delete this.details.removal;
  }

  #conclude(outcome: JobOutcome, cause: Cause | undefined, reason: string): void {
    this.#ended = outcome;
    if (cause === undefined) delete this.job.cause;
    else this.job.cause = cause;
    if (reason === '') delete this.job.reason;
    else this.job.reason = reason.slice(0, maxReasonChars);
  }

  /** Another attempt begins and this one never ended: it is accounted for up to its last event. */
  #lose(): void {
    this.#closeSpan(this.#heard, true);
    this.#doing = 'silent';
    this.end('lost', 'silent-end', {
      ...{ how: 'silent', code: undefined, subcode: undefined, reason: '' },
      ...{ termination: undefined, resources: [] },
    });
  }

  /** `broken`: output that was under way has not arrived. */
  #closeSpan(to: number, broken: boolean): void {
    if (to > this.#since) {
      const span: Span<Activity> = { doing: this.#doing, from: this.#since, to };
      if (broken && this.#doing === 'output') span.failed = true;
      this.#attempt?.spans.push(span);
    }
    this.#since = to;
  }

  #closeWait(): void {
    if (this.#now > this.#since) this.#waits.push({ doing: this.#wait, from: this.#since, to: this.#now });
    this.#since = this.#now;
  }

  /** Why an attempt ended, also where a later event says it better. */
  #settle(
    attempt: AttemptHistory,
    cause: Cause | undefined,
    end: AttemptEnd & { evidence?: Evidence },
  ): void {
    if (cause !== undefined) attempt.cause = cause;
    // A hold that follows at once has words of its own; the stall was one all the same.
    if (cause === 'transfer-stalled') attempt.stalls = 1;
    const output = attempt.spans.findLast(({ doing }) => doing === 'output');
    if (output !== undefined && isAboutOutput(cause, end)) output.failed = true;
    const evidence = end.evidence ?? this.evidence;
    if (attempt.details !== undefined && evidence !== undefined) {
      if (attempt.details.end === undefined) attempt.details.to = this.now;
      attempt.details.end = { ...end, evidence };
    }
    this.#changed({ kind: 'ended', attempt, end });
  }

  /** An attempt that was taken away at this very moment. */
  #endedJustNow(): AttemptHistory | undefined {
    const last = this.job.attempts.at(-1);
    if (this.#attempt !== undefined || this.#ended !== undefined || this.#wait !== 'idle') return undefined;
    if (last?.ending !== 'evicted' && last?.ending !== 'transfer-failed') return undefined;
    return this.#now - this.#since <= sameMomentMs ? last : undefined;
  }

  /** Some releases first report a hold or a removal as an eviction. */
  #endCurrentOrLast(ending: 'held' | 'removed', cause: Cause, end: AttemptEnd): void {
    const last = this.#endedJustNow();
    if (this.#attempt !== undefined) this.end(ending, cause, end);
    else if (last !== undefined) {
      last.ending = ending;
      const before = last.details?.end;
      const isBare = before !== undefined && before.code === undefined && before.reason.trim() === '';
      const words = ending === 'removed' && !isBare && before !== undefined ? before : end;
      this.#settle(last, cause, { ...words, resources: before?.resources ?? [] });
    }
  }

  #changed(change: JobTransition): void {
    this.#context.onChange?.(this, change);
  }
}
