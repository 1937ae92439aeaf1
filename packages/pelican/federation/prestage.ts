import { Fault } from '../fault.ts';
import { withDeadline } from '../http/connections.ts';
import { sendRequest, type HttpResponse } from '../http/exchange.ts';
import { NoAnswer, noAnswer } from '../http/no-answer.ts';
import { retryAfterMs } from './back-off.ts';
import type { Located, ObjectServer } from './located.ts';
import {
  noAnswerFault,
  requestObject,
  sendWithToken,
  statusFault,
  type ObjectOptions,
} from './object-request.ts';

const apiPath = '/pelican/api/v1.0/prestage';
const probeMs = 6_000;
const headMs = 20_000;
/** A cache writes a line every two seconds; one whose origin stalls repeats the same line. */
const stallMs = 100_000;
/** A cache that has not started by then is busy with other objects. */
const queueMs = 15 * 60_000;

/** Whether a cache can prestage objects, so that their bytes need not come here. */
export async function hasPrestage(
  located: Located,
  server: ObjectServer,
  options: ObjectOptions,
): Promise<boolean> {
  const url = new URL(apiPath, server.url).href;
  try {
    const { status } = await requestObject(
      located,
      { method: 'GET', server, url, headerMs: probeMs },
      options,
    );
    return status === 400;
  } catch (error) {
    if (error instanceof NoAnswer) return false;
    throw error;
  }
}

/** Servers differ in how often they unescape the path: names that this would change are fetched instead. */
export const canPrestage = (path: string): boolean => !/[%+]/.test(path);

export interface PrestageEvents {
  offset(bytes: number): void;
  /** Called when the cache has queued it, with the time until which we wait (milliseconds since the epoch). */
  queued(until: number): void;
}

/** Makes a cache fetch the whole object at `path`; returns when it has it. */
export async function prestage(
  located: Located,
  server: ObjectServer,
  path: string,
  { federation, signal = new AbortController().signal }: ObjectOptions,
  on: PrestageEvents,
): Promise<void> {
  const { wire } = federation;
  const url = new URL(apiPath, server.url);
  url.searchParams.set('path', path);
  const send = async (headers: Record<string, string>): Promise<HttpResponse> => {
    const request = { method: 'GET', url: url.href, headers, headMs, redirects: 0, signal } as const;
    const answer = await sendRequest(wire, request);
    if (answer.head.status !== 200) answer.connection.destroy();
    return answer;
  };
  try {
    const at = { ...server, url: url.href };
    const answer = await sendWithToken(located, at, send, ({ head }) => head.status);
    if (answer.head.status !== 200) throw refusal(located, server, answer, wire.clock.now());
    await follow(located, server, answer, on, { clock: wire.clock, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof NoAnswer ? noAnswerFault(located.url, error) : error;
  }
}

function refusal(located: Located, { host }: ObjectServer, { head }: HttpResponse, now: number): Fault {
  const afterMs = retryAfterMs(head.headers.get('retry-after'), now);
  const retryAfterSeconds = afterMs === undefined ? undefined : Math.ceil(afterMs / 1000);
  return statusFault(head.status, {
    object: located.url,
    host,
    tokenFix: located.tokenFix,
    retryAfterSeconds,
    headers: { 'www-authenticate': head.headers.get('www-authenticate') ?? '' },
  });
}

/** Reads the cache's progress lines up to the last one. */
async function follow(
  { url }: Located,
  { host }: ObjectServer,
  { connection }: HttpResponse,
  on: PrestageEvents,
  { clock, signal }: { clock: ObjectOptions['federation']['wire']['clock']; signal: AbortSignal },
): Promise<void> {
  let [rest, last, offset, moves, until] = ['', '', 0, 0, 0];
  const take = (chunk: Buffer): void => {
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = (lines.pop() ?? '').slice(-4096);
    for (const line of lines) {
      last = line;
      const reached = Number(/^status: active,offset=(\d+)/.exec(line)?.[1] ?? 0);
      const isQueued = line.startsWith('status: queued');
      if (isQueued && until === 0) on.queued((until = clock.now() + queueMs));
      if (reached > offset || (isQueued && clock.now() < until)) moves++;
      if (reached > offset) on.offset((offset = reached));
    }
  };
  const timeoutError = (): NoAnswer => {
    const isQueued = last.startsWith('status: queued') && clock.now() >= until;
    const what = isQueued
      ? `has had it in its queue for ${queueMs / 60_000} minutes`
      : `fetches nothing within ${stallMs / 1000} s`;
    return new NoAnswer('timeout', host, what);
  };
  const body = connection.body(take);
  const ended = async (): Promise<void> => {
    const before = moves;
    try {
      await withDeadline({ clock, signal, ms: stallMs, timeoutError }, () => body);
    } catch (error) {
      if (!(error instanceof NoAnswer) || moves === before) throw error;
      await ended();
    }
  };
  try {
    await ended();
  } catch (error) {
    throw noAnswer(host, error);
  } finally {
    connection.destroy();
  }
  if ((last = connection.redact(rest === '' ? last : rest).slice(0, 300)).startsWith('success')) return;
  const [, status, why = last] = /^failure: (?:(\d{3})[^:]*: )?(.*)/s.exec(last) ?? [];
  const { kind, fix } = statusFault(Number(status ?? 500), { object: url, host });
  throw new Fault(kind, `${url}: ${host} could not fetch it: ${why === '' ? 'it does not say why' : why}`, {
    about: url,
    fix,
  });
}
