import path from 'node:path';
import os from 'node:os';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import {
  type Clock,
  defined,
  isArchiveName,
  isShardList,
  mapLimited,
  shardRange,
  isGone,
} from '@updraft/base';
import { Fault, asFault } from '@updraft/account/fault';
import {
  type FederationLocator,
  isSameHome,
  type Locator,
  type ObjectUrl,
  parseObjectUrl,
} from '@updraft/pelican/federation';
import {
  besideList,
  deliverAgainIfWrong,
  type Fetched,
  type FetchEvent,
  type FetchOptions,
  fetchToFile,
  fetchToStream,
  type ListedShard,
  type Manifest,
  parseManifest,
  parseShardList,
  sumOf,
} from '@updraft/pelican/transfer';
import { limitsFromEnv } from '@updraft/pelican/limits';
import { openUnpacker, type UnpackerOptions, unpackFetched } from '@updraft/archive';
import { createHash } from 'node:crypto';
import { piecesOf } from '@updraft/base/disk';
import type { AgentBody } from '@updraft/account/journal';
import type { OrderedData } from '../../job/job.ts';
import { isOnDemand } from '../../job/on-demand.ts';
import type { DataSource } from '../../job/spec.ts';
import { type Attempt, until } from '../attempt.ts';
import { accessPointOf } from '../machine/machine.ts';
import type { Recorder } from '../notes/journal-writer.ts';
import { reachObject } from '../self-test/test-machine.ts';
import { recordEvents, byServer, locatorFor, openLocator } from './object-locator.ts';

/** The memory belongs to the training and to other jobs: bytes that arrive out of order must not take much of it. */
const windowBytes = 32 << 20;

interface Staging {
  source: OrderedData;
  url: ObjectUrl;
  /** Absolute path of the folder in which the data appears. */
  into: string;
  /** The local file that holds the object, if there is one. */
  local: string | undefined;
  /** How it got there, if that was before the agent started. */
  arrived: Arrival | undefined;
  options: FetchOptions & { clock: Clock };
}

/** Puts the data into the work folder, where it appears when complete. Sources that may arrive later are skipped. */
export async function stageData(attempt: Attempt): Promise<void> {
  const sources = attempt.order.data.filter((source) => !source.arriving && !isOnDemand(source));
  if (sources.length === 0) return;
  const stage = openStaging(attempt);
  for (const source of sources) await stage(source);
}

/** Returns a function that stages one data source; it calls `onPart` when a part appears ahead of the rest. */
export function openStaging(attempt: Attempt): (source: OrderedData, onPart?: () => void) => Promise<void> {
  const locator = openLocator(attempt.context, attempt.order);
  const suspects = new Set<string>();
  return async (source, onPart) => {
    attempt.context.signal.throwIfAborted();
    if (isShardList(source)) {
      const shards = await loadShards(source, attempt, locator);
      await stageShards(
        source,
        shards,
        attempt,
        !!onPart,
        async ({ shard, manifest, into, own, onEvent }) => {
          const opened = await openSource(shard, own, locator, manifest);
          const limits = { ...opened.options.limits, windowBytes: windowBytes / maxShards };
          const options = { ...opened.options, suspects, limits, onEvent };
          await stageArchive({ ...opened, into, options }, 'tar', own, onPart);
        },
      );
      return;
    }
    const opened = await openSource(source, attempt, locator);
    const staging = { ...opened, options: { ...opened.options, suspects } };
    const name = nameOf(staging.url);
    const mode = source.unpack === 'auto' && !isArchiveName(name) ? 'none' : source.unpack;
    if (mode === 'none') await stageFile(staging, name, attempt);
    else if (onPart !== undefined) await stageArchive(staging, mode, attempt, onPart);
    else
      await deliverAgainIfWrong(staging.url.text, staging.options, async (options, isAgain) => {
        if (isAgain) attempt.record({ kind: 'phase', phase: 'fetching' });
        await stageArchive({ ...staging, options }, mode, attempt);
      });
    await dropDelivered(source);
  };
}

/** A shard that stays the tar that it is. */
export interface TarShard {
  name: string;
  url: string;
  bytes: number;
  /** What only a list says about it. */
  samples?: number;
  manifest?: Manifest;
}

