import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { asFault } from '../../fault/fault.ts';
import type { OrderedData } from '../../job/job.ts';
import { isOnDemand } from '../../job/on-demand.ts';
import { type Attempt, until } from '../attempt.ts';
import type { Scratch } from '../scratch.ts';
import { ShardStream } from './shard-stream.ts';
import { openStaging } from './stage-data.ts';

/** Data that is still arriving while the training runs. */
export interface ArrivingData {
  /** The attempt for the training: it is asked to end, with the data's fault, if fetching fails. */
  attempt: Attempt;
  /** Waits until everything has arrived and is verified; throws if something is wrong with it. Ends what comes on demand. */
  complete(): Promise<void>;
  /** Stops fetching. */
  stop(): Promise<void>;
}

/**
 * Starts to fetch the sources marked `arriving`, and those that come on demand. Returns when the first part is there,
 * and the training can ask for shards; what they are is found out while the checkpoint is `restored`, which names them.
 */
export async function startArrivingData(
  attempt: Attempt,
  restored: Promise<void>,
  sources: readonly OrderedData[] = attempt.order.data,
): Promise<ArrivingData> {
  const { record } = attempt;
  const arriving = sources.filter((source) => source.arriving);
  const onDemand = sources.filter(isOnDemand);
  const [failed, stopped, ended] = [new AbortController(), new AbortController(), new AbortController()];
  const first = Promise.withResolvers<undefined>();
  let [isTraining, isDone] = [false, false];
  const fetching: Attempt = {
    ...until(attempt, stopped.signal),
    // Once the training runs, its phase is the attempt's.
    record: (body) => {
      if (body.kind !== 'phase' || !isTraining) record(body);
    },
  };
  const opened = onDemand.map((source) => ShardStream.open(source, fetching));
  const [, ...streams] = await Promise.all([restored, ...opened]).catch(async (error: unknown) => {
    stopped.abort();
    await Promise.allSettled([restored, ...opened]);
    throw error;
  });
  const rest = fetchAll(arriving, fetching, () => first.resolve(undefined));
  rest.then(
    () => (isDone = true),
    () => undefined,
  );
  // A training that is asked to end may need a shard to reach its next checkpoint.
  const all = Promise.all([rest, ...streams.map((stream) => stream.run(ended.signal))]);
  all.catch((error: unknown) => failed.abort(asFault(error)));
  await Promise.race([arriving.length === 0 ? undefined : first.promise, all]);
  isTraining = true;
  return {
    attempt: { ...until(attempt, failed.signal), streams },
    async complete() {
      ended.abort();
      if (!isDone) record({ kind: 'phase', phase: 'fetching' });
      await all;
    },
    async stop() {
      stopped.abort();
      ended.abort();
      await all.catch(() => undefined);
    },
  };
}

/** Whether more is to come of data that the training has started with, or it waits for what it asked for. */
export function isArriving({ order, scratch, streams = [] }: Attempt): boolean {
  return (
    streams.some(({ isAwaited }) => isAwaited) ||
    order.data.some((source) => source.arriving && existsSync(markerOf(source, scratch)))
  );
}

/** This file is in the data's folder as long as more is to come. */
const markerOf = ({ into }: OrderedData, { work }: Scratch): string => path.join(work, into, '.arriving');

async function fetchAll(
  sources: readonly OrderedData[],
  attempt: Attempt,
  onPart: () => void,
): Promise<void> {
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
