import { epochsDone, metricsOf, type Progress } from '@updraft/account/journal';
import { noteFolders } from '@updraft/account/run-folder';
import { judge, mergeResults, noteName, parseNoteName, type Rungs } from '../../search/rungs.ts';
import type { Attempt } from '../attempt.ts';

/**
 * Reports a trial's metric at each rung, once, and decides there whether the trial goes on. Several attempts of a trial
 * report a rung once: who finds a note of an earlier one leaves it, and goes on as that one did.
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
  /** The trial ends here: its training is to leave. */
  isStopped = false;

  /** `isFresh`: the training starts from scratch, and has passed no rung before. */
  constructor(attempt: Attempt, rungs: Rungs, isFresh: boolean) {
    this.#attempt = attempt;
    this.#rungs = rungs;
    this.#position = isFresh ? 0 : NaN;
    const { shared, order } = attempt;
    // An earlier attempt may have decided, and lost its slot before it could end.
    this.settled = shared.list(isFresh ? '' : noteFolders.stopped).then((names) => {
      this.isStopped = rungs.isChosen !== true && names.includes(order.job.id);
    });
  }

  /** Every report of the training: what has the metric may be the first at a rung, or past it. */
  onProgress(report: Progress): void {
    this.#place = { ...this.#place, ...report };
    const { budgets, metric, until = budgets.length } = this.#rungs;
    const [before, at, value] = [this.#position, this.#positionOf(report), metricsOf(report)[metric]];
    if (at === undefined || value === undefined) return;
    this.#position = at;
    const past = Math.min(
      until - 1,
      budgets.findLastIndex((budget) => budget <= at),
    );
    if (past < this.#next) return;
    this.#next = past + 1;
    // A resumed training may report far beyond a rung: that is no value of the rung.
    const budget = budgets[past] ?? NaN;
    const isAtRung = at === budget || before < budget;
    this.settled = this.settled
      .then(() => (isAtRung ? this.#reach(past, value) : undefined))
      .catch(() => undefined)
      // Only a later round can judge it, whatever it has reported.
      .then(() => void (this.isStopped ||= until < budgets.length && past === until - 1));
  }

  /** A report without a step is of a whole epoch. */
  #positionOf({ step }: Progress): number | undefined {
    const place = this.#place;
    const whole = step === undefined ? { ...place, step: 1, steps: 1 } : place;
    const done = epochsDone(whole);
    if (this.#rungs.unit === 'epochs') return done;
    return done !== undefined && place.steps !== undefined ? Math.round(done * place.steps) : place.step;
  }

  async #reach(rung: number, value: number): Promise<void> {
    const { shared, order, record } = this.#attempt;
    const [trial, folder] = [order.job.id, `${noteFolders.rungs}-${rung + 1}`];
    const { metric, unit, budgets, isChosen, until } = this.#rungs;
    const table = async (): Promise<Map<string, number>> =>
      mergeResults(until === undefined ? (await shared.list(folder)).flatMap(parseNoteName) : []);
    if (this.isStopped || (await table()).has(trial)) return;
    const own = noteName({ trial, attempt: order.attempt, value });
    const isHeard = until !== undefined || (await shared.put(`${folder}/${own}`, own));
    const seen = await table();
    seen.delete(trial);
    const verdict = judge(value, [...seen.values()], this.#rungs);
    const goesOn = verdict.goesOn || isChosen === true || rung === budgets.length - 1;
    const place = { rung: rung + 1, at: budgets[rung] ?? 0, ...verdict, goesOn };
    record({ kind: 'rung', metric, value, unit, ...place, ...(!isHeard && { unheard: true }) });
    if (goesOn) return;
    await shared.put(`${noteFolders.stopped}/${trial}`, String(rung + 1));
    this.isStopped = true;
  }
}
