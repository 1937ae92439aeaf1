import { pathToFileURL } from 'node:url';
import { type Clock, defined, systemClock } from '@updraft/base';
import { ConnectionPool } from '../http/connections.ts';
import { createRequest, type Request } from '../http/request.ts';
import { readTrust } from '../http/trust.ts';
import { readCacheChoice } from './cache-sources.ts';
import { createDirector } from './director.ts';
import {
  createDiscovery,
  isTrustworthy,
  plainHttpRule,
  type Discovery,
  type PlainHttpRule,
} from './discovery.ts';
import { locateFederated, readJobIdentity, type FederationParts } from './locate-federated.ts';
import type { CacheChoice, Located, LocateOptions, Locator, ObjectServer } from './located.ts';
import { parseObjectUrl, type FileUrl, type PlainUrl } from './object-url.ts';
import { createTokens, type LoginTokens, type TokenContext, type TokenUse } from './token.ts';

interface LocatorOptions extends Omit<TokenContext, 'loginTokens' | 'clock'> {
  clock?: Clock;
  version: string;
  /** How many milliseconds to keep asking a federation's host that refuses connections; the usual timeout if unset. */
  refusedTimeoutMs?: number;
  /** The tokens of the user's logins, for commands that the user runs. */
  loginTokens?: (wire: { request: Request; plainHttp: PlainHttpRule; userAgent: string }) => LoginTokens;
}

/** A locator that also shares its connections, for small requests about objects. */
export interface FederationLocator extends Locator, Discovery {
  readonly wire: ConnectionPool;
}

/** Finds objects by `osdf:`, `stash:`, `pelican:`, `https:`, `http:` and `file:` URLs. */
export function createLocator(options: LocatorOptions): FederationLocator {
  const { env, cwd, clock = systemClock, refusedTimeoutMs } = options;
  const ca = readTrust(env);
  const wire = new ConnectionPool({ clock, ca });
  const request = createRequest(wire);
  const plainHttp = plainHttpRule(env);
  const identity = readJobIdentity(env, cwd, options.version);
  const headers = { 'User-Agent': identity.userAgent, 'X-Pelican-JobId': identity.jobId };
  let cacheChoice: CacheChoice | undefined;
  const parts: FederationParts = {
    request,
    plainHttp,
    identity,
    discovery: createDiscovery({
      request,
      clock,
      plainHttp,
      userAgent: identity.userAgent,
      refusedTimeoutMs,
    }),
    director: createDirector({ request, clock, headers }),
    tokens: createTokens({
      ...options,
      clock,
      loginTokens: options.loginTokens?.({ request, plainHttp, ...identity }),
    }),
    cacheChoice: () => (cacheChoice ??= readCacheChoice({ env, cwd })),
  };
  return {
    ca,
    wire,
    discover: (host, signal, onWait) => parts.discovery.discover(host, signal, onWait),
    async locate(text, options = {}) {
      const url = parseObjectUrl(text, env);
      if (url.kind === 'federated') return await locateFederated(parts, url, options);
      return url.kind === 'file' ? locateFile(url) : locatePlain(parts, url, options);
    },
  };
}

function locateFile(url: FileUrl): Located {
  const server: ObjectServer = { url: pathToFileURL(url.file).href, host: 'localhost', kind: 'plain' };
  return { url: url.text, servers: [server], requireToken: false, headers: () => Promise.resolve({}) };
}

/** A host outside of any federation gets a token only if the user named the token. */
function locatePlain(parts: FederationParts, url: PlainUrl, options: LocateOptions): Located {
  const { identity, tokens, plainHttp } = parts;
  const choice = defined({ tokenFile: options.tokenFile, credential: url.credential });
  const requireToken = choice.tokenFile !== undefined || choice.credential !== undefined;
  const { host, pathname, origin } = new URL(url.href);
  const server: ObjectServer = { url: url.href, host, kind: 'plain' };
  const verb = options.verb ?? 'GET';
  const use: TokenUse = { verb, path: pathname, namespace: host, issuers: [], to: origin };
  return {
    url: url.text,
    servers: [server],
    requireToken,
    async headers(asked) {
      const headers = { 'User-Agent': identity.userAgent };
      const mayHave = new URL(asked.url).origin === origin && isTrustworthy(asked.url, plainHttp);
      if (!requireToken || !mayHave) return headers;
      return { ...headers, Authorization: `Bearer ${await tokens.find(use, choice)}` };
    },
  };
}
