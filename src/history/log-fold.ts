import { quoteEvent } from '../diagnosis/quote-event.ts';
import type { EventOf, LogEvent } from '../eventlog/events.ts';
import { applyEvent } from './apply-event.ts';
import type { JobHistory } from './history.ts';
import { JobFold, type FoldContext } from './job-fold.ts';
import { noFacts, zoneName, type LogFacts } from './log-facts.ts';
import { intern } from './worker.ts';

export interface FoldOptions extends Partial<FoldContext> {
  /** Keeps evidence for explanations, which names the log so. */
  evidence?: string | undefined;
}

/** A job by one of its names, and how far which log has got with it. */
interface KnownJobId {
  id: string;
  fold: JobFold;
  log: number;
  /** Time and host of its submit event: two jobs of the same number differ in them. */
  bornAt: number | undefined;
  bornOn: string | undefined;
  /** Events up to here are in an earlier log. */
  knownUntil: number;
  /** The events at the very last moment: bit by number, 47 being the highest. */
  latest: number;
}

/** Jobs from the events of any number of logs, given log by log, oldest log first. Nothing in a log makes it throw. */
export class LogFold {
  readonly facts: LogFacts = { ...noFacts, hasTransfers: false };
  readonly #context: FoldContext;
  readonly #evidence: string | undefined;
  readonly #known = new Map<string, KnownJobId>();
  /** The jobs that are nodes of a DAG, by node and process. */
  readonly #nodes = new Map<string, JobFold>();
  /** The cluster that a node goes on as when the one before it, which is still on a slot, has ended. */
  readonly #next = new Map<JobFold, string>();
  readonly #folds: JobFold[] = [];
  /** How many jobs had a number, where it was more than one. */
  readonly #uses = new Map<string, number>();
  #log = 0;
  #headless = false;

  constructor({ ours = false, onChange, evidence }: FoldOptions = {}) {
    this.#context = { ours, onChange };
    this.#evidence = evidence;
  }

  /** Whether a job's first event was not its submission: the log has lost its beginning. */
  get headless(): boolean {
    return this.#headless;
  }

  /** The events that follow are another log's, or the same log's from its beginning. */
  nextLog(): void {
    this.#log += 1;
  }

