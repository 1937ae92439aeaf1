import net from 'node:net';
import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer, Request } from '../http/request.ts';
import { Listeners, retryAfterMs, withBackOff, type OnWait, type Try } from './back-off.ts';
import { SharedWork } from './shared-work.ts';

/** What a federation is made of, as far as a client cares. */
export interface Federation {
  /** Base URL of the host that was asked, which the federation's trust hangs on; never what the document claims. */
  discoveryUrl: string;
  /** Base URL of the director, without a slash at its end; undefined where the host itself serves the objects. */
  directorUrl: string | undefined;
}

export interface Discovery {
  /** Asks `host[:port]` what its federation is made of; throws `discovery-failed` naming the host. */
  discover(host: string, signal?: AbortSignal, onWait?: OnWait): Promise<Federation>;
}

interface DiscoveryOptions {
  request: Request;
  clock: Clock;
  plainHttp: PlainHttpRule;
  userAgent: string;
  /** How long a host that refuses connections is asked again. */
  refusedTimeoutMs?: number | undefined;
}

const wellKnown = '/.well-known/pelican-configuration';
/** A document with none of these describes something else. */
const fields = ['director_endpoint', 'discovery_endpoint', 'namespace_registration_endpoint', 'jwks_uri'];
const ttlMs = 30 * 60_000;
/** A failure is remembered just long enough that a hundred files of one job do not each wait for it. */
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
      const patience = { clock, signal, onWait: listeners.say(host) };
      const federation = await withBackOff(patience, () => tryOnce(options, host, signal));
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
    const patience = error.reason === 'refused' ? (options.refusedTimeoutMs ?? timeoutMs) : timeoutMs;
    return { failed: failed(host, error.message, error), retry: error.mayPass, timeoutMs: patience };
  }
}

function refused(options: DiscoveryOptions, host: string, answer: ControlAnswer): Try<Federation> {
  const afterMs = retryAfterMs(answer.headers['retry-after'], options.clock.now());
  return {
    failed: failed(host, `it answers ${answer.status} where the description of a federation was expected`),
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
  const document = parseObject(answer.body);
  if (document === undefined || !fields.some((field) => field in document))
    throw failed(host, `expected JSON with a director_endpoint, got ${summary(answer)}`);
  const endpoint = document['director_endpoint'] ?? '';
  if (endpoint === '') return { discoveryUrl, directorUrl: undefined };
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  if (url === null || !isTrustworthy(url.href, options.plainHttp))
    throw failed(host, `its director_endpoint is not an https URL: ${JSON.stringify(endpoint)}`);
  return { discoveryUrl, directorUrl: (url.origin + url.pathname).replace(/\/+$/, '') };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function summary(answer: ControlAnswer): string {
  const type = answer.headers['content-type'] ?? 'no content type';
  return `${type}, starting ${JSON.stringify(answer.body.slice(0, 40))}`;
}

function failed(host: string, why: string, cause?: unknown): Fault {
  const isUntrusted = cause instanceof NoAnswer && cause.reason === 'certificate';
  const fix = isUntrusted
    ? 'if the federation has an authority of its own, set SSL_CERT_FILE to its PEM file'
    : `see if https://${host}${wellKnown} opens; for the OSDF write osdf:///PATH`;
  return new Fault('discovery-failed', `no federation was found at ${host}: ${why}`, {
    about: host,
    fix,
    cause,
  });
}

/** Says whether a host may be spoken to without TLS as a part of a federation. */
export type PlainHttpRule = (host: string) => boolean;

/**
 * Federations are https throughout. For tests and demonstrations on one machine, `UPDRAFT_FEDERATION_HTTP=1` lets
 * hosts on the loopback interface, and no others, be discovered, asked and given tokens over plain http.
 */
export function plainHttpRule(env: Env): PlainHttpRule {
  return env['UPDRAFT_FEDERATION_HTTP'] === '1' ? isLoopback : () => false;
}

function isLoopback(host: string): boolean {
  const name = new URL(`http://${host}`).hostname;
  if (name === 'localhost' || name === '[::1]') return true;
  return net.isIPv4(name) && name.startsWith('127.');
}

/** Whether this URL may be used as a server of a federation that is given tokens. */
export function isTrustworthy(url: string, plainHttp: PlainHttpRule): boolean {
  const { protocol, host } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && plainHttp(host));
}
