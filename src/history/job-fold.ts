import type { Cause } from '../codes/causes.ts';
import { causeOfRemoved } from '../diagnosis/cause-of.ts';
import type { Doing, Ending, JobOutcome, AttemptHistory, JobHistory, Span, Wait } from './history.ts';

const longestReason = 600;
/** An eviction and the hold it belongs to are written within this time. */
const sameMomentMs = 1000;

/**
 * One job while its events come in. Time never runs backwards here: an event older than the one before it counts as
 * of the same moment, so that waits and spans always follow each other.
 */
export class JobFold {
  readonly #job: JobHistory;
  #attempt: AttemptHistory | undefined;
  #doing: Doing = 'starting';
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

  constructor(id: string, time: number) {
    this.#job = { id, from: time, to: time, attempts: [], after: [], outcome: 'waiting' };
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.#job.from + this.#now;
  }

  get inAttempt(): boolean {
    return this.#attempt !== undefined;
  }

  get executed(): boolean {
    return this.#executed;
  }

  get attempt(): AttemptHistory | undefined {
    return this.#attempt;
  }

  get doing(): Doing | undefined {
    return this.#attempt && this.#doing;
  }

  /** Moves on to an event's time. */
  advance(time: number): void {
    this.#heard = this.#now;
    this.#now = Math.max(this.#now, time - this.#job.from);
  }

  begin(doing: Doing): void {
    if (this.#attempt !== undefined) this.#lose();
    this.#closeWait();
    this.#attempt = {
      number: this.#job.attempts.length + 1,
      waits: this.#waits,
      spans: [],
      ending: 'running',
      checkpointed: false,
      site: '',
      machine: '',
      gpu: '',
      resources: [],
    };
    this.#job.attempts.push(this.#attempt);
    this.#waits = [];
    this.complaint = '';
    this.#ended = undefined;
    this.#executed = doing === 'executing';
    this.#doing = doing;
  }

  /** An attempt whose beginning the log does not have: the time until now is nobody's to tell. */
  beginUnseen(): void {
    const [since, now] = [this.#since, this.#now];
    this.#now = since;
    this.begin('silent');
    this.#now = now;
    this.#executed = true;
  }

  enter(doing: Doing): void {
    this.#closeSpan(this.#now);
    this.#doing = doing;
    if (doing === 'executing') this.#executed = true;
  }

  /** What was thought of the time since the last change was wrong: it was this. */
  rename(doing: Doing): void {
    this.#doing = doing;
  }

  end(ending: Ending, cause?: Cause): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#closeSpan(this.#now);
    // An array that grew has room to spare; a log may have a million of them.
    attempt.spans = attempt.spans.slice();
    attempt.waits = attempt.waits.slice();
    attempt.ending = ending;
    if (cause !== undefined) attempt.cause = cause;
    this.#attempt = undefined;
    this.#wait = 'idle';
  }

  hold(cause: Cause, reason: string | undefined): void {
    this.#endNowOrJustNow('held', cause);
    this.#closeWait();
    this.#wait = 'held';
    this.#tell('held', cause, reason);
  }

  release(): void {
    if (this.#attempt !== undefined || this.#wait !== 'held') return;
    this.#closeWait();
    this.#wait = 'idle';
    this.#ended = undefined;
  }

  remove(cause: Cause, reason: string | undefined): void {
    this.#endNowOrJustNow('removed', cause);
    const hold = this.#ended === 'held' ? this.#job.cause : undefined;
    const why = causeOfRemoved(cause, hold);
    this.finish('removed', why, why === cause ? reason : this.#job.reason);
  }

  finish(outcome: JobOutcome, cause?: Cause, reason?: string): void {
    if (this.#attempt === undefined) this.#closeWait();
    this.#tell(outcome, cause, reason);
  }

  /** The job as it stands. */
  result(): JobHistory {
    const job = this.#job;
    job.to = this.now;
    if (this.#attempt !== undefined) {
      this.#closeSpan(this.#now);
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
    }
    return job;
  }

  #tell(outcome: JobOutcome, cause: Cause | undefined, reason: string | undefined): void {
    this.#ended = outcome;
    if (cause === undefined) delete this.#job.cause;
    else this.#job.cause = cause;
    if (reason === undefined) delete this.#job.reason;
    else this.#job.reason = reason.slice(0, longestReason);
  }

  /** Another attempt begins and this one never ended: it is accounted for up to its last event. */
  #lose(): void {
    this.#closeSpan(this.#heard);
    this.#doing = 'silent';
    this.end('lost', 'silent-end');
  }

  #closeSpan(to: number): void {
    if (to > this.#since) this.#attempt?.spans.push({ doing: this.#doing, from: this.#since, to });
    this.#since = to;
  }

  #closeWait(): void {
    if (this.#now > this.#since) this.#waits.push({ doing: this.#wait, from: this.#since, to: this.#now });
    this.#since = this.#now;
  }

  /** Of a hold or a removal some releases first tell as an eviction. */
  #endNowOrJustNow(ending: 'held' | 'removed', cause: Cause): void {
    const last = this.#job.attempts.at(-1);
    if (this.#attempt !== undefined) this.end(ending, cause);
    else if (last?.ending === 'evicted' || last?.ending === 'transfer-failed')
      if (this.#wait === 'idle' && this.#now - this.#since <= sameMomentMs)
        Object.assign(last, { ending, cause });
  }
}
