import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { asFault } from '../fault/fault.ts';
import type { OrderedData } from '../job/job.ts';
import type { Attempt } from './attempt.ts';
import { openStaging } from './stage-data.ts';

/** Data that goes on arriving while the training runs. */
export interface Arriving {
  /** The attempt as the training sees it: it is asked to end when the data fails, with the data's fault. */
  attempt: Attempt;
  /** Waits until everything is there and proven, or throws what is wrong with it. */
  whole(): Promise<void>;
  /** Fetches no more. */
  stop(): Promise<void>;
}

/** Begins to fetch the data whose source says `arriving`, and comes back when the first part of it is there. */
export async function startArriving(attempt: Attempt): Promise<Arriving> {
  const { world, note } = attempt;
  const sources = attempt.order.data.filter(({ arriving }) => arriving);
  if (sources.length === 0) return { attempt, whole: () => Promise.resolve(), stop: () => Promise.resolve() };
  const [failed, stopped] = [new AbortController(), new AbortController()];
  const first = Promise.withResolvers<undefined>();
  let [isTraining, isDone] = [false, false];
  const fetching: Attempt = {
    ...attempt,
    world: { ...world, signal: AbortSignal.any([world.signal, stopped.signal]) },
    // While the training runs, the time is the training's.
    note: (body) => {
      if (body.kind !== 'phase' || !isTraining) note(body);
    },
  };
  const all = fetchAll(sources, fetching, () => first.resolve(undefined));
  all.then(
    () => (isDone = true),
    (error: unknown) => failed.abort(asFault(error)),
  );
  await Promise.race([first.promise, all]);
  isTraining = true;
  return {
    attempt: { ...attempt, world: { ...world, signal: AbortSignal.any([world.signal, failed.signal]) } },
    async whole() {
      if (!isDone) note({ kind: 'phase', phase: 'fetching' });
      await all;
    },
    async stop() {
      stopped.abort();
      await all.catch(() => undefined);
    },
  };
}

/** Every source in turn; `.arriving` stands in its folder for as long as more is to come. */
async function fetchAll(sources: OrderedData[], attempt: Attempt, onPart: () => void): Promise<void> {
  const markerOf = ({ into }: OrderedData): string => path.join(attempt.scratch.work, into, '.arriving');
  for (const marker of sources.map(markerOf)) {
    mkdirSync(path.dirname(marker), { recursive: true });
    writeFileSync(marker, '');
  }
  const stage = openStaging(attempt);
  for (const source of sources) {
    await stage(source, onPart);
    rmSync(markerOf(source));
  }
}
