import { Fault } from '@updraft/account/fault';
import { formatDuration, timeToRequest } from '@updraft/base';
import type { AgentBody } from '@updraft/account/journal';
import type { Context } from '../attempt.ts';

/** Timers cannot be set further ahead than about 24 days. */
const maxSleepMs = 3_600_000;
const minSleepMs = 1000;

interface TimeLimit {
  /** The same context, whose signal also aborts when the attempt's time is up. */
  context: Context;
  /** Receives the attempt's journal entries, to learn how long its checkpoints take to save. */
  onEntry(body: AgentBody): void;
  /** Stops the timer. */
  done(): void;
}

/**
 * Limits the attempt's time. With `saves`, it ends by a margin before the limit, in which the training saves and its
 * checkpoint is stored. `neededSeconds` is how long the attempt would take in all, if known.
 */
export function limitTime(
  context: Context,
  seconds: number | undefined,
  saves: boolean,
  neededSeconds: () => number | undefined = () => undefined,
): TimeLimit {
  if (seconds === undefined) return { context, onEntry: () => undefined, done: () => undefined };
  const [expired, over] = [new AbortController(), new AbortController()];
  const { clock } = context;
  let savingMs = 0;
  const margin = (): number => (saves ? marginMs(seconds * 1000, savingMs) : 0);
  const wait = async (): Promise<void> => {
    const end = clock.monotonic() + seconds * 1000;
    const left = (): number => end - margin() - clock.monotonic();
    // Half of the remaining time: the margin may grow meanwhile.
    const sleepMs = (): number => Math.min(left(), Math.max(left() / 2, minSleepMs), maxSleepMs);
    while (left() > 0) await clock.sleep(sleepMs(), over.signal);
    expired.abort(timeLimitFault(seconds, saves, neededSeconds()));
  };
  wait().catch(() => undefined); // rejects only because `done` was called
  const graceMs = (): number => (expired.signal.aborted && saves ? margin() / 2 : context.graceMs());
  return {
    context: { ...context, graceMs, signal: AbortSignal.any([context.signal, expired.signal]) },
    onEntry: (body) => {
      if (body.kind === 'checkpoint-saved') savingMs = Math.max(savingMs, (body.seconds ?? 0) * 1000);
    },
    done: () => over.abort(),
  };
}

/**
 * How long before a limit the training is asked to save: a minute, a twentieth of the limit, or three times what
 * saving took before, whichever is longest, but no more than a quarter of the limit.
 */
export const marginMs = (limitMs: number, savingMs: number): number =>
  Math.min(limitMs / 4, Math.max(60_000, limitMs / 20, 3 * savingMs));

function timeLimitFault(seconds: number, saves: boolean, needed: number | undefined): Fault {
  const figure = needed === undefined ? 'ask for more `time`' : `write \`time = "${timeToRequest(needed)}"\``;
  const reason = needed === undefined ? '' : ` (at its pace it needs ${formatDuration(needed)})`;
  const advice = saves
    ? `${figure} in [resources]${reason} to need fewer attempts; the next one resumes from the checkpoint`
    : `${figure} in [resources]${reason}, or set \`checkpoint\` to let the next attempt resume`;
  return new Fault('time-limit', `the attempt reached its time limit of ${formatDuration(seconds)}`, {
    fix: advice,
  });
}

/**
 * Aborts when the grace after the attempt's signal has passed, or at once when stopped by force: for work worth
 * finishing, such as a result that is ready. Call `done` at the end of that work.
 */
export function withGrace({ signal, forceStop, clock, graceMs }: Context): {
  signal: AbortSignal;
  done: () => void;
} {
  const late = new AbortController();
  const over = new AbortController();
  const begin = (): void => {
    const abort = (): void => late.abort(signal.reason);
    clock.sleep(graceMs(), AbortSignal.any([forceStop, over.signal])).then(abort, () => {
      if (!over.signal.aborted) abort();
    });
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true, signal: over.signal });
  return { signal: late.signal, done: () => over.abort() };
}
