import { createReadStream, type ReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Fault } from '../fault.ts';
import { withBackOff, type Try } from '../federation/back-off.ts';
import { wantOf, type Digests, askDigests } from '../federation/stat-object.ts';
import type { Located, ObjectServer } from '../federation/located.ts';
import {
  afterRefusal,
  requestObject,
  afterSilence,
  sendWithToken,
  type ObjectOptions,
} from '../federation/object-request.ts';
import { firstAnswer, type ConnectionPool } from '../http/connections.ts';
import { NoAnswer } from '../http/no-answer.ts';
import { upload, type ControlAnswer } from '../http/exchange.ts';
import { hasher } from './proof/digest.ts';

export interface PutOptions extends Omit<ObjectOptions, 'direct' | 'fresh'> {
  /** Replace an existing object; without this it is left alone. */
  overwrite?: boolean;
  /** Called with the open file, before anything of it is sent. */
  checkOpened?: ((opened: ReadStream) => Promise<void>) | undefined;
  onProgress?: (sent: number, total: number) => void;
}

export interface Put {
  bytes: number;
  /** How the origin's copy was compared with the file. */
  verified: 'digest' | 'size' | 'none';
  /** `host:port` of the origin that has it now. */
  server: string;
}

interface Upload {
  file: string;
  size: number;
  located: Located;
  options: PutOptions;
}

const timeoutMs = 5 * 60_000;
const sameSecondMs = 1100;

/** Uploads a file as one object: streams it, retries after a failure, then compares the origin's copy. */
export async function putObject(file: string, url: string, options: PutOptions): Promise<Put> {
  const before = await plainFile(file);
  const { size } = before;
  const located = await options.federation.locate(url, { ...options, verb: 'PUT' });
  const server = await originFor(located, options);
  if (server === undefined || server.url.startsWith('file:'))
    throw new Fault('url-invalid', `${located.url} is not a place to upload to`, {
      about: located.url,
      fix: 'copy the file instead',
    });
  const upload = { file, size, located, options };
  const mayReplace = options.overwrite === true;
  const wasAbsent = !mayReplace && (await isAbsent(upload, server));
  const { clock } = options.federation.wire;
  let tries = 0;
  for (let isSecond = false; ; isSecond = true) {
    const digests = await withBackOff({ clock, signal: options.signal }, () =>
      // What an earlier try left behind is not somebody else's object if there was nothing before it.
      tryPut(upload, server, !mayReplace && (tries++ === 0 || !wasAbsent)),
    );
    const { ino, ctimeMs } = await statFile(file);
    // What was sent may begin as one version and end as another, with a digest that fits. Its time may be put back.
    if (ino !== before.ino || ctimeMs !== before.ctimeMs)
      throw new Fault('file-invalid', `${file} was changed while it was being sent`, { about: file });
    try {
      return { bytes: size, verified: await verify(upload, server, digests), server: server.host };
    } catch (error) {
      const isWrong = error instanceof Fault && error.kind === 'data-corrupt';
      if (!isWrong || isSecond || !(mayReplace || wasAbsent)) throw error;
      // XRootD keeps the old digest of an object that was replaced within the same second.
      await clock.sleep(sameSecondMs, options.signal);
    }
  }
}

/** Where to upload to: of several origins the first that answers, so that no two get the object. */
async function originFor(located: Located, options: PutOptions): Promise<ObjectServer | undefined> {
  const { servers } = located;
  const ask = async (server: ObjectServer, how: PutOptions): Promise<ObjectServer | undefined> =>
    (await requestObject(located, { method: 'HEAD', server }, how).catch(() => undefined)) && server;
  return (servers.length > 1 ? await firstAnswer(servers, ask, options) : undefined) ?? servers[0];
}

/** What is known of a file here; throws a Fault if it cannot be read. */
export const statFile = (file: string): Promise<Stats> =>
  stat(file).catch((cause: unknown) => {
    const message = `${file} cannot be read: ${(cause as Error).message}`;
    throw new Fault('file-invalid', message, { about: file, cause });
  });

async function plainFile(file: string): Promise<Stats> {
  const info = await statFile(file);
  if (!info.isFile()) throw new Fault('file-invalid', `${file} is not a plain file`, { about: file });
  return info;
}

/** Whether the origin says that nothing is there yet; throws if something is. */
async function isAbsent({ located, options }: Upload, server: ObjectServer): Promise<boolean> {
  try {
    const { status } = await requestObject(located, { method: 'HEAD', server }, options);
    if (status === 200) throw exists(located.url);
    return status === 404;
  } catch (error) {
    if (error instanceof NoAnswer) return false;
    throw error;
  }
}

