import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { answerToKind } from '../../codes/answers.ts';
import { Fault } from '../../fault/fault.ts';
import type { Order, OrderedRecovery } from '../../job/job.ts';
import { noteFolders } from '../../job/layout.ts';
import { waitAfter } from '../../recovery/policy.ts';
import type { SharedNotes } from './shared-notes.ts';

/** What an attempt tells the others of an object that is missing everywhere. */
interface Brake {
  /** Nobody need ask before this time, in milliseconds since the epoch; 0 when it is there again. */
  until: number;
  /** How often it was missed, one time after the other. */
  misses: number;
}

/** While one attempt looks whether the object is back, the others give it so many seconds. */
const probeSeconds = 60;

/**
 * Keeps the rest of a run from asking for an object that one attempt found missing everywhere. When the time it named
 * is over, the first that comes looks again, for all: what it finds lifts the brake or draws it out. Where notes cannot
 * be shared there are no brakes.
 */
export class Brakes {
  readonly #shared: SharedNotes;
  readonly #clock: Clock;
  readonly #pace: OrderedRecovery;
  /** By object: the time that this attempt named by which it would know, for all. */
  readonly #probes = new Map<string, number>();

  constructor(shared: SharedNotes, clock: Clock, pace: OrderedRecovery) {
    this.#shared = shared;
    this.#clock = clock;
    this.#pace = pace;
  }

  /** Throws while the object is known to be missing; otherwise whoever calls looks now and tells what it found. */
  async heed(object: string): Promise<void> {
    const brake = await this.#read(object);
    if (brake === undefined || brake.until === 0) return;
    const now = this.#clock.now();
    if (now < brake.until) {
      const again = new Date(brake.until).toISOString().slice(11, 19);
      throw new Fault(
        'object-missing',
        `${object} is missing everywhere: another attempt of the run found so, and somebody looks again at ${again} UTC`,
        { fix: 'look for it with `updraft stat`; put it back, or correct its URL', about: object },
      );
    }
    const probe = Math.min(probeSeconds, this.#pace.firstWait);
    const until = now + probe * 1000;
    this.#probes.set(object, until);
    await this.#write(object, { ...brake, until });
  }

  /** The object is missing everywhere. */
  async pull(object: string): Promise<void> {
    const brake = await this.#read(object);
    // Many that looked at the same time found one and the same thing.
    const isTold = brake !== undefined && brake.until > this.#clock.now();
    if (isTold && brake.until !== this.#probes.get(object)) return;
    const misses = (brake?.misses ?? 0) + 1;
    const seconds = waitAfter(misses, this.#pace);
    await this.#write(object, { until: this.#clock.now() + seconds * 1000, misses });
  }

  /** The object is there. */
  async lift(object: string): Promise<void> {
    const brake = await this.#read(object);
    if (brake !== undefined && brake.until > 0) await this.#write(object, { until: 0, misses: 0 });
  }

  async #read(object: string): Promise<Brake | undefined> {
    const brake = parse(await this.#shared.read(nameOf(object)));
    // A time that nobody could have meant is another clock's, or somebody's mistake.
    const latest = this.#clock.now() + 2 * this.#pace.mostWait * 1000;
    return brake !== undefined && brake.until <= latest ? brake : undefined;
  }

  async #write(object: string, brake: Brake): Promise<void> {
    await this.#shared.put(nameOf(object), JSON.stringify({ object, ...brake }));
  }
}

const nameOf = (object: string): string =>
  `${noteFolders.brakes}/${createHash('sha256').update(object).digest('hex').slice(0, 16)}`;

function parse(text: string | undefined): Brake | undefined {
  try {
    const { until, misses } = JSON.parse(text ?? 'null') as Partial<Brake>;
    return typeof until === 'number' && typeof misses === 'number' ? { until, misses } : undefined;
  } catch {
    return undefined;
  }
}

/** Ends the attempt at once when so many jobs have failed for good that the run is given up. */
export async function abortIfTooManyJobsFailed({ recovery, job }: Order, shared: SharedNotes): Promise<void> {
  const most = recovery?.failedJobs;
  if (most === undefined) return;
  const failed = (await shared.list(noteFolders.failed)).filter((name) => name !== job.id);
  if (failed.length < most) return;
  throw new Fault(
    'interrupted',
    `the run is given up: ${failed.slice(0, 5).join(', ')} failed for good, and [recovery] failed_jobs = ${most}`,
    { fix: 'see why with `updraft why`, then `updraft retry`' },
  );
}

/** Tells the others that this job has failed for good, where they must know. */
export async function tellFailedJob(order: Order, shared: SharedNotes, fault: Fault): Promise<void> {
  if (order.recovery?.failedJobs === undefined || !isForGood(order, order.recovery.attempts, fault)) return;
  await shared.put(`${noteFolders.failed}/${order.job.id}`, fault.kind);
}

function isForGood({ attempt, attemptsBefore = 0 }: Order, attempts: number, { kind }: Fault): boolean {
  if (kind === 'evicted' || kind === 'interrupted') return false;
  const made = attempt - attemptsBefore;
  return made >= attempts || answerToKind(kind, made) === 'never';
}