  /** Whether the event says anything new. `at`: when it was, if that is not as the log's own zone would have it. */
  add(event: LogEvent, at = event.time): boolean {
    this.#learn(event);
    // An event of a whole cluster is no job's.
    if (event.proc < 0) return false;
    const known = this.#find(event, at);
    const { fold } = known;
    const time = at ?? fold.now;
    const isAgain = known.log !== this.#log || time <= known.knownUntil;
    const bit = isAgain || time >= fold.now ? bitOf(event) : 0;
    if (isAgain) {
      if (isRepeated(known, bit, time)) {
        this.facts.repeated += 1;
        return false;
      }
      known.log = this.#log;
    }
    if (known.id !== fold.job.id) {
      // What is left of a cluster that its node no longer uses.
      if (event.kind === 'submit' || this.#next.get(fold) !== known.id) return false;
      fold.advance(time);
      this.#resubmit(fold, known.id);
    }
    if (time < fold.now) this.facts.backwards += 1;
    if (time > fold.now) known.latest = 0;
    if (bit > 0 && !hasBit(known.latest, bit)) known.latest += bit;
    fold.advance(time);
    if (this.#evidence !== undefined && !noEvidence.has(event.kind))
      fold.quote(quoteEvent(event, this.#evidence));
    applyEvent(fold, event);
    return true;
  }

  /** The jobs as they stand; ends the fold, which lets go of all else it knew. */
  finish(): JobHistory[] {
    for (const [fold, id] of this.#next) if (fold.attempt === undefined) this.#resubmit(fold, id);
    this.#known.clear();
    this.#nodes.clear();
    this.#uses.clear();
    return this.#folds.splice(0).map((fold) => fold.result());
  }

  #learn(event: LogEvent): void {
    const { facts } = this;
    facts.events += 1;
    if (!event.whole) facts.cut += 1;
    if (event.kind === 'file-transfer') facts.hasTransfers = true;
    if (event.time === undefined) return;
    if (facts.firstTime === undefined) nameZone(facts, event);
    else if (facts.zone === undefined && event.kind === 'terminated') inferZone(facts, event);
    facts.firstTime = Math.min(facts.firstTime ?? event.time, event.time);
    facts.lastTime = Math.max(facts.lastTime ?? event.time, event.time);
  }

  #find(event: LogEvent, at: number | undefined): KnownJobId {
    const id = `${event.cluster}.${event.proc}`;
    const known = this.#known.get(id);
    if (known === undefined) return this.#open(id, event, at);
    if (event.kind === 'submit' && (known.bornAt !== at || known.bornOn !== (event.details.host ?? '')))
      return this.#open(id, event, at);
    if (known.log !== this.#log) known.knownUntil = known.fold.now;
    return known;
  }

  #open(number: string, event: LogEvent, at: number | undefined): KnownJobId {
    const uses = this.#known.has(number) ? (this.#uses.get(number) ?? 1) + 1 : 1;
    if (uses > 1) this.#uses.set(number, uses);
    const id = uses === 1 ? number : `${number}#${uses}`;
    if (event.kind !== 'submit') this.#headless = true;
    const known = {
      id,
      fold: this.#foldOf(id, event, at),
      log: this.#log,
      knownUntil: -Infinity,
      latest: 0,
      bornAt: at,
      bornOn: event.kind === 'submit' ? intern(event.details.host ?? '') : undefined,
    };
    this.#known.set(number, known);
    return known;
  }

  #resubmit(fold: JobFold, id: string): void {
    this.#next.delete(fold);
    fold.resubmit(id);
  }

  /** A node of a DAG is one job, whatever clusters it is submitted as; after a good end its name is another's. */
  #foldOf(id: string, event: LogEvent, at: number | undefined): JobFold {
    const node = event.kind === 'submit' ? event.details.dagNode : undefined;
    const key = `${event.proc} ${node ?? ''}`;
    const before = node === undefined ? undefined : this.#nodes.get(key);
    if (before !== undefined && before.ended !== 'success') {
      if (before.attempt === undefined) {
        before.advance(at ?? before.now);
        this.#resubmit(before, id);
      } else this.#next.set(before, id);
      return before;
    }
    const fold = new JobFold(id, at ?? 0, this.#context);
    this.#folds.push(fold);
    if (event.kind === 'submit' && event.details.notes.some((note) => ourNote.test(note))) fold.ours = true;
    if (node === undefined) return fold;
    fold.job.node = node;
    this.#nodes.set(key, fold);
    return fold;
  }
}

/** What Updraft has HTCondor write beside the submission of its jobs. */
const ourNote = /^Updraft run /;

/** Events that no explanation rests on; what memory was used is in the attempt. */
const noEvidence: ReadonlySet<string> = new Set<LogEvent['kind']>([
  'job-ad-information',
  'attribute-update',
  'generic',
  'unknown',
  'image-size',
]);

function nameZone(facts: LogFacts, { zone, timeText }: LogEvent): void {
  if (zone === 'unknown') return;
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(timeText) ?? [];
  const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  facts.offsetMinutes = sign === '-' ? -size : size;
  facts.zone = zoneName(facts.offsetMinutes);
}

const quarterHour = 15 * 60_000;
/** The event of an end is written soon after the end itself. */
const soonMs = 120_000;

/** Some releases give the moment of an end in UTC beside the log's own clock. */
function inferZone(facts: LogFacts, { time = 0, details }: EventOf<'terminated'>): void {
  if (details.ended === undefined) return;
  const written = time - new Date(time).getTimezoneOffset() * 60_000;
  const ahead = written - details.ended.time;
  const east = Math.floor((ahead + 1000) / quarterHour) * quarterHour;
  if (ahead - east <= soonMs && Math.abs(east) <= 56 * quarterHour) facts.zone = zoneName(east / 60_000);
}

/** Bits of numbers that logs of today do not have; others that HTCondor does not use (yet) share one with another. */
const transferSteps = new Map([
  ['input queued', 14],
  ['input started', 15],
  ['input finished', 17],
  ['output queued', 18],
  ['output started', 19],
  ['output finished', 20],
]);

function bitOf(event: LogEvent): number {
  if (event.kind !== 'file-transfer') return 2 ** (event.number % 48);
  const { details, number } = event;
  return 2 ** (transferSteps.get(`${details.direction ?? ''} ${details.step ?? ''}`) ?? number);
}

const hasBit = (bits: number, bit: number): boolean => Math.floor(bits / bit) % 2 === 1;

/** Whether an earlier log has it; of the last moment it may have had only a part. */
const isRepeated = ({ knownUntil, latest }: KnownJobId, bit: number, time: number): boolean =>
  time < knownUntil || (time === knownUntil && hasBit(latest, bit));
