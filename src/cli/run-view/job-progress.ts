import type { AttemptState, FetchState, JobState, TrainingState } from '../../journal/state.ts';

/** An agent says something at least every half minute; after this long without a word nobody knows how it is. */
const silenceMillis = 120_000;

/** The attempt that speaks for the job now: the latest. */
export const latestAttempt = (job: JobState): AttemptState | undefined => job.attempts.at(-1);

/** Where the attempt runs: its site, or its host. */
export const placeOf = (attempt: AttemptState | undefined): string =>
  attempt?.agent?.site ?? attempt?.pool?.site ?? attempt?.agent?.host ?? attempt?.pool?.host ?? '';

/** How long nothing was heard of an attempt that should be running, in milliseconds. */
export function silence(attempt: AttemptState, now: number): number | undefined {
  if (attempt.endedAt !== undefined || attempt.heardAt === undefined) return undefined;
  const quiet = now - attempt.heardAt;
  return quiet > silenceMillis ? quiet : undefined;
}

/** All of an attempt's data in one figure; `total` only when every part's size is known. */
export function bytesOf(fetches: readonly FetchState[]): { bytes: number; total?: number; rate: number } {
  const sum = (pick: (fetch: FetchState) => number) => fetches.reduce((all, one) => all + pick(one), 0);
  const known = fetches.every(({ total }) => total !== undefined);
  return {
    bytes: sum(({ bytes }) => bytes),
    rate: sum(({ rate }) => rate),
    ...(known ? { total: sum(({ total }) => total ?? 0) } : {}),
  };
}

/** How far the attempt's present phase is, from 0 to 1; undefined when it cannot be known. */
export function shareDone({ phase, agent }: AttemptState): number | undefined {
  if (agent === undefined) return undefined;
  if (phase === 'fetching' || phase === 'unpacking') {
    const { bytes, total } = bytesOf(agent.fetches);
    return total === undefined || total === 0 ? undefined : clamp(bytes / total);
  }
  return phase === 'training' && agent.training !== undefined ? trainingShare(agent.training) : undefined;
}

/** The epoch that is named is under way until its steps are done. */
function trainingShare({ epoch, epochs, step, steps }: TrainingState): number | undefined {
  const within = step !== undefined && steps !== undefined && steps > 0 ? clamp(step / steps) : undefined;
  if (epochs === undefined || epochs <= 0) return epoch === undefined ? within : undefined;
  return epoch === undefined ? undefined : clamp((epoch - 1 + (within ?? 0)) / epochs);
}

/** Milliseconds until the present phase is done, if it goes on as it went. */
export function remaining(attempt: AttemptState): number | undefined {
  const { phase, agent } = attempt;
  const share = shareDone(attempt);
  if (agent === undefined || share === undefined || share <= 0) return undefined;
  if (phase === 'training') {
    const own = share - givenShare(attempt);
    return own <= 0 ? undefined : Math.round((agent.millis.training * (1 - share)) / own);
  }
  const { bytes, total, rate } = bytesOf(agent.fetches);
  return total === undefined || rate <= 0 ? undefined : Math.round(((total - bytes) / rate) * 1000);
}

/** How much of the training was done before this attempt. */
function givenShare({ attempt, agent }: AttemptState): number {
  const { resumed, training } = agent ?? {};
  if (resumed === undefined || training === undefined || resumed.savedBy === attempt) return 0;
  const { epoch, step } = resumed;
  if (epoch === undefined && step === undefined) return 0;
  const given = { ...(epoch === undefined ? {} : { epoch }), ...(step === undefined ? {} : { step }) };
  return trainingShare({ ...training, ...given }) ?? 0;
}

const clamp = (share: number): number => Math.min(1, Math.max(0, share));