/** The shards of a data set, and a function that puts one into the data's folder, as it is, once it is verified. */
export async function openShards(
  source: OrderedData,
  attempt: Attempt,
): Promise<{
  shards: TarShard[];
  /** `draft` names the file in the staging folder that has it until then. */
  stage: (
    shard: TarShard,
    draft: string,
    own: Attempt,
    onEvent: (event: FetchEvent) => void,
  ) => Promise<void>;
}> {
  const locator = openLocator(attempt.context, attempt.order);
  const suspects = new Set<string>();
  const range = shardRange(source.url);
  return {
    shards: await (range === undefined
      ? listedShards(source, attempt, locator)
      : numberedShards(range, source, attempt, locator)),
    async stage({ name, url, bytes, manifest }, draft, own, onEvent) {
      const proof = manifest && { sha256: manifest.sha256 };
      const shard: OrderedData = { ...source, ...proof, name: draft, url, expect: { bytes } };
      const opened = await openSource(shard, own, locator, manifest);
      await stageFile({ ...opened, options: { ...opened.options, suspects, onEvent } }, name, own);
    },
  };
}

const concurrency = 16;

/** Nobody lists them: the servers are asked for their sizes. */
async function numberedShards(
  range: readonly string[],
  source: OrderedData,
  { context, order }: Attempt,
  locator: FederationLocator,
): Promise<TarShard[]> {
  const federation = locatorFor(locator, order, source);
  const how = { federation, signal: context.signal, ...defined({ tokenFile: source.tokenFile }) };
  return await mapLimited(range, concurrency, async (url) => {
    const { size, server } = await reachObject(url, how);
    if (size === undefined)
      throw new Fault('servers-unreachable', `${server} does not say how large ${url} is`, { about: url });
    return { name: nameOf(parseObjectUrl(url, context.env)), url, bytes: size };
  });
}

async function listedShards(source: OrderedData, attempt: Attempt, locator: Locator): Promise<TarShard[]> {
  const shards = await loadShards(source, attempt, locator);
  checkSum(source, shards);
  return shards.map(({ name, samples, manifest }) => {
    const url = besideList(source.url, name);
    return { name, url, bytes: manifest.bytes, manifest, ...defined({ samples }) };
  });
}

/** The shards of a data set: from the list that was sent along, or the one at the URL. */
async function loadShards(source: OrderedData, attempt: Attempt, locator: Locator): Promise<ListedShard[]> {
  const { url, manifest, ...rest } = source;
  // What is expected are the files and bytes of the shards.
  const { options } = await openSource({ ...rest, url, expect: {} }, attempt, locator);
  return manifest === undefined
    ? parseShardList(await fetchText(url, options), url, 'fetched')
    : parseShardList(await readSent(manifest, attempt.order.filesFrom), manifest, 'sent');
}

/** Passes the bytes of a source to `write`, in order, verified as the order says. */
export async function fetchBytes(
  source: OrderedData,
  write: (chunk: Buffer) => void | Promise<void>,
  attempt: Attempt,
): Promise<Fetched> {
  const staging = await openSource(source, attempt, openLocator(attempt.context, attempt.order));
  const fetched = await readBytes(staging, write, attempt);
  await dropDelivered(source);
  return fetched;
}

async function openSource(
  source: OrderedData,
  attempt: Attempt,
  locator: Locator,
  proof?: Manifest,
): Promise<Staging> {
  const url = parseObjectUrl(source.url, attempt.context.env);
  const local = source.delivered ?? (url.kind === 'file' ? url.file : undefined);
  // What is in the sandbox has been fetched: it is only put in place.
  attempt.record({ kind: 'phase', phase: source.delivered === undefined ? 'fetching' : 'unpacking' });
  const arrived = await arrivalOf(source, url, attempt);
  const into = path.join(attempt.scratch.work, source.into);
  const options = await fetchOptions(source, url.text, attempt, locator, proof);
  return { source, url, into, local, arrived, options };
}

async function readBytes(
  { source, url, local, arrived, options }: Staging,
  write: (chunk: Buffer) => void | Promise<void>,
  { record }: Attempt,
): Promise<Fetched> {
  const fetched =
    local !== undefined
      ? await readLocal(local, write, options)
      : await fetchToStream(source.url, write, options);
  return recordFetched(url.text, fetched, arrived, record);
}

/** Removes the scheduler's copy once it was used: the training may need the space. */
async function dropDelivered({ delivered }: OrderedData): Promise<void> {
  if (delivered !== undefined) await rm(delivered, { force: true });
}

