import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { abortable } from '@updraft/base';
import type { DigestName } from './digests.ts';
import { answerError, answerJson, type Exchange } from './exchange.ts';
import { changedObject, resizedObject, type StoredObject } from './stored-object.ts';
import type { ActionOf, TroubleAction, Pacer } from './trouble.ts';

type DigestSource = (algorithms: DigestName[], object: StoredObject) => Promise<string | undefined>;

/** Answers GET or HEAD for an existing object: conditions, ranges, digests, trailers and the bytes. */
export async function answerObject(
  exchange: Exchange,
  stored: StoredObject,
  wanted: DigestName[],
  digests: DigestSource,
): Promise<void> {
  const { request, response } = exchange;
  const object = withTrouble(exchange, stored);
  await setObjectHeaders(exchange, object);
  await setDigest(exchange, object, wanted, digests);
  if (matchesEtag(request.headers['if-none-match'], object.etag)) {
    response.writeHead(304).end();
    return;
  }
  const range = chooseRange(exchange, object);
  if (range === 'beyond') {
    answerBeyond(exchange, object);
    return;
  }
  const status = range === undefined ? 200 : 206;
  const sent = range ?? { start: 0, end: object.size };
  if (range !== undefined)
    response.setHeader('Content-Range', `bytes ${range.start}-${range.end - 1}/${object.size}`);
  if (exchange.method === 'HEAD') {
    response.writeHead(status, { 'Content-Length': sent.end - sent.start }).end();
    return;
  }
  await answerBody(exchange, object, status, sent);
}

function answerBeyond(exchange: Exchange, { size }: StoredObject): void {
  const { response, context } = exchange;
  if (context.traits.beyond === 'bare') {
    answerError(exchange, 416, 'range_not_satisfiable', 'the range is beyond the end');
    return;
  }
  response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
}

async function answerBody(
  exchange: Exchange,
  object: StoredObject,
  status: number,
  range: ByteRange,
): Promise<void> {
  const { response } = exchange;
  const trouble = bodyTrouble(exchange, range);
  const framing = chooseFraming(exchange, trouble);
  if (framing === 'length') response.setHeader('Content-Length', range.end - range.start);
  if (framing === 'trailer') response.setHeader('Trailer', 'X-Transfer-Status');
  response.writeHead(status);
  response.flushHeaders();
  let outcome = '200: OK';
  try {
    const whole = await sendBody(exchange, object, range, trouble);
    if (!whole && trouble.cut?.kind !== 'truncate') return;
    if (!whole) outcome = '500: unexpected EOF';
  } catch (error) {
    // Without a trailer, only a cut connection shows the client that the body is incomplete.
    if (framing !== 'trailer' || exchange.signal.aborted) throw error;
    outcome = `500: ${error instanceof Error ? error.message : 'input/output error'}`;
  }
  if (framing === 'length' && outcome !== '200: OK') {
    response.socket?.end();
    return;
  }
  if (framing === 'trailer') response.addTrailers({ 'X-Transfer-Status': outcome });
  response.end();
}

/** Chunks and a trailer for clients that ask for the trailer, a length for the others, unless trouble overrides it. */
function chooseFraming({ request }: Exchange, { cut }: BodyTrouble): 'length' | 'trailer' | 'chunked' {
  if (cut?.kind === 'truncate' && cut.end !== 'auto') return cut.end === 'no-trailer' ? 'chunked' : cut.end;
  const accepts = /\btrailers\b/i.test(String(request.headers['te'] ?? ''));
  return accepts && request.headers['x-transfer-status'] === 'true' ? 'trailer' : 'length';
}

function chooseRange(
  { context, asked, request }: Exchange,
  object: StoredObject,
): ByteRange | 'beyond' | undefined {
  const { validators, beyond } = context.traits;
  const condition = validators === 'none' ? undefined : request.headers['if-range'];
  const stale =
    condition !== undefined && condition !== object.etag && condition !== object.modified.toUTCString();
  const isWhole = stale || (beyond === 'empty-whole' && object.size === 0);
  const range = parseByteRange(isWhole ? undefined : request.headers.range, object.size);
  if (range === undefined || range === 'beyond') return range;
  if (context.trouble.pick('ignore-range', asked) !== undefined) return undefined;
  const by = context.trouble.pick('wrong-offset', asked)?.by ?? 0;
  const start = Math.min(object.size - 1, Math.max(0, range.start + by));
  return by === 0 ? range : { start, end: Math.min(object.size, start + range.end - range.start) };
}

