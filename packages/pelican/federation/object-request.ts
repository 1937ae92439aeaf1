import { Fault, type FaultKind } from '../fault.ts';
import { NoAnswer } from '../http/no-answer.ts';
import { createRequest, type ControlAnswer, type ControlRequest } from '../http/exchange.ts';
import { retryAfterMs, withBackOff, type Try } from './back-off.ts';
import type { Located, LocateOptions, ObjectServer } from './located.ts';
import type { FederationLocator } from './locator.ts';

/** What the small requests about objects need. */
export interface ObjectOptions extends Pick<LocateOptions, 'tokenFile' | 'signal' | 'direct' | 'fresh'> {
  federation: FederationLocator;
}

/** What one request needs of them. */
export interface WireOptions extends Pick<ObjectOptions, 'signal'> {
  federation: Pick<FederationLocator, 'wire'>;
}

interface ServerRequest extends Omit<ControlRequest, 'headers' | 'url' | 'signal'> {
  server: ObjectServer;
  url?: string;
  headers?: Record<string, string>;
}

const again = 'wait and run it again';
const maxRedirects = 5;
const timeoutMs = 15_000;
/** A refused connection seldom recovers while the caller waits. */
const refusedTimeoutMs = 3_000;

/** Sends one small request about an object to one server, with the headers it needs. */
export async function requestObject(
  located: Located,
  request: ServerRequest,
  options: WireOptions,
): Promise<ControlAnswer> {
  const { server, url = server.url, headers = {}, ...rest } = request;
  const { signal } = options;
  const ask = createRequest(options.federation.wire);
  const send = (ours: Record<string, string>): Promise<ControlAnswer> =>
    ask({ redirects: maxRedirects, ...rest, url, headers: { ...ours, ...headers }, signal });
  return await sendWithToken(located, { ...server, url }, send, ({ status }) => status);
}

/** Sends a request, and once more if the server refuses its token and there is a newer one by then. */
export async function sendWithToken<A>(
  located: Located,
  server: ObjectServer,
  send: (headers: Record<string, string>) => Promise<A>,
  statusOf: (answer: A) => number,
): Promise<A> {
  const headers = await located.headers(server);
  const answer = await send(headers);
  const { Authorization: refused } = headers;
  if (refused === undefined || ![401, 403].includes(statusOf(answer))) return answer;
  const again = await located.headers(server, refused).catch(() => headers);
  return again['Authorization'] === refused ? answer : await send(again);
}

/**
 * Retries for a short while until the server gives a usable answer; returns refusals as answers, throws a Fault for no
 * answer and for one that is not usable again and again.
 */
export async function requestWithRetries(
  located: Located,
  { isUsable, ...request }: ServerRequest & { isUsable: (answer: ControlAnswer) => boolean },
  options: ObjectOptions,
): Promise<ControlAnswer> {
  const { clock } = options.federation.wire;
  return await withBackOff({ clock, signal: options.signal }, async (): Promise<Try<ControlAnswer>> => {
    try {
      const answer = await requestObject(located, request, options);
      if (!isUsable(answer))
        return { failed: cutOff(located.url, request.server.host), retry: true, timeoutMs: refusedTimeoutMs };
      if (!mayPass(answer.status)) return { done: answer };
      return afterRefusal(located, request.server, answer, { now: clock.now(), timeoutMs });
    } catch (error) {
      const isRefused = error instanceof NoAnswer && error.reason === 'refused';
      return afterSilence(located.url, error, isRefused ? refusedTimeoutMs : timeoutMs);
    }
  });
}

/** Whether to retry after a refusal. */
export function afterRefusal(
  { url: object, tokenFix }: Located,
  { host }: ObjectServer,
  { status, headers, body }: ControlAnswer,
  { now, timeoutMs }: { now: number; timeoutMs: number },
): Try<never> {
  const afterMs = retryAfterMs(headers['retry-after'], now);
  const retryAfterSeconds = afterMs === undefined ? undefined : Math.ceil(afterMs / 1000);
  const failed = statusFault(status, { object, host, tokenFix, retryAfterSeconds, headers, body });
  return { failed, retry: mayPass(status), timeoutMs, afterMs };
}

/** Whether to retry after no answer; rethrows any other error. */
export function afterSilence(object: string, error: unknown, timeoutMs: number): Try<never> {
  if (!(error instanceof NoAnswer)) throw error;
  return { failed: noAnswerFault(object, error), retry: error.mayPass, timeoutMs };
}