async function stageFile(
  { source, url, into, local, arrived, options }: Staging,
  name: string,
  { scratch, record }: Attempt,
): Promise<void> {
  const draft = path.join(scratch.stage, source.name);
  const fetched =
    local !== undefined
      ? await copyLocal(local, draft, options)
      : await fetchToFile(source.url, draft, options);
  recordFetched(url.text, fetched, arrived, record);
  await mkdir(into, { recursive: true });
  await rename(draft, path.join(into, name));
}

async function stageArchive(
  staging: Staging,
  mode: UnpackerOptions['mode'],
  attempt: Attempt,
  onPart?: () => void,
): Promise<void> {
  const { source, url } = staging;
  const { scratch, record } = attempt;
  const object = url.text;
  const expected = source.expect.files;
  const unpacker = openUnpacker({
    name: object,
    mode,
    into: staging.into,
    ...(expected === undefined ? {} : { expect: { files: expected } }),
    ...(onPart === undefined ? {} : { arriving: { stagedUnder: scratch.stage, onPart } }),
  });
  try {
    const { options, local, arrived } = staging;
    // A local file is checked at its end, against the manifest's digest of the whole object.
    const sha256 = options.sha256 ?? (local === undefined ? undefined : options.manifest?.sha256);
    const proofs = {
      ...(sha256 !== undefined && { sha256 }),
      ...(local === undefined && { manifest: options.manifest }),
      ...(arrived !== undefined && isVerified(arrived) && { manifest: arrived }),
    };
    const { fetched, unpacked } = await unpackFetched(unpacker, proofs, async (write, onDigest) => {
      const fetched = await readBytes({ ...staging, options: { ...options, onDigest } }, write, attempt);
      record({ kind: 'phase', phase: 'unpacking' });
      return fetched;
    });
    const { files, bytes } = unpacked;
    record({ kind: 'unpacked', object, files, bytes, proven: isVerified(fetched) });
  } catch (error) {
    // A file on the access point is the same at the next attempt, and so is what a manifest has verified.
    const isFixed = url.kind === 'file' || staging.options.manifest !== undefined;
    if (isFixed && error instanceof Fault && error.kind === 'data-unexpected')
      throw new Fault('expect-wrong', error.message, { cause: error });
    throw error;
  }
}

async function copyLocal(file: string, target: string, options: Staging['options']): Promise<Fetched> {
  await using output = await open(target, 'wx', 0o600);
  return await readLocal(file, (chunk) => output.writeFile(chunk), options);
}

/** Whether the bytes are known to be those that were published. */
export const isVerified = ({ verified }: Pick<Arrival, 'verified'>): boolean =>
  verified === 'manifest' || verified === 'digest';

function nameOf(url: ObjectUrl): string {
  if (url.kind === 'file') return path.basename(url.file);
  const pathname = url.kind === 'plain' ? new URL(url.href).pathname : url.path;
  const name = path.posix.basename(decodeURIComponent(pathname));
  return name === '' || name === '..' ? 'object' : name;
}

async function fetchOptions(
  source: DataSource,
  object: string,
  attempt: Attempt,
  locator: Locator,
  proof: Manifest | undefined,
): Promise<Staging['options']> {
  const { clock, signal, env } = attempt.context;
  const { tokenFile, sha256, expect } = source;
  const { order } = attempt;
  const access = { locator: locatorFor(locator, order, source), clock, signal, ...defined({ tokenFile }) };
  const proofAccess = { ...access, locator: locatorFor(locator, order, source, source.manifest) };
  const manifest = proof ?? (await loadManifest(source, order.filesFrom, proofAccess));
  return {
    ...access,
    limits: { windowBytes, ...limitsFromEnv(env) },
    onEvent: recordEvents(object, attempt.record, clock),
    ...defined({ manifest, sha256, bytes: expect.bytes }),
  };
}

/** The manifest of the object: fetched like an object, or sent along with the user's files. */
export async function loadManifest(
  { url, manifest }: Pick<DataSource, 'url' | 'manifest'>,
  filesFrom: string,
  { tokenFile, ...access }: FetchOptions,
): Promise<Manifest | undefined> {
  if (manifest === undefined) return undefined;
  if (!manifest.includes('://')) return parseManifest(await readSent(manifest, filesFrom), manifest, 'sent');
  const its = { ...access, ...(isSameHome(url, manifest) ? defined({ tokenFile }) : {}) };
  return parseManifest(await fetchText(manifest, its), manifest, 'fetched');
}

async function fetchText(url: string, options: FetchOptions): Promise<string> {
  const parts: Buffer[] = [];
  await fetchToStream(url, (chunk) => void parts.push(Buffer.from(chunk)), options);
  return Buffer.concat(parts).toString('utf8');
}

