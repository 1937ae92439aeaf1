import net from 'node:net';
import type { Env } from '../base/env.ts';

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
