import { defined } from '@updraft/base';
import { metricsOf, type Progress } from '@updraft/account/journal';
import { mergeProgress } from '../../job/progress-of-line.ts';

/** Reports of a metric that are kept of each doubling of their number; twice as many at first. */
const keptPerDoubling = 128;

/** A report, or some of its metrics, and its place among the others. */
interface Kept {
  at: number;
  report: Progress;
}

/**
 * Reports on their way to a journal. The first 256 of each metric are kept as they come, then every second one up to
 * 512, every fourth up to 1,024, and so on; of the others, each new lowest and highest value of a metric, and the last
 * one before each `take`.
 */
export class Reports {
  readonly #perDoubling: number;
  readonly #metrics = new Map<string, { seen: number; low: number; high: number }>();
  #kept: Kept[] = [];
  /** Of reports that are not kept: each metric's `low`, `high` and `last`, and the last of what is no metric. */
  readonly #chosen = new Map<string, Kept>();
  #rest: Progress = {};
  #open: Progress = {};
  #place: Progress = {};
  #count = 0;

  constructor(perDoubling = keptPerDoubling) {
    this.#perDoubling = perDoubling;
  }

  add(report: Progress): void {
    // Figures without an epoch are of the one before.
    if (!isOfSameMoment({ ...defined({ epoch: this.#place.epoch }), ...this.#open }, report)) this.#close();
    this.#open = mergeProgress([this.#open, report]);
  }

  /** What a journal needs of all that was added since the last call, in order. */
  take(): Progress[] {
    this.#close();
    if (Object.keys(this.#rest).length > 0) this.#chosen.set('rest', { at: this.#count, report: this.#rest });
    const groups = Map.groupBy([...this.#kept, ...this.#chosen.values()], ({ at }) => at);
    [this.#kept, this.#rest] = [[], {}];
    this.#chosen.clear();
    const ordered = [...groups].sort(([a], [b]) => a - b);
    return ordered.map(([, group]) => mergeProgress(group.map(({ report }) => report)));
  }

  #close(): void {
    const { metrics, loss, accuracy, ...others } = this.#open;
    const values = Object.entries(metricsOf(this.#open));
    const { epoch = this.#place.epoch, step } = others;
    if ((others.epoch ?? step) !== undefined) this.#place = defined({ epoch, step });
    const at = (this.#count += 1);
    const isKept = values.map(([name]) => this.#isNext(name)).includes(true);
    for (const [name, value] of values) this.#choose(name, value, at, isKept);
    this.#rest = { ...this.#rest, ...others };
    if (isKept) {
      this.#kept.push({ at, report: mergeProgress([this.#rest, defined({ loss, accuracy, metrics })]) });
      this.#rest = {};
    }
    this.#open = {};
  }

  /** Counts a report of a metric, and says whether it is one to keep. */
  #isNext(name: string): boolean {
    const metric = this.#metrics.get(name) ?? { seen: 0, low: Infinity, high: -Infinity };
    this.#metrics.set(name, metric);
    const nth = metric.seen++;
    if (this.#perDoubling === 0) return false;
    return nth % 2 ** Math.max(0, Math.floor(Math.log2(nth / this.#perDoubling))) === 0;
  }

  #choose(name: string, value: number, at: number, isKept: boolean): void {
    const metric = this.#metrics.get(name);
    if (metric === undefined) return;
    const isOwn = name === 'loss' || name === 'accuracy';
    const report = { ...this.#place, ...(isOwn ? { [name]: value } : { metrics: { [name]: value } }) };
    const [isLow, isHigh] = [value < metric.low, value > metric.high];
    if (isLow) metric.low = value;
    if (isHigh) metric.high = value;
    if (isKept) this.#chosen.delete(`last ${name}`);
    else this.#chosen.set(`last ${name}`, { at, report });
    if (isLow && !isKept) this.#chosen.set(`low ${name}`, { at, report });
    if (isHigh && !isKept) this.#chosen.set(`high ${name}`, { at, report });
  }
}

/** Whether nothing that one says contradicts the other, and no metric is in both. */
function isOfSameMoment(one: Progress, other: Progress): boolean {
  const before = metricsOf(one);
  if (Object.keys(metricsOf(other)).some((name) => before[name] !== undefined)) return false;
  const names = Object.keys(other) as (keyof Progress)[];
  return names.every((name) => name === 'metrics' || one[name] === undefined || one[name] === other[name]);
}