async function readSent(name: string, folder: string): Promise<string> {
  try {
    return await readFile(path.join(folder, name), 'utf8');
  } catch (error) {
    throw new Fault('order-invalid', `the manifest ${name} cannot be read: ${(error as Error).message}`, {
      fix: `put ${name} beside the job file`,
      about: name,
      cause: error,
    });
  }
}

/** How an object reached the sandbox before the agent started. */
interface Arrival extends Pick<Fetched, 'seconds' | 'servers' | 'leftOut'> {
  /** How our plugin verified it; undefined where HTCondor itself transferred it. */
  verified?: Fetched['verified'];
}

/** Undefined for what the agent fetches itself. Call it before the file is read. */
async function arrivalOf(
  { delivered }: OrderedData,
  url: ObjectUrl,
  { order, context }: Attempt,
): Promise<Arrival | undefined> {
  if (delivered === undefined) return undefined;
  const brought = order.brought?.find(({ object }) => object === url.text);
  const found = brought === undefined ? await stat(delivered).catch(() => undefined) : undefined;
  if (found === undefined) return brought;
  // HTCondor creates a file when its first bytes arrive, and sets its times after the last.
  const { birthtimeMs, ctimeMs, size: bytes } = found;
  const seconds = birthtimeMs > 0 ? Math.max(0, ctimeMs - birthtimeMs) / 1000 : 0;
  const server = url.kind === 'plain' ? new URL(url.href).host : accessPointOf(context.env);
  return { seconds, servers: [{ server, bytes }] };
}

/** Records what was fetched: from which servers it reached the sandbox, in what time, and the stronger verification. */
function recordFetched(
  object: string,
  fetched: Fetched,
  arrived: Arrival | undefined,
  record: Recorder,
): Fetched {
  const { verified: before, seconds, servers, leftOut } = arrived ?? fetched;
  const isBetter = before === undefined || proofs.indexOf(fetched.verified) > proofs.indexOf(before);
  const { bytes } = fetched;
  const verified = isBetter ? fetched.verified : before;
  const known: Fetched = { bytes, seconds, servers, verified, ...defined({ leftOut }) };
  if (arrived?.verified === undefined || isBetter) record({ kind: 'fetched', object, ...known });
  return known;
}

/** Reads a local file as if it were fetched: in order, interruptible, with the same checks. */
async function readLocal(
  file: string,
  write: (chunk: Buffer) => void | Promise<void>,
  options: FetchOptions & { clock: NonNullable<FetchOptions['clock']> },
): Promise<Fetched> {
  const { clock, signal, manifest } = options;
  const sha256 = options.sha256 ?? manifest?.sha256;
  const expected = options.bytes ?? manifest?.bytes;
  const started = clock.monotonic();
  await using input = await openLocal(file);
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of piecesOf(input, signal)) {
    bytes += piece.length;
    if (sha256 !== undefined) hash.update(piece);
    await write(piece);
  }
  if (expected !== undefined && bytes !== expected)
    throw new Fault('data-unexpected', `${file} has ${bytes} bytes, not ${expected}`, { about: file });
  const found = hash.digest('hex');
  if (sha256 !== undefined && found !== sha256.toLowerCase())
    throw new Fault('data-corrupt', `${file}: SHA-256 is ${found}, should be ${sha256}`, { about: file });
  const seconds = (clock.monotonic() - started) / 1000;
  const verified = sha256 === undefined ? 'size' : 'digest';
  return { bytes, seconds, verified, servers: [{ server: os.hostname(), bytes }] };
}

async function openLocal(file: string): ReturnType<typeof open> {
  try {
    return await open(file, 'r');
  } catch (error) {
    const what = isGone(error) ? 'does not exist' : `cannot be read: ${(error as Error).message}`;
    throw new Fault('object-missing', `the file ${file} ${what}`, {
      fix: 'use a file that exists on the worker: file: URLs are read there',
      about: file,
      cause: error,
    });
  }
}

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
async function stageShards(
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
function checkSum({ url, expect }: OrderedData, shards: readonly ListedShard[]): void {
  const { files, bytes } = sumOf(shards);
  if ((expect.files ?? files) === files && (expect.bytes ?? bytes) === bytes) return;
  throw new Fault('expect-wrong', `${url}: its shards have ${files} files and ${bytes} bytes`, {
    about: url,
  });
}

/** From the weakest on. */
const proofs: Fetched['verified'][] = ['none', 'size', 'digest', 'manifest'];

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