function withTrouble({ context, asked }: Exchange, stored: StoredObject): StoredObject {
  const changed = context.trouble.pick('changed', asked) !== undefined;
  const object = changed ? changedObject(stored) : stored;
  const resize = context.trouble.pick('wrong-size', asked);
  return resize === undefined ? object : resizedObject(object, resize.by);
}

async function setObjectHeaders(
  { response, context, path, method }: Exchange,
  object: StoredObject,
): Promise<void> {
  const { validators, contentType } = context.traits;
  if (object.age !== undefined) response.setHeader('Age', object.age);
  if (validators === 'none' || contentType === 'none') return;
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('ETag', object.etag);
  response.setHeader('Cache-Control', 'public, max-age=3600');
  // Go's caches answer HEAD themselves, with fewer headers than their GET.
  if (contentType === 'sniffed' && object.isCached && method === 'HEAD') return;
  response.setHeader('Last-Modified', object.modified.toUTCString());
  response.setHeader('Content-Type', await contentTypeOf(contentType, path, object));
}

async function contentTypeOf(by: 'octets' | 'sniffed', name: string, object: StoredObject): Promise<string> {
  if (by === 'octets') return 'application/octet-stream';
  const head = Buffer.alloc(Math.min(512, object.size));
  return sniffContentType(name, head.subarray(0, await object.read(head, 0)));
}

async function setDigest(
  exchange: Exchange,
  object: StoredObject,
  wanted: DigestName[],
  digests: DigestSource,
): Promise<void> {
  const { context, asked, response, signal } = exchange;
  if (wanted.length === 0 || context.trouble.pick('digest-missing', asked) !== undefined) return;
  const slow = context.trouble.pick('digest-slow', asked);
  if (slow !== undefined) await context.clock.sleep(slow.ms, signal);
  const value = await digests(wanted, object);
  if (value === undefined) return;
  const mislabelled = context.trouble.pick('digest-mislabelled', asked) !== undefined;
  response.setHeader('Digest', mislabelled ? await mislabel(digests, object) : value);
}

