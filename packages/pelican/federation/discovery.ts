import net from 'node:net';
import { type Clock, type Env, jsonTable } from '@updraft/base';
import { Fault } from '../fault.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer, Request } from '../http/exchange.ts';
import { Listeners, retryAfterMs, withBackOff, type OnWait, type Try, SharedWork } from './back-off.ts';

/** The parts of a federation that a client needs. */
export interface Federation {
  /** Base URL of the host that was asked, on which all trust rests; never what the document claims. */
  discoveryUrl: string;
  /** Base URL of the director, without a trailing slash; undefined if the host itself serves the objects. */
  directorUrl: string | undefined;
}

export interface Discovery {
  /** Asks `host[:port]` for its federation's metadata; throws `discovery-failed` naming the host. */
  discover(host: string, signal?: AbortSignal, onWait?: OnWait): Promise<Federation>;
}

interface DiscoveryOptions {
  request: Request;
  clock: Clock;
  plainHttp: PlainHttpRule;
  userAgent: string;
  /** How long to keep asking a host that refuses connections. */
  refusedTimeoutMs?: number | undefined;
}

const wellKnown = '/.well-known/pelican-configuration';
/** A document with none of these is not federation metadata. */
const fields = ['director_endpoint', 'discovery_endpoint', 'namespace_registration_endpoint', 'jwks_uri'];
const ttlMs = 30 * 60_000;
/** A failure is remembered just long enough that the files of one job do not each wait for it. */
const failureTtlMs = 10_000;
const timeoutMs = 30_000;

type CachedDiscovery = { until: number } & ({ federation: Federation } | { failure: Fault });

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { clock } = options;
  const remembered = new Map<string, CachedDiscovery>();
  const shared = new SharedWork<Federation>();
  const listeners = new Listeners();

  async function ask(host: string, signal: AbortSignal): Promise<Federation> {
    try {
      const waiting = { clock, signal, onWait: listeners.say(host) };
      const federation = await withBackOff(waiting, () => tryOnce(options, host, signal));
      remembered.set(host, { until: clock.monotonic() + ttlMs, federation });
      return federation;
    } catch (error) {
      if (error instanceof Fault && error.kind === 'discovery-failed')
        remembered.set(host, { until: clock.monotonic() + failureTtlMs, failure: error });
      throw error;
    }
  }

  return {
    async discover(host, signal, onWait) {
      const known = remembered.get(host);
      if (known === undefined || known.until <= clock.monotonic())
        return await listeners.during(
          host,
          onWait,
          shared.run(host, signal, (stop) => ask(host, stop)),
        );
      if ('failure' in known) throw known.failure;
      return known.federation;
    },
  };
}

async function tryOnce(
  options: DiscoveryOptions,
  host: string,
  signal: AbortSignal,
): Promise<Try<Federation>> {
  const discoveryUrl = `${options.plainHttp(host) ? 'http' : 'https'}://${host}`;
  try {
    const headers = { 'User-Agent': options.userAgent, Accept: 'application/json' };
    const url = discoveryUrl + wellKnown;
    const answer = await options.request({ method: 'GET', url, headers, redirects: 3, signal });
    if (answer.status === 200) return { done: readDocument(options, host, discoveryUrl, answer) };
    return refused(options, host, answer);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const limitMs = error.reason === 'refused' ? (options.refusedTimeoutMs ?? timeoutMs) : timeoutMs;
    return { failed: failed(host, error.message, error), retry: error.mayPass, timeoutMs: limitMs };
  }
}

function refused(options: DiscoveryOptions, host: string, answer: ControlAnswer): Try<Federation> {
  const afterMs = retryAfterMs(answer.headers['retry-after'], options.clock.now());
  return {
    failed: failed(host, `it answers ${answer.status} instead of the federation's metadata`),
    retry: answer.status >= 500 || answer.status === 429,
    timeoutMs,
    afterMs,
  };
}

function readDocument(
  options: DiscoveryOptions,
  host: string,
  discoveryUrl: string,
  answer: ControlAnswer,
): Federation {
  const document = jsonTable(answer.body);
  if (document === undefined || !fields.some((field) => field in document))
    throw failed(host, `expected JSON with a director_endpoint, got ${summary(answer)}`);
  const endpoint = document['director_endpoint'] ?? '';
  if (endpoint === '') return { discoveryUrl, directorUrl: undefined };
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  if (url === null || !isTrustworthy(url.href, options.plainHttp))
    throw failed(host, `its director_endpoint is not an https URL: ${JSON.stringify(endpoint)}`);
  return { discoveryUrl, directorUrl: (url.origin + url.pathname).replace(/\/+$/, '') };
}

function summary(answer: ControlAnswer): string {
  const type = answer.headers['content-type'] ?? 'no content type';
  return `${type}, starting ${JSON.stringify(answer.body.slice(0, 40))}`;
}

function failed(host: string, why: string, cause?: unknown): Fault {
  const isUntrusted = cause instanceof NoAnswer && cause.reason === 'certificate';
  const fix = isUntrusted
    ? 'if the federation has its own certificate authority, set SSL_CERT_FILE to its PEM file'
    : `check that https://${host}${wellKnown} opens; for the OSDF write osdf:///PATH`;
  return new Fault('discovery-failed', `no federation was found at ${host}: ${why}`, {
    about: host,
    fix,
    cause,
  });
}

/** Whether a host of a federation may be contacted without TLS. */
export type PlainHttpRule = (host: string) => boolean;

/**
 * Federations use https only. For tests and demonstrations on one machine, `UPDRAFT_FEDERATION_HTTP=1` allows plain
 * http, with tokens, to hosts on the loopback interface and no others.
 */
export const plainHttpRule = (env: Env): PlainHttpRule =>
  env['UPDRAFT_FEDERATION_HTTP'] === '1' ? isLoopback : () => false;

function isLoopback(host: string): boolean {
  const name = new URL(`http://${host}`).hostname;
  if (name === 'localhost' || name === '[::1]') return true;
  return net.isIPv4(name) && name.startsWith('127.');
}

/** Whether this URL may be used as a server of a federation that receives tokens. */
export function isTrustworthy(url: string, plainHttp: PlainHttpRule): boolean {
  const { protocol, host } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && plainHttp(host));
}
