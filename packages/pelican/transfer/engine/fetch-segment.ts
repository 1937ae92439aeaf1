import type { Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { abortable } from '@updraft/base';
import { Fault, isFinal } from '../../fault.ts';
import { sendWithToken } from '../../federation/object-request.ts';
import { readErrorText, NoAnswer } from '../../http/no-answer.ts';
import { sendRequest, type HttpResponse } from '../../http/exchange.ts';
import type { BodyEnd } from '../../http/http-connection.ts';
import type { ResponseHead } from '../../http/response.ts';
import {
  checkResponse,
  isRefusal,
  needsDigest,
  needsOrigin,
  versionOf,
  type Accepted,
  Setback,
} from './check-response.ts';
import { deliver, SinkFailure, untilReady, type SegmentContext, type Fetcher } from './fetchers.ts';
import type { Source } from './roster.ts';
import type { Segment } from './segments.ts';

/** Fetches one segment into the sink. Rejects with a Setback, or with whatever ends the transfer. */
export async function fetchSegment(context: SegmentContext, fetcher: Fetcher): Promise<void> {
  const { source, controller, segment } = fetcher;
  const { signal } = controller;
  let answer: Answer | undefined;
  try {
    const before = ownVersion(context, source);
    answer = await askSegment(context, fetcher);
    const { connection, head, url } = answer;
    source.turn.version ??= head.headers.get('server');
    const errorText = isRefusal(head) ? await readErrorText(connection, head, context.clock) : '';
    const { clock, shownUrl, known } = context;
    source.said = isRefusal(head) ? source.said : versionOf(head);
    if (fetcher.helps && isColdAnswer(head)) throw noCopy(source);
    const { tokenSent, isPart } = answer;
    const joins = !context.isProvable && context.segments.done.length > 0;
    const own = { before, joins, tokenSent, isPart };
    const asked = { ...expectationFor(fetcher), ...own, url: shownUrl, errorText, now: clock.now() };
    const origin = needsOrigin(head, asked, known)
      ? await abortable(context.origin.answer(), signal)
      : undefined;
    const hasSameDigest =
      needsDigest(head, asked, known) && (await abortable(context.hasSameDigest(source), signal));
    const accepted = checkResponse(head, { ...asked, origin, hasSameDigest }, context.known);
    await untilReady(context, fetcher, Promise.resolve(context.accepted(accepted, fetcher)));
    segment.promised = accepted.to ?? context.segments.size;
    const body = connection.body(takeInto(context, fetcher, accepted, () => connection.destroy()));
    const end = await abortable(body, signal);
    context.pool.release(url, connection);
    checkEnd(context, fetcher, accepted, end);
  } catch (error) {
    answer?.connection.destroy();
    signal.throwIfAborted();
    throw asSetback(error, source, segment);
  }
}

type Answer = HttpResponse & { tokenSent: boolean; isPart: boolean };

/** What this server said with bytes of it that are here; undefined if a manifest verifies each chunk. */
function ownVersion({ known, segments }: SegmentContext, { server: { host }, said }: Source) {
  if (known.server === host) return known;
  return known.server !== undefined && segments.sentBy(host).length > 0 ? said : undefined;
}

/** Requests the segment; the last one has an open end. */
async function askSegment(context: SegmentContext, fetcher: Fetcher): Promise<Answer> {
  const { segment } = fetcher;
  const last = segment.end === context.segments.size ? '' : String(segment.end - 1);
  const answer = await askRange(context, fetcher, last);
  const size = sizeWithoutBytes(answer.head);
  if (size === undefined || size <= segment.position) return answer;
  await answer.connection.body(() => undefined);
  context.pool.release(answer.url, answer.connection);
  return await askRange(context, fetcher, String(size - 1));
}

/** XRootD 5.5 answers a range without an end with no bytes, but with the size. */
function sizeWithoutBytes({ status, headers }: ResponseHead): number | undefined {
  const size = /^bytes \d+--1\/(\d{1,16})$/.exec(headers.get('content-range') ?? '')?.[1];
  return status === 206 && size !== undefined ? Number(size) : undefined;
}

async function askRange(
  { pool, limits }: SegmentContext,
  { segment, source, controller, helps }: Fetcher,
  last: string,
): Promise<Answer> {
  const headers: Record<string, string> = {};
  // A cache that lacks the object fetches it in one go only if it is not asked for a range.
  const isPart = (segment.position > 0 || last !== '') && !source.noRanges;
  if (isPart) headers['Range'] = `bytes=${segment.position}-${last}`;
  if (helps) headers['Cache-Control'] = 'only-if-cached';
  if (source.server.kind !== 'plain') {
    headers['X-Transfer-Status'] = 'true';
    headers['TE'] = 'trailers';
    // The cache answers 504 just before we would hang up, and keeps fetching.
    headers['X-Pelican-Timeout'] = `${limits.headSeconds - 0.5}s`;
  }
  const headMs = limits.headSeconds * 1000;
  const { url } = source.server;
  let answer: Answer | undefined;
  const send = async (own: Record<string, string>): Promise<Answer> => {
    answer?.connection.destroy();
    const request = { method: 'GET' as const, url, headers: { ...own, ...headers }, headMs };
    const tokenSent = 'Authorization' in own;
    const answered = await sendRequest(pool, { ...request, signal: controller.signal });
    return (answer = { ...answered, tokenSent, isPart });
  };
  return await sendWithToken(source.located, source.server, send, ({ head }) => head.status);
}

/** If they lack the object and may not fetch it, Go caches answer 504, XRootD 500. */
const isColdAnswer = ({ status }: ResponseHead): boolean => status === 504 || status === 500;

const noCopy = ({ server: { host } }: Source): Setback =>
  new Setback('cold', new Fault('object-missing', `${host} has no copy of it yet`));

function expectationFor({ segment, source }: Fetcher) {
  const name = new URL(source.server.url).pathname.split('/').at(-1) ?? '';
  const { server, located, noRanges: maySkip } = source;
  const isFederated = server.kind !== 'plain';
  const { tokenFix } = located;
  return { host: server.host, isFederated, name, offset: segment.position, maySkip, tokenFix };
}

function takeInto(
  context: SegmentContext,
  fetcher: Fetcher,
  { from, to }: Accepted,
  hangUp: () => void,
): (data: Buffer) => void | Promise<void> {
  const { segment } = fetcher;
  let skip = segment.position - from;
  return (data) => {
    const begin = Math.min(skip, data.length);
    skip -= begin;
    if (begin > 0) fetcher.lastByteAt = context.clock.monotonic();
    // Another server took over what follows the segment's end: hanging up is cheaper than reading it.
    const end = () => {
      if (segment.position >= segment.end && (to ?? context.segments.size) !== segment.end) hangUp();
    };
    const rest = data.subarray(begin);
    if (to === undefined && segment.position + rest.length > context.segments.size)
      throw tooLong(context, fetcher);
    const delivered = deliver(context, fetcher, rest);
    if (delivered === undefined) end();
    else return delivered.then(end);
  };
}

/** The answer had no length, so only now it turns out to be another version. */
function tooLong({ segments }: SegmentContext, { source }: Fetcher): Setback {
  const what = `${source.server.host} sends more than the ${segments.size} bytes of the object`;
  return changed(what);
}

const changed = (what: string): Setback => new Setback('changed', new Fault('object-changed', what));

function checkEnd(
  context: SegmentContext,
  { segment, source }: Fetcher,
  accepted: Accepted,
  end: BodyEnd,
): void {
  const { host } = source.server;
  const status = end.trailers.get('x-transfer-status');
  const failed = status !== undefined && !status.startsWith('200');
  if (segment.end === Infinity && !failed) context.segments.setSize(segment.position);
  const isComplete = segment.position >= segment.end;
  // Pelican's caches abandon their own fetch in this way once they have no reader left.
  if (failed && isComplete && /timeout|cancel/i.test(status)) return;
  if (failed && isComplete) withdraw(context, segment, host, status);
  if (failed)
    throw new Setback(
      isComplete ? 'withdrawn' : 'broken',
      new Fault('transfer-failed', `${host}: transfer failed: ${status.slice(0, 200)}`),
    );
  if (segment.position < segment.end) throw cutOff(host, segment, accepted, 'ended the answer');
}

/** All bytes came, yet the server reports a failure: only a digest of the whole object can clear them. */
function withdraw({ sink, segments }: SegmentContext, segment: Segment, host: string, status: string): void {
  const fate = sink.discard();
  const what = `${host} withdraws what it sent: ${status.slice(0, 200)}`;
  if (fate === 'gone') throw new SinkFailure(new Fault('data-corrupt', what));
  if (fate === 'dropped') segments.markWithdrawn(segment);
}

function cutOff(host: string, segment: Segment, { to }: { to: number | undefined }, how: string): Setback {
  const wanted = (to ?? segment.end) - segment.start;
  const got = segment.position - segment.start;
  const what = `${host}: ${how} after ${got} of ${wanted} bytes`;
  return new Setback('broken', new Fault('transfer-failed', what));
}

function asSetback(error: unknown, source: Source, segment: Segment): Error {
  if (error instanceof Setback || error instanceof SinkFailure) return error;
  const { host } = source.server;
  if (error instanceof NoAnswer) return new Setback('broken', noAnswerFault(error));
  if (error instanceof Fault) {
    if (isFinal(error)) return error;
    return new Setback(error.kind === 'token-expired' ? 'expired' : 'broken', error);
  }
  const what = `${host}: ${(error as Error).message} after ${segment.position - segment.start} bytes`;
  return new Setback('broken', new Fault('transfer-failed', what, { cause: error }));
}

function noAnswerFault(error: NoAnswer): Fault {
  const { reason, host: about, message, isConnected } = error;
  const late = reason === 'timeout' ? 'transfer-stalled' : 'transfer-failed';
  const kind = reason === 'downgrade' ? 'data-wrong' : isConnected ? late : 'servers-unreachable';
  const fix = 'if its certificate authority is private, set SSL_CERT_FILE to its PEM file';
  return new Fault(kind, message, { about, cause: error, ...(reason === 'certificate' && { fix }) });
}

const readBytes = 1 << 20;

/** Reads one segment of a `file:` object into the sink, like `fetchSegment`. */
export async function readSegment(context: SegmentContext, fetcher: Fetcher): Promise<void> {
  const path = fileURLToPath(fetcher.source.server.url);
  try {
    await using file = await open(path, 'r');
    await acceptFile(context, fetcher, file, path);
    await copy(context, fetcher, file);
    checkFile(context, path, await file.stat());
  } catch (error) {
    fetcher.controller.signal.throwIfAborted();
    throw error instanceof Setback || error instanceof SinkFailure
      ? error
      : fileSetback(path, error as Error);
  }
}

async function acceptFile(
  context: SegmentContext,
  fetcher: Fetcher,
  file: FileHandle,
  path: string,
): Promise<void> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new Fault('data-wrong', `${path} is not a file`);
  checkFile(context, path, stat);
  const modified = stat.mtimeMs;
  const from = fetcher.segment.position;
  await context.accepted(
    { from, to: stat.size, size: stat.size, etag: undefined, modified, age: 0 },
    fetcher,
  );
}

function checkFile({ known }: SegmentContext, path: string, { size, mtime, mtimeMs }: Stats): void {
  if (known.size !== undefined && known.size !== size)
    throw changed(`${path} has ${size} bytes, expected ${known.size}`);
  if (known.modified !== undefined && known.modified !== mtimeMs)
    throw changed(`${path} was written at ${mtime.toISOString()}`);
}

async function copy(context: SegmentContext, fetcher: Fetcher, file: FileHandle): Promise<void> {
  const { segment } = fetcher;
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  while (segment.position < segment.end) {
    fetcher.controller.signal.throwIfAborted();
    const length = Math.min(readBytes, segment.end - segment.position);
    const { bytesRead } = await file.read(buffer, 0, length, segment.position);
    if (bytesRead === 0) throw new Fault('object-changed', `the file ended at byte ${segment.position}`);
    await deliver(context, fetcher, buffer.subarray(0, bytesRead));
  }
}

function fileSetback(path: string, error: Error): Setback {
  if (error instanceof Fault) return new Setback('broken', error);
  const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const kind = missing ? 'object-missing' : 'transfer-failed';
  const fault = new Fault(kind, `${path}: ${error.message}`, { cause: error });
  return new Setback(missing ? 'missing' : 'broken', fault);
}