/** An md5 (in hex) labelled crc32c, as some storage systems send it. */
async function mislabel(digests: DigestSource, object: StoredObject): Promise<string> {
  const md5 = (await digests(['md5'], object))?.slice('md5='.length) ?? '';
  return `crc32c=${Buffer.from(md5, 'base64').toString('hex')}`;
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  return (
    header !== undefined &&
    header.split(',').some((each) => ['*', etag].includes(each.trim().replace(/^W\//, '')))
  );
}

const page =
  '<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n';

/** Applies the troubles that do not depend on the object; true when the request is answered. */
export async function answerTrouble(exchange: Exchange): Promise<boolean> {
  const { context, server, asked, response, signal } = exchange;
  const { trouble } = context;
  const delay = trouble.pick('delay', asked);
  if (delay !== undefined) await context.clock.sleep(delay.ms, signal);
  const status = trouble.pick('status', asked);
  if (status !== undefined) {
    answerStatus(exchange, status);
    return true;
  }
  if (trouble.pick('html', asked) !== undefined) {
    answerPage(exchange);
    return true;
  }
  if (server.name === 'director' || trouble.pick('nonsense', asked) === undefined) return false;
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Range': 'bytes */*', ETag: '' });
  response.end('\0\x01{"nonsense":');
  return true;
}

function answerStatus(exchange: Exchange, action: ActionOf<'status'>): void {
  const { response, server } = exchange;
  if (action.retryAfterSeconds !== undefined) response.setHeader('Retry-After', action.retryAfterSeconds);
  const detail = 'trouble on demand';
  if (action.code === 401) response.setHeader('WWW-Authenticate', 'Bearer error="invalid_token"');
  const body =
    server.name === 'director' ? { status: 'error', msg: detail } : { error: code(action.code), detail };
  answerJson(response, action.code, body);
}

function answerPage({ response, method }: Exchange): void {
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': page.length });
  response.end(method === 'HEAD' ? undefined : page);
}

function code(status: number): string {
  const known: Record<number, string> = {
    404: 'not_found',
    429: 'cache_overloaded',
    504: 'upstream_timeout',
  };
  return known[status] ?? (status === 401 || status === 403 ? 'authorization_denied' : 'internal_error');
}

const html =
  /^[\t\n\f\r ]*<(!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)[ >]/i;

/** As Go's net/http chooses it: by the file extension, else by the first bytes. */
function sniffContentType(name: string, head: Buffer): string {
  if (/\.html?$/i.test(name) || html.test(head.toString('latin1'))) return 'text/html; charset=utf-8';
  if (head[0] === 0x1f && head[1] === 0x8b) return 'application/x-gzip';
  if (head.toString('latin1', 0, 4) === 'PK\x03\x04') return 'application/zip';
  const binary = head.some((byte) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte));
  return binary ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}

/** The trouble for one body; decided before the headers are sent. */
interface BodyTrouble {
  cut: ActionOf<'stall'> | ActionOf<'reset'> | ActionOf<'truncate'> | undefined;
  corrupt: ActionOf<'corrupt'> | undefined;
  expire: ActionOf<'expire-token'> | undefined;
  pacers: Pacer[];
}

const bufferSize = 256 * 1024;

/** Picks the troubles of a body; those beyond this range are not used up. */
function bodyTrouble({ context, asked }: Exchange, range: ByteRange): BodyTrouble {
  const { trouble } = context;
  const reached = (action: TroubleAction & { after: number }): boolean =>
    action.after < range.end - range.start;
  const touches = ({ at, length }: ActionOf<'corrupt'>): boolean =>
    at < range.end && at + length > range.start;
  return {
    cut:
      trouble.pick('stall', asked, reached) ??
      trouble.pick('reset', asked, reached) ??
      trouble.pick('truncate', asked, reached),
    corrupt: trouble.pick('corrupt', asked, touches),
    expire: trouble.pick('expire-token', asked, reached),
    pacers: trouble.pacers(asked),
  };
}

/**
 * Sends this range of the object, reading one buffer ahead. Returns true when all of it was sent; false when trouble
 * cut it and has already ended the connection or left it hanging.
 */
async function sendBody(
  exchange: Exchange,
  object: StoredObject,
  range: ByteRange,
  trouble: BodyTrouble,
): Promise<boolean> {
  const { response, context, server, path, asked } = exchange;
  const limit = trouble.cut === undefined ? range.end : range.start + trouble.cut.after;
  const pieceSize = Math.min(bufferSize, ...trouble.pacers.map((pacer) => pacer.pieceSize));
  let [buffer, spare] = [Buffer.allocUnsafe(pieceSize), Buffer.allocUnsafe(pieceSize)];
  const read = (into: Buffer, at: number): Promise<number> =>
    at >= limit ? Promise.resolve(0) : object.read(into.subarray(0, Math.min(pieceSize, limit - at)), at);
  let reading = read(buffer, range.start);
  for (let position = range.start; position < limit;) {
    const length = await reading;
    if (length === 0) throw new Error('the object ended early');
    reading = read(spare, position + length);
    // A failure is thrown when the next iteration awaits it.
    reading.catch(() => undefined);
    for (const pacer of trouble.pacers) await pacer.pass(length, exchange.signal);
    const piece = buffer.subarray(0, length);
    if (trouble.corrupt !== undefined) corrupt(piece, position, trouble.corrupt);
    await write(response, piece, exchange.signal);
    context.counters.bytes(server.name, path, length);
    context.trouble.sent(asked, length);
    position += length;
    [buffer, spare] = [spare, buffer];
    if (trouble.expire !== undefined && position - range.start >= trouble.expire.after) expireToken(exchange);
  }
  if (trouble.cut === undefined) return true;
  await cutOff(exchange, trouble.cut);
  return false;
}

function corrupt(piece: Buffer, position: number, { at, length }: ActionOf<'corrupt'>): void {
  const from = Math.max(0, at - position);
  const to = Math.min(piece.length, at + length - position);
  for (let index = from; index < to; index += 1) piece[index] = (piece[index] ?? 0) ^ 0xff;
}

function expireToken({ context, token }: Exchange): void {
  if (token === undefined) return;
  for (const { issuer } of context.namespaces) issuer?.expire(token);
}

async function cutOff(
  { response, server, signal }: Exchange,
  cut: Exclude<BodyTrouble['cut'], undefined>,
): Promise<void> {
  if (cut.kind === 'reset') server.reset(response);
  if (cut.kind === 'stall' && !signal.aborted) await once(signal, 'abort');
}

/** Resolves when the bytes have left the buffer, which can then be reused. */
async function write(response: ServerResponse, piece: Buffer, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  response.write(piece, (error) => (error instanceof Error ? reject(error) : resolve(undefined)));
  await abortable(promise, signal);
}

interface ByteRange {
  start: number;
  /** One past the last byte. */
  end: number;
}

/**
 * Parses a Range header: undefined for the complete object (no header, a malformed one, or several ranges, which a
 * server may ignore), `beyond` if it starts past the end.
 */
export function parseByteRange(header: string | undefined, size: number): ByteRange | 'beyond' | undefined {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? 'beyond' : { start: size - length, end: size };
  }
  const start = Number(from);
  const end = to === '' ? size : Math.min(Number(to) + 1, size);
  if (to !== '' && Number(to) < start) return undefined;
  return start >= size ? 'beyond' : { start, end };
}
