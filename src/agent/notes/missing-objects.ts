import { createHash } from 'node:crypto';
import { type Clock, tried } from '@updraft/base';
import { remedyForKind } from '@updraft/account/codes';
import { Fault } from '@updraft/account/fault';
import type { WorkOrder } from '../../job/job.ts';
import { noteFolders } from '@updraft/account/run-folder';
import { type AttemptRecovery, waitAfter } from '@updraft/account/recovery';
import type { SharedNotes } from './shared-notes.ts';

/** What an attempt reports to the others about an object that is missing everywhere. */
interface MissingMark {
  /** Not worth asking before this time, in milliseconds since the epoch; 0 if it is there again. */
  until: number;
  /** How often in a row it was missing. */
  misses: number;
}

/** While one attempt checks whether the object is back, the others wait this long. */
const probeSeconds = 60;

/**
 * Keeps the rest of a run from asking for an object that one attempt found missing everywhere. When the wait is over,
 * the first attempt to come checks again for all, and ends or extends the wait. Without shared notes there is no such
 * brake.
 */
export class MissingObjects {
  readonly #shared: SharedNotes;
  readonly #clock: Clock;
  readonly #backoff: AttemptRecovery;
  /** By object: the time by which this attempt promised to know, for all. */
  readonly #probes = new Map<string, number>();

  constructor(shared: SharedNotes, clock: Clock, backoff: AttemptRecovery) {
    this.#shared = shared;
    this.#clock = clock;
    this.#backoff = backoff;
  }

  /** Throws while the object is known to be missing; otherwise the caller checks now and reports what it found. */
  async throwIfMissing(object: string): Promise<void> {
    const mark = await this.#read(object);
    if (mark === undefined || mark.until === 0) return;
    const now = this.#clock.now();
    if (now < mark.until) {
      const again = new Date(mark.until).toISOString().slice(11, 19);
      throw new Fault(
        'object-missing',
        `${object} is missing everywhere, as another attempt of the run found; the next check is at ${again} UTC`,
        { fix: 'look for it with `updraft stat`; put it back, or correct its URL', about: object },
      );
    }
    const until = now + Math.min(probeSeconds, this.#backoff.initialBackoff) * 1000;
    this.#probes.set(object, until);
    await this.#write(object, { ...mark, until });
  }

  /** The object is missing everywhere. */
  async markMissing(object: string): Promise<void> {
    const mark = await this.#read(object);
    // Attempts that checked at the same time all found the same thing.
    const now = this.#clock.now();
    if (mark !== undefined && mark.until > now && mark.until !== this.#probes.get(object)) return;
    const misses = (mark?.misses ?? 0) + 1;
    await this.#write(object, { until: now + waitAfter(misses, this.#backoff) * 1000, misses });
  }

  async markPresent(object: string): Promise<void> {
    const mark = await this.#read(object);
    if (mark !== undefined && mark.until > 0) await this.#write(object, { until: 0, misses: 0 });
  }

  async #read(object: string): Promise<MissingMark | undefined> {
    const mark = parse(await this.#shared.read(noteName(object)));
    // A time that cannot be meant comes from another clock or a mistake.
    const latest = this.#clock.now() + 2 * this.#backoff.maxBackoff * 1000;
    return mark !== undefined && mark.until <= latest ? mark : undefined;
  }

  async #write(object: string, mark: MissingMark): Promise<void> {
    await this.#shared.put(noteName(object), JSON.stringify({ object, ...mark }));
  }
}

const noteName = (object: string): string =>
  `${noteFolders.brakes}/${createHash('sha256').update(object).digest('hex').slice(0, 16)}`;

function parse(text: string | undefined): MissingMark | undefined {
  const { until, misses } = tried(() => JSON.parse(text ?? '') as Partial<MissingMark> | null) ?? {};
  return typeof until === 'number' && typeof misses === 'number' ? { until, misses } : undefined;
}

/** Ends the attempt if enough jobs have failed for good that the run is given up. */
export async function abortIfTooManyJobsFailed(
  { recovery, job }: WorkOrder,
  shared: SharedNotes,
): Promise<void> {
  const limit = recovery?.failedJobs;
  if (limit === undefined) return;
  const failed = (await shared.list(noteFolders.failed)).filter((name) => name !== job.id);
  if (failed.length < limit) return;
  throw new Fault(
    'interrupted',
    `the run is given up: ${failed.slice(0, 5).join(', ')} failed for good, and [recovery] failed_jobs = ${limit}`,
    { fix: 'see the causes with `updraft why`, fix them, then run `updraft retry`' },
  );
}

/** Reports to the others that this job has failed for good, if the run has a limit of failed jobs. */
export async function recordFailedJob(
  { recovery, job, attempt, attemptsBefore = 0 }: WorkOrder,
  shared: SharedNotes,
  { kind }: Fault,
): Promise<void> {
  if (recovery?.failedJobs === undefined || kind === 'evicted' || kind === 'interrupted') return;
  const made = attempt - attemptsBefore;
  if (made >= recovery.attempts || remedyForKind(kind, made) === 'never')
    await shared.put(`${noteFolders.failed}/${job.id}`, kind);
}
