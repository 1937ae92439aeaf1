import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { asFault } from '../../fault/fault.ts';
import type { OrderedData } from '../../job/job.ts';
import type { Attempt } from '../attempt.ts';
import type { Scratch } from '../scratch.ts';
import { openStaging } from './stage-data.ts';

/** Data that is still arriving while the training runs. */
export interface ArrivingData {
  /** The attempt for the training: it is asked to end, with the data's fault, if fetching fails. */
  attempt: Attempt;
  /** Waits until everything has arrived and is verified; throws if something is wrong with it. */
  complete(): Promise<void>;
  /** Stops fetching. */
  stop(): Promise<void>;
}

/** Starts to fetch the sources marked `arriving`, and returns when the first part is there. */
export async function startArrivingData(attempt: Attempt): Promise<ArrivingData> {
  const { context, record } = attempt;
  const sources = attempt.order.data.filter(({ arriving }) => arriving);
  if (sources.length === 0) return { attempt, complete: () => Promise.resolve(), stop: () => Promise.resolve() };
  const [failed, stopped] = [new AbortController(), new AbortController()];
  const first = Promise.withResolvers<undefined>();
  let [isTraining, isDone] = [false, false];
  const fetching: Attempt = {
    ...attempt,
    context: { ...context, signal: AbortSignal.any([context.signal, stopped.signal]) },
    // Once the training runs, its phase is the attempt's.
    record: (body) => {
      if (body.kind !== 'phase' || !isTraining) record(body);
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
    attempt: { ...attempt, context: { ...context, signal: AbortSignal.any([context.signal, failed.signal]) } },
    async complete() {
      if (!isDone) record({ kind: 'phase', phase: 'fetching' });
      await all;
    },
    async stop() {
      stopped.abort();
      await all.catch(() => undefined);
    },
  };
}

/** Whether more is to come of data that the training has started with. */
export function isArriving({ order, scratch }: Attempt): boolean {
  return order.data.some((source) => source.arriving && existsSync(markerOf(source, scratch)));
}

/** This file is in the data's folder as long as more is to come. */
const markerOf = ({ into }: OrderedData, { work }: Scratch): string => path.join(work, into, '.arriving');

async function fetchAll(sources: OrderedData[], attempt: Attempt, onPart: () => void): Promise<void> {
  const { scratch } = attempt;
  for (const marker of sources.map((source) => markerOf(source, scratch))) {
    mkdirSync(path.dirname(marker), { recursive: true });
    writeFileSync(marker, '');
  }
  const stage = openStaging(attempt);
  for (const source of sources) {
    await stage(source, onPart);
    rmSync(markerOf(source, scratch));
  }
}
