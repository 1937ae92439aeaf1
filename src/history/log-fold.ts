import type { EventOf, LogEvent } from '../eventlog/events.ts';
import { applyEvent } from './apply-event.ts';
import type { JobHistory } from './history.ts';
import { JobFold } from './job-fold.ts';
import { noFacts, type LogFacts } from './log-facts.ts';
import { once } from './once.ts';

/** A job and how far which log has told of it. */
interface Known {
  fold: JobFold;
  log: number;
  /** Time and host of its submit event: two jobs of the same number differ in them. */
  bornAt: number | undefined;
  bornOn: string | undefined;
  /** Events up to here were told by an earlier log. */
  toldUntil: number;
  /** The events at the very last moment: bit by number, 47 being the highest. */
  latest: number;
}

/** Jobs from the events of any number of logs, given log by log, oldest log first. */
export class LogFold {
  readonly facts: LogFacts = { ...noFacts, hasTransfers: false };
  readonly #known = new Map<string, Known>();
  readonly #folds: JobFold[] = [];
  /** How many jobs had a number, where it was more than one. */
  readonly #uses = new Map<string, number>();
  #log = 0;

  /** The events that follow are another log's. */
  nextLog(): void {
    this.#log += 1;
  }

  add(event: LogEvent): void {
    const { facts } = this;
    facts.events += 1;
    if (!event.whole) facts.cut += 1;
    if (event.kind === 'file-transfer') facts.hasTransfers = true;
    if (event.time !== undefined) {
      facts.firstTime = Math.min(facts.firstTime ?? event.time, event.time);
      facts.lastTime = Math.max(facts.lastTime ?? event.time, event.time);
    }
    // An event of a whole cluster is no job's.
    if (event.proc < 0) return;
    const known = this.#find(event);
    const time = event.time ?? known.fold.now;
    if (known.log !== this.#log || time <= known.toldUntil) {
      if (isRepeated(known, event.number, time)) {
        facts.repeated += 1;
        return;
      }
      known.log = this.#log;
    }
    if (time < known.fold.now) facts.backwards += 1;
    if (time > known.fold.now) known.latest = 0;
    if (!hasBit(known.latest, event.number)) known.latest += bitOf(event.number);
    known.fold.advance(time);
    applyEvent(known.fold, event);
  }

  /** The jobs as they stand; ends the fold, which lets go of all else it knew. */
  finish(): JobHistory[] {
    this.#known.clear();
    this.#uses.clear();
    return this.#folds.splice(0).map((fold) => fold.result());
  }

  #find(event: LogEvent): Known {
    const id = `${event.cluster}.${event.proc}`;
    const known = this.#known.get(id);
    if (known === undefined) return this.#open(id, event);
    if (event.kind === 'submit' && !isBirthOf(known, event)) return this.#open(id, event);
    if (known.log !== this.#log) known.toldUntil = known.fold.now;
    return known;
  }

  #open(id: string, event: LogEvent): Known {
    const uses = this.#known.has(id) ? (this.#uses.get(id) ?? 1) + 1 : 1;
    if (uses > 1) this.#uses.set(id, uses);
    const fold = new JobFold(uses === 1 ? id : `${id}#${uses}`, event.time ?? 0);
    this.#folds.push(fold);
    const born = event.kind === 'submit' ? once(event.details.host ?? '') : undefined;
    const known = {
      fold,
      log: this.#log,
      toldUntil: -Infinity,
      latest: 0,
      bornAt: event.time,
      bornOn: born,
    };
    this.#known.set(id, known);
    return known;
  }
}

const isBirthOf = ({ bornAt, bornOn }: Known, { time, details }: EventOf<'submit'>): boolean =>
  bornAt === time && bornOn === (details.host ?? '');

/** Numbers HTCondor does not use (yet) share a bit with one it does. */
const bitOf = (number: number): number => 2 ** (number % 48);
const hasBit = (bits: number, number: number): boolean => Math.floor(bits / bitOf(number)) % 2 === 1;

/** Whether an earlier log told of it; of the last moment it may have told only a part. */
const isRepeated = ({ toldUntil, latest }: Known, number: number, time: number): boolean =>
  time < toldUntil || (time === toldUntil && hasBit(latest, number));
