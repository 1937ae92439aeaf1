import { judge, type Rungs } from '../../src/search/rungs.ts';
import { randomNumbers } from './curves.ts';

/** `full`: every trial to its end; `halving`: rungs as rounds, in which all wait for the slowest. */
export type Way = 'full' | 'asha' | 'halving';

export interface Setting {
  /** A trial's metric after each epoch. */
  curves: readonly (readonly number[])[];
  rungs: Rungs;
  slots: number;
  seed: number;
  /** Seconds. */
  epochSeconds: number;
  setUpSeconds: number;
  meanLifeSeconds: number;
  /** The share of notes that never arrive. */
  lostNotes?: number;
  /** A trial is judged only when it reaches a rung. */
  isJudgedOnce?: boolean;
}

export interface Outcome {
  slotSeconds: number;
  wallSeconds: number;
  best: number;
  attempts: number;
  evicted: number;
  /** Trials that ended, and those that were counted at each rung. */
  ended: number;
  reported: number[];
  /** Reports that a later attempt repeated. */
  repeated: number;
}

interface Trial {
  id: number;
  /** Epochs in its checkpoint. */
  done: number;
}

/** An attempt on a slot, which is taken back at `until`. */
interface Slot {
  trial: Trial;
  from: number;
  until: number;
  epochSeconds: number;
}

/** A search on a pool whose slots are taken back at random, with the decision that agents use. */
export function simulate(way: Way, setting: Setting): Outcome {
  return new Search(way, setting).run();
}

class Search {
  readonly #way: Way;
  readonly #of: Setting;
  readonly #random: () => number;
  readonly #tables: { all: Map<number, number>; noted: Map<number, number> }[];
  readonly #events = new Events();
  readonly #waiting: Trial[];
  readonly #last: number;
  #round: Trial[] = [];
  #now = 0;
  #free: number;
  /** Epochs at which a trial leaves its slot. */
  #limit: number;
  readonly #sum = { slotSeconds: 0, best: -Infinity, attempts: 0, evicted: 0, ended: 0, repeated: 0 };

  constructor(way: Way, setting: Setting) {
    const { budgets } = setting.rungs;
    this.#way = way;
    this.#of = setting;
    this.#random = randomNumbers(setting.seed + 17);
    this.#tables = budgets.map(() => ({ all: new Map(), noted: new Map() }));
    this.#waiting = setting.curves.map((_, id) => ({ id, done: 0 }));
    this.#free = setting.slots;
    this.#last = budgets.at(-1) ?? 0;
    this.#limit = way === 'halving' ? (budgets[0] ?? 0) : this.#last;
  }

