import { systemClock } from '@updraft/base';
import type { RunState } from '@updraft/account/journal';
import { followRunStates } from '../src/run/run-states.ts';
import { hangMs } from './hang-limit.ts';

/** The first state of a run that satisfies the condition, or the last one. */
export async function untilState(run: string, satisfies: (state: RunState) => boolean): Promise<RunState> {
  let last: RunState | undefined;
  const signal = AbortSignal.timeout(hangMs);
  for await (const seen of followRunStates(run, { clock: systemClock, signal })) {
    last = seen;
    if (satisfies(seen)) break;
  }
  return last!;
}
