import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '../../base/map-limited.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import type { OrderedData } from '../../job/job.ts';
import type { AgentBody } from '../../journal/entry.ts';
import type { Fetched, FetchEvent } from '../../transfer/fetch.ts';
import type { Manifest } from '../../transfer/proof/manifest.ts';
import { besideList, type ListedShard, sumOf } from '../../transfer/proof/shard-list.ts';
import type { Attempt } from '../attempt.ts';
import { byServer, recordEvents } from './record-fetch.ts';

/** Shards that are fetched at the same time: one slow cache then does not hold up the others. */
export const maxShards = 4;

/** One shard to fetch and unpack. */
interface ShardTask {
  shard: OrderedData;
  manifest: Manifest;
  /** Absolute path of the folder it is unpacked into. */
  into: string;
  /** The attempt, which ends and records as part of the whole. */
  own: Attempt;
  onEvent: (event: FetchEvent) => void;
}

/**
 * Stages the shards of a data set into one folder, which appears when all are complete; with `isArriving`, what is
 * complete appears at once. The journal sees the data set as one object.
 */
export async function stageShards(
  source: OrderedData,
  shards: readonly ListedShard[],
  attempt: Attempt,
  isArriving: boolean,
  stage: (task: ShardTask) => Promise<void>,
): Promise<void> {
  checkSum(source, shards);
  const { context, scratch } = attempt;
  const target = path.join(scratch.work, source.into);
  const into = isArriving ? target : path.join(scratch.stage, source.name);
  for (const folder of [into, path.dirname(target)]) await mkdir(folder, { recursive: true });
  const failed = new AbortController();
  const joint = join(source.url, shards, attempt);
  const own = {
    ...attempt,
    record: joint.record,
    context: { ...context, signal: AbortSignal.any([context.signal, failed.signal]) },
  };
  let first: Fault | undefined;
  await mapLimited(shards, maxShards, async ({ manifest, files, name }) => {
    // The others are ended, too, before the first failure is reported.
    if (first !== undefined) return;
    const { bytes, sha256 } = manifest;
    const its = { url: besideList(source.url, name), sha256, expect: { files, bytes } };
    const shard: OrderedData = { ...source, ...its, unpack: 'tar' };
    await stage({ shard, manifest, into, own, onEvent: joint.eventsOf(name) }).catch((error: unknown) =>
      failed.abort((first ??= asFault(error))),
    );
  });
  if (first !== undefined) throw first;
  joint.done();
  if (!isArriving) await rename(into, target);
}

/** The list is verified: no other server has one that fits better. */
function checkSum({ url, expect }: OrderedData, shards: readonly ListedShard[]): void {
  const { files, bytes } = sumOf(shards);
  if ((expect.files ?? files) === files && (expect.bytes ?? bytes) === bytes) return;
  throw new Fault('expect-wrong', `${url}: its shards have ${files} files and ${bytes} bytes`, {
    about: url,
  });
}

/** Joins what the shards record to one transfer. */
function join(object: string, shards: readonly ListedShard[], { record, context: { clock } }: Attempt) {
  const started = clock.monotonic();
  const seconds = (): number => (clock.monotonic() - started) / 1000;
  const total = sumOf(shards).bytes;
  const got = new Map<string, number>();
  const shares: Fetched['servers'] = [];
  const sum = { files: 0, bytes: 0 };
  const report = recordEvents(object, record, clock);
  return {
    eventsOf: (name: string) => (event: FetchEvent) => {
      if (event.kind !== 'progress') {
        report(event);
        return;
      }
      got.set(name, event.bytes);
      const bytes = got.values().reduce((all, one) => all + one, 0);
      report({ ...event, bytes, total, rate: bytes / Math.max(1, seconds()) });
    },
    record: (body: AgentBody): void => {
      if (body.kind === 'fetched') shares.push(...body.servers);
      else if (body.kind === 'unpacked') {
        sum.files += body.files;
        sum.bytes += body.bytes;
      } else if (body.kind !== 'phase') record(body);
    },
    done(): void {
      const all = { bytes: total, seconds: seconds(), servers: byServer(shares) };
      record({ kind: 'fetched', object, ...all, verified: 'manifest' });
      record({ kind: 'unpacked', object, ...sum, proven: true });
    },
  };
}