  run(): Outcome {
    do this.#runRound();
    while (this.#nextRound());
    const ended = this.#sum.ended + this.#round.length;
    return { ...this.#sum, ended, wallSeconds: this.#now, reported: this.#tables.map(({ all }) => all.size) };
  }

  #runRound(): void {
    for (;;) {
      for (; this.#free > 0 && this.#waiting.length > 0; this.#free--) this.#start(this.#waiting.shift());
      const event = this.#events.pop();
      if (event === undefined) return;
      this.#now = event.at;
      event.run();
    }
  }

  /** With rounds, the best go on; false after the last one. */
  #nextRound(): boolean {
    const { budgets, eta } = this.#of.rungs;
    if (this.#limit >= this.#last) return false;
    this.#limit = budgets[budgets.indexOf(this.#limit) + 1] ?? this.#last;
    const kept = Math.max(1, Math.floor(this.#round.length / eta));
    this.#sum.ended += this.#round.length - kept;
    this.#waiting.push(...this.#round.sort((a, b) => this.#value(b) - this.#value(a)).slice(0, kept));
    this.#round = [];
    return true;
  }

  #value({ id, done }: Trial): number {
    return this.#of.curves[id]?.[done - 1] ?? -Infinity;
  }

  #start(trial: Trial | undefined): void {
    if (trial === undefined) return;
    const { epochSeconds, setUpSeconds, meanLifeSeconds } = this.#of;
    this.#sum.attempts += 1;
    const until = this.#now - Math.log(this.#random()) * meanLifeSeconds;
    // A machine is up to twice as slow as another.
    const slot = { trial, from: this.#now, until, epochSeconds: epochSeconds * 2 ** (this.#random() - 0.5) };
    this.#train(slot, this.#now + setUpSeconds);
  }

  #train(slot: Slot, from: number): void {
    const next = from + slot.epochSeconds;
    const isEvicted = next > slot.until;
    const run = (): void => (isEvicted ? this.#evict(slot) : this.#endEpoch(slot));
    this.#events.push({ at: isEvicted ? slot.until : next, run });
  }

  #evict({ trial, from }: Slot): void {
    this.#sum.evicted += 1;
    // The last checkpoint did not always leave the machine.
    if (this.#random() < 0.2 && trial.done > 0) trial.done -= 1;
    this.#leave(from);
    this.#events.push({ at: this.#now + 300, run: () => void this.#waiting.unshift(trial) });
  }

  #endEpoch(slot: Slot): void {
    const { trial, from } = slot;
    trial.done += 1;
    this.#sum.best = Math.max(this.#sum.best, this.#value(trial));
    if (!this.#goesOn(trial)) {
      this.#sum.ended += 1;
      this.#leave(from);
    } else if (trial.done >= this.#limit) {
      this.#round.push(trial);
      this.#leave(from);
    } else this.#train(slot, this.#now);
  }

  #leave(from: number): void {
    this.#sum.slotSeconds += this.#now - from;
    this.#free += 1;
  }

  /** Whether the trial goes on from the epoch it has done: as at the last rung it has passed, by all that is known now. */
  #goesOn(trial: Trial): boolean {
    const { rungs, lostNotes = 0, isJudgedOnce = false } = this.#of;
    const at = rungs.budgets.findLastIndex((budget) => budget <= trial.done);
    const table = this.#tables[at];
    if (table === undefined) return true;
    const isRung = trial.done === rungs.budgets[at];
    // An earlier attempt may have reported it.
    if (isRung && table.all.has(trial.id)) this.#sum.repeated += 1;
    else if (isRung) {
      table.all.set(trial.id, this.#value(trial));
      if (this.#random() >= lostNotes) table.noted.set(trial.id, this.#value(trial));
    }
    const own = isRung ? table.all.get(trial.id) : isJudgedOnce ? undefined : table.noted.get(trial.id);
    if (this.#way !== 'asha' || trial.done === this.#last || own === undefined) return true;
    const others = [...table.noted].flatMap(([id, value]) => (id === trial.id ? [] : [value]));
    return judge(own, others, rungs).goesOn;
  }
}

interface Event {
  at: number;
  run: () => void;
}

/** Events by time; a binary heap. */
class Events {
  readonly #heap: Event[] = [];

  push(event: Event): void {
    let at = this.#heap.push(event) - 1;
    for (let above = (at - 1) >> 1; at > 0 && this.#timeOf(above) > event.at; above = (at - 1) >> 1) {
      this.#swap(at, above);
      at = above;
    }
  }

  pop(): Event | undefined {
    const [first] = this.#heap;
    this.#swap(0, this.#heap.length - 1);
    this.#heap.pop();
    for (let at = 0; ;) {
      const [left, right] = [at * 2 + 1, at * 2 + 2];
      const below = this.#timeOf(right) < this.#timeOf(left) ? right : left;
      if (this.#timeOf(below) >= this.#timeOf(at)) return first;
      this.#swap(at, below);
      at = below;
    }
  }

  #timeOf(at: number): number {
    return this.#heap[at]?.at ?? Infinity;
  }

  #swap(at: number, other: number): void {
    const [one, two] = [this.#heap[at], this.#heap[other]];
    if (one === undefined || two === undefined) return;
    this.#heap[at] = two;
    this.#heap[other] = one;
  }
}