const cutOff = (about: string, host: string): Fault =>
  new Fault('data-wrong', `${about}: ${host} does not answer with a whole listing`, { about, fix: again });

/** A server that does not answer, as a Fault about the object. */
export const noAnswerFault = (object: string, error: NoAnswer): Fault =>
  new Fault('servers-unreachable', `${object}: ${error.message}`, { about: object, cause: error });

interface StatusContext extends Partial<Pick<ControlAnswer, 'headers' | 'body'>> {
  /** The object, as the user named it. */
  object: string;
  /** `host:port` that answered. */
  host: string;
  retryAfterSeconds?: number | undefined;
  /** The fix if a token is refused. */
  tokenFix?: string | undefined;
}

/** Whether a server that refuses a token says that it has ended, whatever its own date: a new one may be accepted. */
export const tokenFaultKind = (challenge = '', text = ''): 'token-expired' | 'token-refused' =>
  /expired|revoked|invalid_token/i.test(`${challenge} ${text}`) ? 'token-expired' : 'token-refused';

/** The Fault for a server's refusal. */
export function statusFault(
  status: number,
  { object, host, retryAfterSeconds, tokenFix, headers, body = '' }: StatusContext,
): Fault {
  const [meant, what, defaultFix] = meaning(status);
  const isOfToken = meant === 'token-refused';
  const kind = isOfToken ? tokenFaultKind(headers?.['www-authenticate'], body) : meant;
  const fix = isOfToken ? (tokenFix ?? defaultFix) : defaultFix;
  return new Fault(kind, `${object}: ${host} ${what} (status ${status})`, {
    about: object,
    fix,
    retryAfterSeconds,
  });
}

/** Whether a server that gave this status may recover soon. */
function mayPass(status: number): boolean {
  return (
    status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 507)
  );
}

function meaning(status: number): [FaultKind, string, string?] {
  switch (status) {
    case 401:
    case 403:
      return ['token-refused', 'refuses access', 'get a token for this path and this action'];
    case 404:
    case 410:
      return ['object-missing', 'has no such object', 'check the spelling of the path; list its folder'];
    case 429:
      return ['servers-unreachable', 'is overloaded', again];
    case 504:
      return [
        'transfer-stalled',
        'is still waiting for the origin',
        'wait and run it again: the cache keeps fetching',
      ];
    case 507:
      return ['disk-full', 'has no room left', 'ask whoever runs the origin for space'];
    default:
      return status >= 500
        ? ['servers-unreachable', 'has an internal error', again]
        : ['transfer-failed', 'rejects the request'];
  }
}

const deletionMs = 30_000;

/** Asks the origin to delete an object or a folder, and returns its `host:port`; throws `object-missing`. */
export async function deleteObject(url: string, options: ObjectOptions): Promise<string> {
  const located = await options.federation.locate(url, { ...options, verb: 'DELETE' });
  const [server] = located.servers;
  if (server?.kind !== 'origin')
    throw new Fault('url-invalid', `${located.url} is not in a federation`, {
      about: located.url,
      fix: 'delete it where it is kept',
    });
  const { clock } = options.federation.wire;
  let tries = 0;
  await withBackOff({ clock, signal: options.signal }, () => tryDelete(located, server, options, ++tries));
  return server.host;
}

async function tryDelete(
  located: Located,
  server: ObjectServer,
  options: ObjectOptions,
  tries: number,
): Promise<Try<true>> {
  try {
    const answer = await requestObject(located, { method: 'DELETE', server }, options);
    const { status } = answer;
    // An earlier try whose answer was lost may have deleted it.
    if ((status >= 200 && status < 300) || (status === 404 && tries > 1)) return { done: true };
    if (status === 405 || status === 501)
      return { failed: notAllowed(located.url, server), retry: false, timeoutMs: deletionMs };
    const next = afterRefusal(located, server, answer, {
      now: options.federation.wire.clock.now(),
      timeoutMs: deletionMs,
    });
    // Pelican's origin sometimes answers 400 to a request that succeeds at the second try.
    return status === 400 && tries === 1 && 'failed' in next ? { ...next, retry: true } : next;
  } catch (error) {
    return afterSilence(located.url, error, deletionMs);
  }
}

function notAllowed(url: string, { host }: ObjectServer): Fault {
  return new Fault('url-invalid', `${url}: ${host} does not allow deletes there`, {
    about: url,
    fix: 'ask whoever runs the origin',
  });
}
