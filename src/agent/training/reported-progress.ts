import { defined, given } from '@updraft/base';
import {
  type AgentBody,
  maxMetricName,
  maxMetrics,
  type MetricScale,
  metricsOf,
  type Progress,
  type RefusedMetrics,
} from '@updraft/account/journal';
import {
  mergeProgress,
  PrintedPass,
  progressOfLine,
  progressOfRecord,
  TrainNames,
} from '../../job/progress-of-line.ts';
import { Reports } from './reports.ts';

/**
 * What a training reports, on its way to the journal. It may print and write records: once a record has a metric, what
 * is printed of it no longer counts, and what was printed of it before is void. The training is where its records say.
 */
export class ReportedProgress {
  readonly #names = new MetricNames();
  /** Apart, so that the lines of one never get the place of the other. */
  readonly #records = new Reports();
  readonly #printed = new Reports();
  /** Apart for the same reason: what each calls its own. */
  readonly #recordNames = new TrainNames();
  readonly #printedNames = new TrainNames();
  readonly #passes = new PrintedPass();
  /** Reports of a pass over the training's data, from before it had a loss of batches, too. */
  readonly #ofPass: Progress[] = [];
  /** What such reports are in the journal: void. */
  readonly #parted = new Set<string>();
  readonly #journaled = new Set<string>();
  /** Of accuracies without a unit, what the journal does not have yet. */
  #scales: Record<string, MetricScale> = {};
  /** The fields and metrics that records have had, and the fields that depend on them. */
  readonly #recorded = new Set<string>();
  readonly #printedMetrics = new Set<string>();
  readonly #void = new Set<string>();
  /** Records count epochs from 1, and what was printed began with 0. */
  #isRecounted = false;
  #recordedAt: Progress = {};
  #printedAt: Progress = {};
  #printsFromZero = false;
  #recordsFromZero = false;
  /** Where the last record was that went to the journal. */
  #takenAt: Progress = {};

  /** A line of the training's file. Returns what counts of it. */
  addRecord(line: string): Progress {
    const found = this.#names.admit(progressOfRecord(line, this.#recordNames));
    this.#part(this.#recordNames, this.#records);
    this.#learn(found);
    this.#recordedAt = placeAfter(this.#recordedAt, found);
    this.#records.add(this.#isRecounted ? { firstEpoch: 1, ...found } : found);
    return found;
  }

  /** A record of an earlier start in the same attempt: what it has, no printed line gives. */
  addEarlier(line: string): void {
    this.#learn(progressOfRecord(line));
  }

