import path from 'node:path';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  isArchiveName,
  counted,
  defined,
  type Env,
  firstShard,
  formatSize,
  isShardList,
  mapLimited,
  shardRange,
  type SourceLine,
  given,
} from '@updraft/base';
import {
  byJobFile,
  createLocator,
  type FederationLocator,
  isSameHome,
  parseObjectUrl,
  preferCaches,
} from '@updraft/pelican/federation';
import type { FetchEvent, FetchOptions } from '@updraft/pelican/transfer';
import type { UnpackerOptions } from '@updraft/archive';
import type { ObjectFact, ServerFact, TokenFact, Where } from '../check/facts.ts';
import { asFault, Fault } from '@updraft/account/fault';
import { cachesOf } from '../job/caches.ts';
import { fetchedBy, packName, type Plan, type PlannedData } from '../job/plan.ts';
import { poolTraits } from '../job/pool-traits.ts';
import { variantsOf } from '../job/variants.ts';
import type { Asking } from './asking.ts';
import { readProof } from './object-proof.ts';
import { askServers, describeServers, type ObjectAnswer, withoutToken } from './ask-servers.ts';
import { type AskedObject, type Gathered, type ObjectReport, reasonOf } from './gathered.ts';

export interface CheckedObjects {
  objects: ObjectFact[];
  tokens: TokenFact[];
}

const maxParallel = 8;
/** The part of the time that counting the files of a local archive may take. */
const countShare = 3;
/** The label of an image in the federation. */
export const imageLabel = 'environment.image';

/** The data sets of a plan and its software, as objects to ask about. */
export function objectsOf(plan: Plan, where: Where): AskedObject[] {
  const { image } = plan.spec.environment;
  const place = where('environment', 'image');
  const isGiven = plan.spec.pool?.submit?.['use_oauth_services'] !== undefined;
  const isAlone = !poolTraits[plan.spec.run.pool].sharesFolder && !isGiven;
  return given(
    ...dataOf(plan, where),
    image !== undefined &&
      isObject(image) && {
        label: imageLabel,
        url: image,
        place,
        declared: {},
        isProven: true,
        tokenFile: plan.imageTokenFile,
        caches: cachesOf(plan.spec.run),
      },
  ).map((asked) => ({ ...asked, isAlone }));
}

/** The objects of a plan that have no token. */
export const tokenless = (plan: Plan): string[] => [
  ...new Set(
    everyObjectOf(plan)
      .filter(({ url, tokenFile }) => tokenFile === undefined && isObject(url))
      .map(({ url }) => url),
  ),
];

/** The objects of all jobs, whatever they differ in, each once. */
function everyObjectOf(plan: Plan): AskedObject[] {
  const where = (): { file: string; line: number } => ({ file: plan.file, line: 0 });
  const all = variantsOf(plan).flatMap((one) => objectsOf(one, where));
  return [...new Map(all.map((object) => [`${object.url}\n${object.tokenFile ?? ''}`, object])).values()];
}

export const isObject = (url: string): boolean => /^(osdf|pelican|stash|https?):/i.test(url);

function dataOf(plan: Plan, where: Where): AskedObject[] {
  return fetchedBy(plan).map((source: PlannedData) => ({
    label: source.name === packName ? packName : `data.${source.name}`,
    url: source.url,
    place: source.name === packName ? where('environment', 'pack') : where('data', source.name, 'url'),
    // What is expected of a list of shards is their sum.
    declared: defined({
      bytes: isShardList(source) ? undefined : source.expect.bytes,
      sha256: source.sha256,
    }),
    // A range of shards has no place for a proof.
    isProven:
      shardRange(source.url) !== undefined ||
      source.sha256 !== undefined ||
      source.manifest !== undefined ||
      Object.keys(source.expect).length > 0,
    ...(source.name !== packName && {
      unpack: source.unpack,
      expect: source.expect,
      keepBytes: source.keepBytes,
    }),
    ...(source.here?.isFolder && { folder: source.here }),
    tokenFile: source.tokenFile,
    manifest: manifestPlace(plan, source.manifest),
    caches: cachesOf(plan.spec.run, source),
  }));
}

