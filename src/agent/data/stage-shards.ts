import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '@updraft/base';
import { asFault, Fault } from '../../fault/fault.ts';
import type { OrderedData } from '../../job/job.ts';
import type { AgentBody } from '../../journal/entry.ts';
import {
  besideList,
  type Fetched,
  type FetchEvent,
  type ListedShard,
  type Manifest,
  sumOf,
} from '@updraft/pelican/transfer';
import { type Attempt, until } from '../attempt.ts';
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
  const { scratch } = attempt;
  const target = path.join(scratch.work, source.into);
  const into = isArriving ? target : path.join(scratch.stage, source.name);
  for (const folder of [into, path.dirname(target)]) await mkdir(folder, { recursive: true });
  const failed = new AbortController();
  const joint = joinTransfers(source.url, attempt, sumOf(shards).bytes);
  const joined = until(attempt, failed.signal);
  let first: Fault | undefined;
  await mapLimited(shards, maxShards, async ({ manifest, files, name }) => {
    // The others are ended, too, before the first failure is reported.
    if (first !== undefined) return;
    const { bytes, sha256 } = manifest;
    const its = { url: besideList(source.url, name), sha256, expect: { files, bytes } };
    const shard: OrderedData = { ...source, ...its, unpack: 'tar' };
    const { record, onEvent } = joint.of(name);
    const own = { ...joined, record };
    await stage({ shard, manifest, into, own, onEvent }).catch((error: unknown) =>
      failed.abort((first ??= asFault(error))),
    );
  });
  if (first !== undefined) throw first;
  joint.done();
  if (!isArriving) await rename(into, target);
}

/** The list is verified: no other server has one that fits better. */
export function checkSum({ url, expect }: OrderedData, shards: readonly ListedShard[]): void {
  const { files, bytes } = sumOf(shards);
  if ((expect.files ?? files) === files && (expect.bytes ?? bytes) === bytes) return;
  throw new Fault('expect-wrong', `${url}: its shards have ${files} files and ${bytes} bytes`, {
    about: url,
  });
}

/** From the weakest on. */
export const proofs: Fetched['verified'][] = ['none', 'size', 'digest', 'manifest'];

/** Joins what the shards of a data set record to one transfer; `total` is undefined if some may come again. */
export function joinTransfers(object: string, { record, context: { clock } }: Attempt, total?: number) {
  const started = clock.monotonic();
  const seconds = (): number => (clock.monotonic() - started) / 1000;
  const coming = new Map<string, number>();
  const unpacked = { files: 0, bytes: 0 };
  let [arrived, proof, servers]: [number, number, Fetched['servers']] = [0, proofs.length - 1, []];
  const report = recordEvents(object, record, clock);
  return {
    /** For the shard of this name. */
    of: (name: string) => ({
      onEvent: (event: FetchEvent): void => {
        if (event.kind !== 'progress') {
          report(event);
          return;
        }
        coming.set(name, event.bytes);
        const bytes = coming.values().reduce((all, one) => all + one, arrived);
        report({ ...event, bytes, total, rate: bytes / Math.max(1, seconds()) });
      },
      record: (body: AgentBody): void => {
        if (body.kind === 'fetched') {
          coming.delete(name);
          arrived += body.bytes;
          proof = Math.min(proof, proofs.indexOf(body.verified));
          servers = byServer([...servers, ...body.servers]);
        } else if (body.kind === 'unpacked') {
          unpacked.files += body.files;
          unpacked.bytes += body.bytes;
        } else if (body.kind !== 'phase') record(body);
      },
    }),
    done(): void {
      const verified = proofs[proof] ?? 'none';
      record({ kind: 'fetched', object, bytes: arrived, seconds: seconds(), servers, verified });
      if (unpacked.files > 0)
        record({ kind: 'unpacked', object, ...unpacked, proven: verified === 'manifest' });
    },
  };
}