  /** A printed line. Returns what counts of it. */
  addPrinted(line: string): Progress {
    const read = progressOfLine(line, this.#printedNames, this.#passes);
    this.#part(this.#printedNames, this.#printed);
    const found = this.#names.admit(read);
    return mergeProgress(this.#passes.settle(line, found).map((one) => this.#place(one)));
  }

  #place(found: Progress): Progress {
    this.#printsFromZero ||= found.epoch === 0;
    this.#printedAt = placeAfter(this.#printedAt, found);
    const own = this.#recorded.size === 0 ? found : without(found, this.#recorded);
    const metrics = Object.keys(metricsOf(own));
    for (const name of metrics) this.#printedMetrics.add(name);
    const isPlaced = metrics.length > 0 && this.#recorded.size > 0;
    this.#printed.add(isPlaced ? { ...own, ...this.#placeOfPrinted() } : own);
    return own;
  }

  /** What the agent itself knows of it. */
  add(found: Progress): void {
    this.#printed.add(found);
  }

  /** What the journal needs of all that was added since the last call; after the training's end, of all. */
  take(hasEnded = false): AgentBody[] {
    if (hasEnded) for (const left of this.#passes.end()) this.#place(left);
    const ofPass = this.#ofPass.splice(0);
    const printed = [...ofPass, ...this.#printed.take()].map((report) => without(report, this.#void));
    const recorded = this.#records.take();
    // These come last, and begin where they were.
    const hasMoved = printed.some(({ epoch, step }) => (epoch ?? step) !== undefined);
    if (hasMoved && this.#recorded.size > 0) {
      const { epoch } = this.#takenAt;
      recorded[0] = recorded[0] === undefined ? this.#takenAt : { ...defined({ epoch }), ...recorded[0] };
    }
    for (const report of recorded) this.#takenAt = placeAfter(this.#takenAt, report);
    const metrics = [...this.#void, ...this.#parted];
    const isReplaced = metrics.length > 0 || this.#isRecounted;
    const replaced = { metrics, ...(this.#isRecounted && { recounted: true }) };
    this.#void.clear();
    this.#parted.clear();
    this.#isRecounted = false;
    const reports = [...printed, ...recorded].filter((report) => Object.keys(report).length > 0);
    for (const report of reports) for (const name in metricsOf(report)) this.#journaled.add(name);
    const scales = this.#scales;
    this.#scales = {};
    return given<AgentBody>(
      Object.keys(scales).length > 0 && { kind: 'progress-scaled', scales },
      isReplaced && { kind: 'progress-replaced', ...replaced },
      ...reports.map((report) => ({ kind: 'progress' as const, ...report })),
      ...this.#names.takeRefused().map((refused) => ({ kind: 'metrics-refused' as const, ...refused })),
    );
  }

  /** A loss so far was `train_loss`, if the training has both; fractions are void if they are percentages. */
  #part(names: TrainNames, reports: Reports): void {
    for (const name of names.takeParted()) {
      for (const { [name]: value, metrics, ...report } of reports.take()) {
        const all = { ...metrics, ...(value !== undefined && { [`train_${name}`]: value }) };
        this.#ofPass.push({ ...report, metrics: all });
      }
      if (this.#journaled.has(name)) this.#parted.add(name);
    }
    const scales = names.takeScales();
    Object.assign(this.#scales, scales);
    const percent = new Set(Object.keys(scales).filter((name) => scales[name] === 'percent'));
    if (percent.size === 0) return;
    for (const report of reports.take()) this.#ofPass.push(without(report, percent));
    for (const name of percent) if (this.#journaled.has(name)) this.#parted.add(name);
  }

  #learn({ metrics, ...fields }: Progress): void {
    this.#recordsFromZero ||= fields.epoch === 0;
    if (fields.epoch !== undefined && !this.#recorded.has('epoch'))
      this.#isRecounted = this.#printsFromZero && !this.#recordsFromZero;
    for (const name of Object.keys({ ...fields, ...metrics })) {
      this.#recorded.add(name);
      if (this.#printedMetrics.delete(name)) this.#void.add(name);
    }
    if ((fields.epoch ?? fields.step) !== undefined)
      for (const name of ['epoch', 'epochs', 'done', 'firstEpoch']) this.#recorded.add(name);
    if (fields.step !== undefined) this.#recorded.add('steps');
  }

  /** Of a metric that only printed lines have: where they say, counted as records are; else where the records are. */
  #placeOfPrinted(): Progress {
    const { epoch, step, steps } = this.#printedAt;
    const records = this.#recordedAt;
    const isAlike = (epoch === undefined) === (records.epoch === undefined);
    if (!isAlike || (epoch ?? step) === undefined)
      return defined({ epoch: records.epoch, step: records.step });
    const scale = steps === undefined || steps === 0 ? 1 : (records.steps ?? steps) / steps;
    return defined({
      epoch:
        epoch === undefined ? undefined : epoch + (this.#printsFromZero && !this.#recordsFromZero ? 1 : 0),
      step: step === undefined ? undefined : Math.round(step * scale),
    });
  }
}

/** Where a training is after one more report: a new epoch has its own steps. */
function placeAfter(
  place: Progress,
  { epoch = place.epoch, step, steps = place.steps, ...rest }: Progress,
): Progress {
  if (step !== undefined || epoch !== place.epoch) return defined({ epoch, step, steps });
  const isOfEpoch = rest.done !== undefined;
  return defined({ epoch, step: isOfEpoch ? undefined : place.step, steps });
}

/** The report without these fields and metrics. */
function without({ metrics = {}, ...fields }: Progress, names: ReadonlySet<string>): Progress {
  const keep = (values: object) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name)));
  const [own, others] = [keep(fields) as Progress, keep(metrics) as Record<string, number>];
  return Object.keys(others).length === 0 ? own : { ...own, metrics: others };
}

/** More refused names than this are only known to be many. */
const maxRefused = 100;
/** Of refused names, as many are recorded as examples. */
const maxExamples = 3;

/** Keeps a training from filling journals with ever new names, or with ones that no table can carry. */
export class MetricNames {
  readonly #known = new Set<string>();
  readonly #refused = new Map<RefusedMetrics['why'], Set<string>>();
  readonly #news = new Set<RefusedMetrics['why']>();

  /** The report without other names. */
  admit({ metrics, ...rest }: Progress): Progress {
    const known = Object.entries(metrics ?? {}).filter(
      ([name]) => this.#known.has(name) || this.#isNew(name),
    );
    return known.length === 0 ? rest : { ...rest, metrics: Object.fromEntries(known) };
  }

  /** How many names were refused so far, for each reason with more of them than before. */
  takeRefused(): RefusedMetrics[] {
    const news = [...this.#refused].filter(([why]) => this.#news.delete(why));
    return news.map(([why, names]) => ({
      why,
      count: names.size,
      examples: [...names].slice(0, maxExamples),
    }));
  }

  #isNew(name: string): boolean {
    const why = this.#reasonAgainst(name);
    if (why === undefined) return this.#known.add(name).has(name);
    const names = this.#refused.get(why) ?? new Set();
    this.#refused.set(why, names);
    if (names.size < maxRefused && names.size < names.add(name.slice(0, 100)).size) this.#news.add(why);
    return false;
  }

  #reasonAgainst(name: string): RefusedMetrics['why'] | undefined {
    if (!/\p{L}/u.test(name)) return 'no-letter';
    if (name.length > maxMetricName) return 'too-long';
    return this.#known.size < maxMetrics ? undefined : 'too-many';
  }
}