async function tryPut(upload: Upload, server: ObjectServer, isGuarded: boolean): Promise<Try<Digests>> {
  const { located, options } = upload;
  try {
    const { answer, digests } = await send(upload, server, isGuarded);
    if (answer.status === 200 || answer.status === 201 || answer.status === 204) return { done: digests };
    if (answer.status === 412) return { failed: exists(located.url), retry: false, timeoutMs };
    return afterRefusal(located, server, answer, { now: options.federation.wire.clock.now(), timeoutMs });
  } catch (error) {
    return afterSilence(located.url, error, timeoutMs);
  }
}

async function send(upload: Upload, server: ObjectServer, isGuarded: boolean): Promise<SentFile> {
  const { size, located, options } = upload;
  const guard = isGuarded ? { 'If-None-Match': '*' } : {};
  const url = `${server.url}${server.url.includes('?') ? '&' : '?'}oss.asize=${size}`;
  const { wire } = options.federation;
  const put = (headers: Record<string, string>): Promise<SentFile> =>
    sendFile({ ...upload, wire, url, headers: { ...headers, ...guard }, ...options });
  return await sendWithToken(located, server, put, ({ answer }) => answer.status);
}

/** XRootD has the first and the last, Pelican's own origin all three; computed while the file is sent. */
const proofs = ['crc32c', 'md5', 'adler32'] as const;

/** Compares the origin's copy with what was sent. If the origin gives no checksum and no size, the result says so. */
async function verify(
  { size, located, options }: Upload,
  server: ObjectServer,
  sent: Digests,
): Promise<Put['verified']> {
  const there = await askDigests(located, server, options, wantOf(proofs));
  for (const name of proofs) {
    const [theirs, ours = ''] = [there[name], sent[name]];
    if (theirs === undefined) continue;
    if (theirs === ours) return 'digest';
    throw new Fault(
      'data-corrupt',
      `${located.url}: ${server.host} has ${name} ${theirs}, the file has ${ours}`,
      { about: located.url, fix: 'upload it again with overwrite' },
    );
  }
  const answer = await requestObject(located, { method: 'HEAD', server }, options).catch(() => undefined);
  const length = answer?.status === 200 ? answer.headers['content-length'] : undefined;
  if (length === undefined) return 'none';
  if (Number(length) === size) return 'size';
  throw new Fault(
    'data-corrupt',
    `${located.url}: ${server.host} has ${length} bytes, the file has ${size}`,
    { about: located.url },
  );
}

function exists(url: string): Fault {
  return new Fault('usage', `${url} exists already`, {
    about: url,
    fix: 'choose another name, or allow overwriting',
  });
}

interface FileToSend extends Pick<PutOptions, 'checkOpened' | 'onProgress' | 'signal'> {
  wire: ConnectionPool;
  file: string;
  size: number;
  url: string;
  headers: Record<string, string>;
}

export interface SentFile {
  answer: ControlAnswer;
  /** Of the bytes as they were sent. */
  digests: Digests;
}

/** How long an origin may take to accept the next bytes, or to answer once it has all of them. */
const stallMs = 100_000;
const maxRedirects = 3;

/** PUTs the first `size` bytes of a file, hashing on the way; stops as soon as the server answers. */
export async function sendFile(request: FileToSend): Promise<SentFile> {
  const { wire, file, size, url, headers, checkOpened, onProgress, signal } = request;
  let digests: Digests = {};
  async function* body(): AsyncIterable<Buffer> {
    const hashers = proofs.map((name) => [name, hasher(name)] as const);
    let sent = 0;
    // Bytes appended to the file meanwhile are beyond the announced length.
    const options = { end: size - 1, highWaterMark: 1 << 20 };
    const opened = size === 0 ? undefined : createReadStream(file, options);
    if (opened !== undefined) await checkOpened?.(opened);
    for await (const chunk of (opened ?? []) as AsyncIterable<Buffer>) {
      for (const [, one] of hashers) one.update(chunk);
      yield chunk;
      sent += chunk.length;
      onProgress?.(sent, size);
    }
    if (sent < size)
      throw new Fault('file-invalid', `${file} became shorter while it was being sent`, { about: file });
    digests = Object.fromEntries(hashers.map(([name, one]) => [name, one.hex()]));
  }
  const answer = await upload(wire, { url, headers, size, body, stallMs, redirects: maxRedirects, signal });
  return { answer, digests };
}
