import path from 'node:path';
import { counted, defined, formatSize, mapLimited, shardRange } from '@updraft/base';
import { asFault } from '@updraft/account/fault';
import { MissingAtOrigin, type ObjectOptions } from '@updraft/pelican/federation';
import {
  besideList,
  type FetchOptions,
  type ListedShard,
  parseShardList,
  sumOf,
} from '@updraft/pelican/transfer';
import type { ObjectFact } from '../check/facts.ts';
import type { Asking } from './asking.ts';
import { readObjectText, statUrl } from './object-proof.ts';
import type { AskedObject } from './gathered.ts';

/** One request each; of more shards, some from all over the list are asked about. */
const maxAsked = 40;

/** Reads the list of shards that a data source is: the one that is sent with the jobs, or the one at its URL. */
async function readShards(
  asking: Asking,
  { url, manifest, declared }: Pick<AskedObject, 'url' | 'manifest' | 'declared'>,
  access: FetchOptions,
): Promise<ListedShard[]> {
  const place = manifest ?? url;
  const proof = manifest === undefined ? defined({ sha256: declared.sha256 }) : {};
  const text = await readObjectText(asking, place, { ...access, ...proof });
  return parseShardList(text, place, place.includes('://') ? 'fetched' : 'sent');
}

/** A shard to ask about; a range does not say its size. */
interface AskedShard {
  name: string;
  url: string;
  bytes?: number;
}

/** Whether the shards of a list add up to what is expected, and whether the origin has them. */
export async function askShards(
  asking: Asking,
  asked: AskedObject,
  access: FetchOptions,
  how: ObjectOptions,
): Promise<{ facts: Pick<ObjectFact, 'archiveProblem' | 'bytes' | 'keep'>; said: string }> {
  const range = shardRange(asked.url)?.map((url) => ({ url, name: path.posix.basename(url) }));
  let listed: ListedShard[];
  try {
    listed = range === undefined ? await readShards(asking, asked, access) : [];
  } catch (error) {
    access.signal?.throwIfAborted();
    const { message } = asFault(error);
    return { facts: { archiveProblem: { message, fix: stageAgain } }, said: '' };
  }
  const shards: AskedShard[] =
    range ??
    listed.map(({ name, manifest: { bytes } }) => ({ name, bytes, url: besideList(asked.url, name) }));
  const step = Math.max(1, shards.length / maxAsked);
  const some = shards.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  const answers = await mapLimited(some, 8, (shard) => askShard(shard, how));
  const sizes =
    range === undefined
      ? shards.flatMap(({ bytes }) => bytes ?? [])
      : answers.flatMap(({ bytes }) => bytes ?? []);
  const largest = sizes.reduce((max, size) => Math.max(max, size), 0);
  // Of a range, the mean of those asked stands for all.
  const bytes = Math.round(
    sizes.reduce((sum, size) => sum + size, 0) * (shards.length / Math.max(1, sizes.length)),
  );
  const sum = { files: sumOf(listed).files, bytes };
  const archiveProblem =
    (range === undefined ? sumProblem(asked, sum) : undefined) ??
    shardsProblem(
      answers.flatMap(({ problem }) => problem ?? []),
      range === undefined ? stageAgain : checkRange,
    );
  const part = some.length === shards.length ? '' : ` (${some.length} of them asked)`;
  const files = range === undefined ? ` with ${counted(sum.files, 'file')}` : '';
  const said = `; ${counted(shards.length, 'shard')}${part}${files}, ${formatSize(bytes)}`;
  const keep = asked.keepBytes === undefined ? undefined : { bytes: asked.keepBytes, largest };
  return { facts: { bytes, ...defined({ archiveProblem, keep }) }, said };
}

function shardsProblem([first, ...others]: string[], fix: string): ObjectFact['archiveProblem'] {
  if (first === undefined) return undefined;
  const more = others.length === 0 ? '' : `, and ${counted(others.length, 'other')} like it`;
  return { message: `${first}${more}`, fix };
}

const checkRange = 'correct the numbers of the range in `url`, or upload what is missing';
const stageAgain = 'run the `updraft stage` command that made it again: it uploads what is missing';

function sumProblem(
  { expect = {} }: AskedObject,
  sum: { files: number; bytes: number },
): ObjectFact['archiveProblem'] {
  const what = (['files', 'bytes'] as const).find((one) => (expect[one] ?? sum[one]) !== sum[one]);
  if (what === undefined) return undefined;
  return {
    message: `its shards have ${sum[what]} ${what} in all, but the job file expects ${expect[what] ?? 0}`,
    fix: `set expect = { files = ${sum.files}, bytes = ${sum.bytes} } if they are the right ones`,
  };
}

/** What the origin says about a shard. */
async function askShard(
  { name, url, bytes }: AskedShard,
  how: ObjectOptions,
): Promise<{ bytes?: number; problem?: string }> {
  try {
    const found = (await statUrl(url, how))?.size;
    const isOther = found !== undefined && found !== (bytes ?? found);
    const problem = `the shard ${name} has ${found ?? ''} bytes, but the list says ${bytes ?? ''}`;
    return { ...defined({ bytes: found }), ...(isOther && { problem }) };
  } catch (error) {
    how.signal?.throwIfAborted();
    // Whoever does not answer was reported for the list.
    return error instanceof MissingAtOrigin ? { problem: `the shard ${name} is not there` } : {};
  }
}
