import path from 'node:path';
import type { DigestName } from './digests.ts';
import { answerError, answerJson, type Exchange } from './exchange.ts';
import { bodyTrouble, type BodyTrouble, type ByteRange, parseByteRange, sendBody } from './send-body.ts';
import { changedObject, resizedObject, type StoredObject } from './stored-object.ts';
import type { ActionOf } from './trouble-rule.ts';

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
  const { context, server, asked, response, method, signal } = exchange;
  if (method === 'OPTIONS') return false;
  const { trouble } = context;
  const delay = trouble.pick('delay', asked);
  if (delay !== undefined) await context.clock.sleep(delay.ms, signal);
  const status = trouble.pick('status', asked);
  if (status !== undefined) {
    answerStatus(exchange, status);
    return true;
  }
  if (trouble.pick('html', asked) !== undefined) {
    answerPage(exchange, 200);
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
  if (action.proxy) {
    response.setHeader('Server', 'nginx');
    answerPage(exchange, action.code);
    return;
  }
  const detail = 'trouble on demand';
  if (action.code === 401) response.setHeader('WWW-Authenticate', 'Bearer error="invalid_token"');
  const body =
    server.name === 'director' ? { status: 'error', msg: detail } : { error: code(action.code), detail };
  answerJson(response, action.code, body);
}

function answerPage({ response, method }: Exchange, status: number): void {
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': page.length });
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

const byExtension: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.gif': 'image/gif',
  '.htm': 'text/html; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.xml': 'text/xml; charset=utf-8',
};

const html =
  /^[\t\n\f\r ]*<(!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)[ >]/i;

/** As Go's net/http chooses it: by the file extension, else by the first bytes. */
function sniffContentType(name: string, head: Buffer): string {
  const known = byExtension[path.extname(name).toLowerCase()];
  if (known !== undefined) return known;
  if (html.test(head.toString('latin1'))) return 'text/html; charset=utf-8';
  if (head[0] === 0x1f && head[1] === 0x8b) return 'application/x-gzip';
  if (head.toString('latin1', 0, 4) === 'PK\x03\x04') return 'application/zip';
  const binary = head.some((byte) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte));
  return binary ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}