const manifestPlace = ({ folder }: Plan, manifest: string | undefined): string | undefined =>
  manifest === undefined || manifest.includes('://') ? manifest : path.resolve(folder, manifest);

/** Asks every server about every object, within the timeout. */
export async function askObjects(
  asking: Asking,
  asked: readonly AskedObject[],
  timeoutMs: number,
  confirmed?: string[],
): Promise<Gathered<CheckedObjects>> {
  const federation = createLocator({ ...asking, confirmed });
  const signal = AbortSignal.any([asking.signal, AbortSignal.timeout(timeoutMs)]);
  const answers = await mapLimited(asked, maxParallel, (one) =>
    askOne(asking, federation, one, signal, timeoutMs),
  );
  asking.signal.throwIfAborted();
  return {
    facts: {
      objects: answers.flatMap(({ object }) => object ?? []),
      tokens: answers.flatMap(({ token }) => token ?? []),
    },
    looked: answers.flatMap(({ looked }) => looked ?? []),
    unchecked: answers.flatMap(({ unchecked }) => unchecked ?? []),
  };
}

async function askOne(
  asking: Asking,
  locator: FederationLocator,
  asked: AskedObject,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<ObjectReport> {
  const { label, place, declared, isProven, tokenFile, manifest } = asked;
  const url = firstShard(asked.url);
  const federation = asked.caches === undefined ? locator : preferCaches(locator, asked.caches, byJobFile);
  const how = { federation, signal, ...(tokenFile === undefined ? {} : { tokenFile }) };
  try {
    if (/^file:/i.test(url)) return await checkLocal(asked, signal, timeoutMs / countShare);
    const { servers, token, isFolder, choice = '' } = withSent(await askServers(url, how), asked, asking.env);
    const reported = token === undefined ? {} : { token: { label, place, ...token } };
    if (token?.problem !== undefined) return reported;
    const isList =
      url !== asked.url || (asked.unpack !== undefined && isShardList({ url, unpack: asked.unpack }));
    const proof =
      manifest === undefined || isList
        ? {}
        : await askManifest(
            asking,
            asked,
            manifest,
            isSameHome(url, manifest) ? federation : locator,
            signal,
          );
    const isThere = isFolder !== true && servers.some(({ status }) => status === 200);
    const access = { locator: federation, clock: asking.clock, signal, ...defined({ tokenFile }) };
    const { facts: archive, said } = !isThere
      ? { facts: {}, said: '' }
      : isList
        ? await (await import('./ask-shards.ts')).askShards(asking, asked, access, how)
        : {
            facts: await askArchive(asked, (size) => fetchHead(headUrl(url, servers), size, access)),
            said: '',
          };
    const object: ObjectFact = {
      label,
      url,
      place,
      servers,
      isProven,
      ...(proof.problem !== undefined && { archiveProblem: { message: proof.problem, fix: manifestFix } }),
      ...(isFolder === true && { archiveProblem: folderProblem(url) }),
      ...archive,
      declared: { ...proof.declared, ...declared },
    };
    if (servers.every(({ status }) => status === undefined))
      return { ...reported, unchecked: { what: label, why: describeSilence(servers, place) } };
    return { ...reported, object, looked: { what: label, said: describeServers(object) + said + choice } };
  } catch (error) {
    asking.signal.throwIfAborted();
    return { unchecked: { what: label, why: signal.aborted ? 'no answer in time' : reasonOf(error) } };
  }
}

function describeSilence(servers: readonly ServerFact[], place: SourceLine | undefined): string {
  const [only, ...others] = servers;
  const host = only?.unknownHost;
  const where = place === undefined ? 'in its URL' : `in ${place.file}:${place.line}`;
  // Not an error: on a machine without a network, no name exists.
  if (host !== undefined)
    return (
      `there is no host ${host}: DNS does not know the name. Check its spelling ${where}, and that this ` +
      'machine is online'
    );
  if (only === undefined || others.length > 0) return `none of its ${servers.length} servers answer`;
  return `its server ${only.silence ?? `${only.host} does not answer`}`;
}

/** Reading a few bytes through a cold cache would leave a partial copy, which it is slow to complete. */
function headUrl(url: string, servers: readonly ServerFact[]): string {
  const isCold =
    servers.some(({ copy }) => copy !== undefined) && servers.every(({ copy }) => copy !== 'whole');
  return isCold && !/[?&]directread\b/.test(url) ? `${url}${url.includes('?') ? '&' : '?'}directread` : url;
}

/** A job fetches with what it has: a token of this shell that is not sent with it does not count. */
function withSent(answer: ObjectAnswer, { url, tokenFile, isAlone }: AskedObject, env: Env): ObjectAnswer {
  const { token } = answer;
  const isGiven = tokenFile !== undefined || parseObjectUrl(url, env).credential !== undefined;
  if (token === undefined || token.problem !== undefined || isAlone !== true || isGiven) return answer;
  return withoutToken('it needs a token, and the one in this shell is not sent with the job');
}

async function askManifest(
  asking: Asking,
  { url, tokenFile }: AskedObject,
  manifest: string,
  locator: FederationLocator,
  signal: AbortSignal,
): Promise<{ declared?: ObjectFact['declared']; problem?: string }> {
  try {
    const mayHave = tokenFile !== undefined && isSameHome(url, manifest);
    const access = { locator, clock: asking.clock, signal, ...(mayHave ? { tokenFile } : {}) };
    const { manifest: read } = await readProof(asking, url, { manifest }, access);
    if (read === undefined) return {};
    return { declared: { bytes: read.bytes, sha256: read.sha256, by: 'its manifest' } };
  } catch (error) {
    signal.throwIfAborted();
    return { problem: asFault(error).message };
  }
}

/** Enough for the first entries, and cheap for a server. */
const headBytes = 256 << 10;
/** A slow server is given up: other checks report it. */
const headMs = 8_000;
const limits = { maxServers: 1, maxPasses: 1, maxUnreachedPasses: 1, digestSeconds: 0, windowBytes: 1 << 20 };

type ArchiveFacts = Pick<ObjectFact, 'archiveProblem'>;

/** Reads the first bytes of an object, so that a broken archive or a page is known before anything is queued. */
async function askArchive(
  asked: AskedObject,
  read: (bytes: number) => Promise<Buffer>,
): Promise<ArchiveFacts> {
  const mode = unpackMode(asked);
  if (mode === undefined && !mayBePage(asked)) return idleExpectation(asked);
  const head = await read(headBytes).catch((error: unknown) => asFault(error));
  const { inspectHead, isPage } = await import('@updraft/archive');
  // A server that declares a page is not read.
  if (head instanceof Fault ? head.kind === 'data-wrong' : mayBePage(asked) && isPage(head))
    return { archiveProblem: pageProblem(asked) };
  // Other checks report what cannot be read.
  if (head instanceof Fault) return {};
  if (mode === undefined) return idleExpectation(asked);
  const problem = await inspectHead(head, { name: nameOf(asked), mode, whole: head.length < headBytes });
  if (problem === undefined) return {};
  const { message, fix } = problem;
  return { archiveProblem: { message, ...(fix !== undefined && { fix }) } };
}

const nameOf = ({ url }: AskedObject): string => path.posix.basename(url.replace(/[?#].*$/, ''));

/** Undefined for an object that stays as it is. */
function unpackMode(asked: AskedObject): UnpackerOptions['mode'] | undefined {
  const { unpack = 'none' } = asked;
  return unpack === 'none' || (unpack === 'auto' && !isArchiveName(nameOf(asked))) ? undefined : unpack;
}

/** Web servers answer with a list of files, or a page to sign in, where data was meant. */
const mayBePage = (asked: AskedObject): boolean =>
  asked.unpack === 'auto' && /^https?:/i.test(asked.url) && !/\.x?html?$/i.test(nameOf(asked));

const pageProblem = ({ url }: AskedObject): NonNullable<ObjectFact['archiveProblem']> => ({
  message: `${url} is an HTML page, like a list of files or a page to sign in, not the data itself`,
  fix: 'open it in a browser and copy the address of the file to download; if the page is meant, set unpack = "none"',
});

/** `expect.files` counts what comes out of an archive. */
function idleExpectation(asked: AskedObject): ArchiveFacts {
  const { url, expect } = asked;
  if (asked.unpack === undefined || (expect?.files ?? 1) === 1) return {};
  return {
    archiveProblem: {
      message: `${url} is not unpacked, so it is one file, but the job file expects ${expect?.files ?? 0}`,
      fix:
        asked.unpack === 'none'
          ? 'remove unpack = "none", or expect'
          : 'its name does not say what kind of archive it is: set unpack, like unpack = "tar.gz"',
    },
  };
}

/** Reading a few bytes of an object; the transfer stops once they have arrived. */
async function fetchHead(url: string, bytes: number, options: FetchOptions): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  const enough = new Error('enough');
  const take = (chunk: Buffer): void => {
    pieces.push(Buffer.from(chunk));
    size += chunk.length;
    if (size >= bytes) throw enough;
  };
  const { fetchToStream } = await import('@updraft/pelican/transfer');
  const wrong = new AbortController();
  const ends = [wrong.signal, AbortSignal.timeout(headMs), ...(options.signal ? [options.signal] : [])];
  const signal = AbortSignal.any(ends);
  const onEvent = (event: FetchEvent): void => {
    // A job would ask again, in case that it passes.
    if (event.kind === 'setback' && event.fault.kind === 'data-wrong') wrong.abort(event.fault);
  };
  try {
    await fetchToStream(url, take, { ...options, signal, onEvent, limits });
  } catch (error) {
    if (size < bytes) throw error;
  }
  return Buffer.concat(pieces).subarray(0, bytes);
}

const folderProblem = (url: string): NonNullable<ObjectFact['archiveProblem']> => ({
  message: `${url} is a folder`,
  fix: `name an object in it (\`updraft ls ${url}\`), or pack the folder with \`updraft stage\``,
});
const manifestFix = '`updraft stage` uploads an object with its manifest; or declare sha256 instead';

/** Data on this machine: its size, its first bytes, and within `countMs` the number of its files. */
async function checkLocal(asked: AskedObject, signal: AbortSignal, countMs: number): Promise<ObjectReport> {
  const { label, url, place, declared, isProven, folder, expect } = asked;
  const file = fileURLToPath(url);
  const size = folder?.bytes ?? (await stat(file)).size;
  const servers = [{ host: 'this machine', kind: 'plain' as const, status: 200, bytes: size }];
  const object: ObjectFact = { label, url, place, declared, isProven, servers };
  const said = `${formatSize(size)} on this machine`;
  if (folder !== undefined) {
    const files = counted(expect?.files ?? 0, 'file');
    return { object, looked: { what: label, said: `${files}, ${said}; packed when the run is created` } };
  }
  const read = (range: { end?: number }): AsyncIterable<Buffer> =>
    createReadStream(file, { ...range, signal, highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
  const head = async (bytes: number): Promise<Buffer> =>
    Buffer.concat(await Array.fromAsync(read({ end: bytes - 1 })));
  Object.assign(object, await askArchive(asked, head));
  const mode = unpackMode(asked);
  if (object.archiveProblem !== undefined || mode === undefined || expect?.files === undefined)
    return { object, looked: { what: label, said } };
  const { countArchiveFiles } = await import('@updraft/archive');
  const until = performance.now() + countMs;
  const found = await countArchiveFiles(read({}), { name: file, mode }, () => performance.now() > until);
  if (found === undefined) {
    const why =
      `its files were not counted: that takes more than ${Math.round(countMs / 1000)} s; every ` +
      'job counts them';
    return { object, looked: { what: label, said }, unchecked: { what: label, why } };
  }
  if (found !== expect.files)
    object.archiveProblem = {
      message: `${url} has ${counted(found, 'file')}, but the job file expects ${expect.files}`,
      fix: `set expect = { files = ${found} } if the archive is right, or make it again`,
    };
  return { object, looked: { what: label, said: `${counted(found, 'file')}, ${said}` } };
}
