import path from 'node:path';
import { counted } from '../../base/counted.ts';
import { defined } from '../../base/defined.ts';
import { mapLimited } from '../../base/map-limited.ts';
import { asFault } from '../../fault/fault.ts';
import { MissingAtOrigin } from '../../federation/origin-facts.ts';
import { formatSize } from '../../job/units.ts';
import type { FetchOptions } from '../../transfer/fetch.ts';
import type { ObjectFact } from '../../check/facts.ts';
import type { ObjectOptions } from '../../federation/object-request.ts';
import { besideList, type ListedShard, parseShardList, sumOf } from '../../transfer/proof/shard-list.ts';
import type { Cli } from '../cli.ts';
import { readObjectText, statUrl } from '../object/access.ts';
import type { AskedObject } from './gathered.ts';

/** One request each; of more shards, some from all over the list are asked about. */
const maxAsked = 40;

/** Reads the list of shards that a data source is: the one that is sent with the jobs, or the one at its URL. */
export async function readShards(
  cli: Cli,
  { url, manifest, declared }: Pick<AskedObject, 'url' | 'manifest' | 'declared'>,
  access: FetchOptions,
): Promise<ListedShard[]> {
  const place = manifest ?? url;
  const proof = manifest === undefined ? defined({ sha256: declared.sha256 }) : {};
  const text = await readObjectText(cli, place, { ...access, ...proof });
  return parseShardList(text, place, place.includes('://') ? 'fetched' : 'sent');
}

/** Whether the shards of a list add up to what is expected, and whether the origin has them. */
export async function askShards(
  cli: Cli,
  asked: AskedObject,
  access: FetchOptions,
  how: ObjectOptions,
): Promise<{ facts: Pick<ObjectFact, 'archiveProblem' | 'bytes'>; said: string }> {
  let shards: ListedShard[];
  try {
    shards = await readShards(cli, asked, access);
  } catch (error) {
    access.signal?.throwIfAborted();
    const { message } = asFault(error);
    return { facts: { archiveProblem: { message, fix: stageAgain } }, said: '' };
  }
  const sum = sumOf(shards);
  const step = Math.max(1, shards.length / maxAsked);
  const some = shards.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  const wrong = await mapLimited(some, 8, (shard) => shardProblem(asked.url, shard, how));
  const [first, ...others] = wrong.filter((one) => one !== undefined);
  const archiveProblem =
    sumProblem(asked, sum) ??
    (first === undefined
      ? undefined
      : {
          message: `${first}${others.length === 0 ? '' : `, and ${counted(others.length, 'other')} like it`}`,
          fix: stageAgain,
        });
  const asking = some.length === shards.length ? '' : ` (${some.length} of them asked)`;
  const said = `; ${counted(shards.length, 'shard')}${asking} with ${counted(sum.files, 'file')}, ${formatSize(sum.bytes)}`;
  return { facts: { bytes: sum.bytes, ...defined({ archiveProblem }) }, said };
}

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

async function shardProblem(
  list: string,
  { name, manifest }: ListedShard,
  how: ObjectOptions,
): Promise<string | undefined> {
  try {
    const known = await statUrl(besideList(list, name), how);
    if (known?.size === undefined || known.size === manifest.bytes) return undefined;
    return `the shard ${name} has ${known.size} bytes, but the list says ${manifest.bytes}`;
  } catch (error) {
    how.signal?.throwIfAborted();
    // Whoever does not answer was reported for the list.
    return error instanceof MissingAtOrigin
      ? `the shard ${path.posix.basename(name)} is not there`
      : undefined;
  }
}
