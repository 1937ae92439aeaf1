import { epochsDone, metricsOf, type Progress } from '@updraft/account/journal';
import { noteFolders } from '@updraft/account/run-folder';
import { judge, mergeResults, noteName, parseNoteName, type Rungs } from '../../search/rungs.ts';
import type { Attempt } from '../attempt.ts';

/**
 * Reports a trial's metric at each rung, once, and decides there whether the trial goes on. Several attempts of a trial
 * report a rung once: who finds a note of an earlier one leaves it. Who goes on is judged again with what the others
 * have reported since, each time it has trained as long as to the first rung: the first ones knew of few others.
 */
export class RungWatch {
  readonly #attempt: Attempt;
  readonly #rungs: Rungs;
  #place: Progress = {};
  /** Unknown, and so no number, until a resumed training reports. */
  #position: number;
  #next = 0;
  /** Whether all that was reported is judged. */
  settled: Promise<void>;
  readonly #stop = new AbortController();
  /** Aborted when the trial ends here: its training is to leave. */
  readonly stop = this.#stop.signal;

  /** `isFresh`: the training starts from scratch, and has passed no rung before. */
  constructor(attempt: Attempt, rungs: Rungs, isFresh: boolean) {
    this.#attempt = attempt;
    this.#rungs = rungs;
    this.#position = isFresh ? 0 : NaN;
    const { shared, order } = attempt;
    // An earlier attempt may have decided, and lost its slot before it could end.
    this.settled = shared.list(isFresh ? '' : noteFolders.stopped).then((names) => {
      if (rungs.eta > 1 && names.includes(order.job.id)) this.#stop.abort();
    });
  }

  /** Every report of the training: what has the metric may be the first at a rung, or past it. */
  onProgress(report: Progress): void {
    this.#place = { ...this.#place, ...report };
    const { budgets, metric, until = budgets.length } = this.#rungs;
    const [before, at, value] = [this.#position, this.#positionOf(report), metricsOf(report)[metric]];
    if (at === undefined || value === undefined) return;
    this.#position = at;
    const past = budgets.findLastIndex((budget, rung) => rung < until && budget <= at);
    const laps = (of: number): number => Math.floor(of / (budgets[0] ?? NaN));
    if (past < this.#next && !(laps(at) > laps(before))) return;
    // A resumed training may report far beyond a rung: that is no value of the rung.
    const budget = budgets[past] ?? NaN;
    const own = past >= this.#next && (at === budget || before < budget) ? value : undefined;
    this.#next = past + 1;
    this.settled = this.settled
      .then(() => this.#judge(past, own))
      .catch(() => undefined)
      .then(() => {
        // Only a later round can judge it, whatever it has reported.
        if (until < budgets.length && past === until - 1) this.#stop.abort();
      });
  }

  /** A report without a step is of a whole epoch. */
  #positionOf({ step }: Progress): number | undefined {
    const place = this.#place;
    const whole = step === undefined ? { ...place, step: 1, steps: 1 } : place;
    const done = epochsDone(whole);
    if (this.#rungs.unit === 'epochs') return done;
    return done !== undefined && place.steps !== undefined ? Math.round(done * place.steps) : place.step;
  }

  /** Reports the value, unless an earlier attempt did; without a value, only what was reported is judged again. */
  async #judge(rung: number, value: number | undefined): Promise<void> {
    const { shared, order, record } = this.#attempt;
    const [trial, folder] = [order.job.id, `${noteFolders.rungs}-${rung + 1}`];
    const { metric, unit, budgets, until } = this.#rungs;
    const table = async (): Promise<Map<string, number>> =>
      mergeResults(until === undefined ? (await shared.list(folder)).flatMap(parseNoteName) : []);
    const first = (await table()).get(trial);
    const own = first ?? value;
    if (this.stop.aborted || own === undefined) return;
    const note = noteName({ trial, attempt: order.attempt, value: own });
    const isHeard = (first ?? until) !== undefined || (await shared.put(`${folder}/${note}`, note));
    const others = await table();
    others.delete(trial);
    const verdict = judge(own, [...others.values()], this.#rungs);
    const goesOn = verdict.goesOn || rung === budgets.length - 1;
    const place = { ...verdict, goesOn, rung: rung + 1, at: budgets[rung] ?? 0 };
    if (first === undefined || !goesOn)
      record({ kind: 'rung', metric, value: own, unit, ...place, ...(!isHeard && { unheard: true }) });
    if (goesOn) return;
    await shared.put(`${noteFolders.stopped}/${trial}`, `${rung + 1}`);
    this.#stop.abort();
  }
}
