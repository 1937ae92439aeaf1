import { pathToFileURL } from 'node:url';
import { type Clock, defined, systemClock, type Env, given } from '@updraft/base';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { ConnectionPool } from '../http/connections.ts';
import { createRequest, type Request } from '../http/exchange.ts';
import { readTrust } from '../http/trust.ts';
import {
  readCacheChoice,
  readText,
  chooseServers,
  mergedChoice,
  noChoice,
  noServerLeft,
} from './cache-choice.ts';
import {
  createDirector,
  parseNamespaceHeaders,
  type DirectorAnswer,
  type Question,
  type Director,
} from './director.ts';
import {
  createDiscovery,
  isTrustworthy,
  plainHttpRule,
  type Discovery,
  type PlainHttpRule,
} from './discovery.ts';
import type {
  CacheChoice,
  Located,
  LocateOptions,
  Locator,
  ObjectServer,
  Issuance,
  LeftOut,
  Verb,
} from './located.ts';
import { parseObjectUrl, type FileUrl, type PlainUrl, type FederatedUrl } from './object-url.ts';
import {
  createTokens,
  type LoginTokens,
  type TokenContext,
  type TokenUse,
  tokenAdvice,
  type TokenChoice,
  type Tokens,
} from './token.ts';
import { Fault } from '../fault.ts';
import { NoAnswer } from '../http/no-answer.ts';
import { unescapePath } from './escape-path.ts';

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

/** What is needed to find an object in a federation. */
interface FederationParts {
  request: Request;
  plainHttp: PlainHttpRule;
  identity: JobIdentity;
  discovery: Discovery;
  director: Director;
  tokens: Tokens;
  /** The cache preferences of this machine and its user, for all objects. */
  cacheChoice: () => CacheChoice;
}

/** Caches answer 504 a second before this, so that a slow origin is reported instead of hung up on. */
const timeoutHeader = '9.5s';

/** Finds an object of a federation: reads the federation's metadata, then asks its director. */
async function locateFederated(
  parts: FederationParts,
  url: FederatedUrl,
  options: LocateOptions,
): Promise<Located> {
  const { discoveryUrl, directorUrl } = await parts.discovery.discover(
    url.discoveryHost,
    options.signal,
    options.onWait,
  );
  const verb = options.verb ?? 'GET';
  if (verb === 'PUT' && url.pack !== undefined) throw notPacked(url.text);
  const token = defined({ tokenFile: options.tokenFile, credential: url.credential });
  const asked = { url, verb, discoveryUrl, directorUrl };
  const answer =
    directorUrl === undefined
      ? await askOnlyServer(parts, discoveryUrl + url.path, options.signal)
      : await askDirector(parts, { ...asked, directorUrl }, token, options);
  const isOrigin = directorUrl === undefined || verb !== 'GET' || url.direct || options.direct === true;
  const named = usableServers(parts, url, answer, isOrigin);
  const choice = verb === 'GET' ? choiceFor(parts, options, isOrigin) : noChoice;
  const { servers, leftOut } = chooseServers(named, choice, {
    path: url.path,
    requireToken: answer.requireToken,
    isTrustworthy: (server) => isTrustworthy(server, parts.plainHttp),
  });
  if (servers.length === 0 && (isOrigin || choice.only)) throw noServerLeft(url.text, leftOut);
  if (servers.length === 0) return await withoutCaches(parts, url, options, leftOut);
  const use = tokenUse(answer, asked);
  const issuance = issuanceOf(answer, asked);
  return {
    url: url.text,
    servers,
    ...(leftOut.length > 0 && { leftOut }),
    ...(choice.only && { onlyBy: choice.preferred[0]?.by ?? '' }),
    requireToken: answer.requireToken,
    tokenFix: tokenAdvice(use),
    ...defined({ issuance }),
    ...(answer.namespace === undefined ? {} : { namespace: unescapePath(answer.namespace) }),
    ...(answer.collectionsUrl === undefined
      ? {}
      : { collectionsUrl: answer.collectionsUrl.replace(/\/+$/, '') + url.path }),
    headers: async (server, refused) => ({
      ...dataHeaders(parts.identity, verb),
      ...(isNamed(server.url, [...answer.servers, answer.collectionsUrl, ...servers.map((one) => one.url)])
        ? await authorization(parts, { ...use, to: server.url }, answer.requireToken, token, refused)
        : {}),
    }),
  };
}

/** Preferences apply to caches; a request for the origin goes there, unless the origin is to be avoided. */
function choiceFor({ cacheChoice }: FederationParts, options: LocateOptions, isOrigin: boolean): CacheChoice {
  const choice = mergedChoice(options.cacheChoice, cacheChoice());
  return isOrigin ? { ...noChoice, avoided: choice.avoided } : choice;
}

/** All caches are to be avoided: the origin has the object too. */
async function withoutCaches(
  parts: FederationParts,
  url: FederatedUrl,
  options: LocateOptions,
  leftOut: LeftOut[],
): Promise<Located> {
  const direct = await locateFederated(parts, url, { ...options, direct: true }).catch((error: unknown) => {
    options.signal?.throwIfAborted();
    throw error instanceof Fault ? noServerLeft(url.text, leftOut) : error;
  });
  return { ...direct, leftOut: [...leftOut, ...(direct.leftOut ?? [])] };
}

function notPacked(url: string): Fault {
  return new Fault('url-invalid', `${url} has pack= in its query, but files are uploaded unchanged`, {
    about: url,
    fix: 'pack it first and upload the archive without pack=, or pack and upload a data set with `updraft stage`',
  });
}

/**
 * Asks without a token first, since only the answer says whether the namespace needs one, then with it: a director that
 * may query the caches knows better which of them have the object. That second answer is optional, except for "no
 * server has it".
 */
async function askDirector(
  parts: FederationParts,
  asked: Lookup & { directorUrl: string },
  choice: TokenChoice,
  options: LocateOptions,
): Promise<DirectorAnswer> {
  const { url, verb, directorUrl } = asked;
  const question: Question = { directorUrl, verb, path: url.path, query: directorQuery(url, options) };
  const how = { fresh: options.fresh === true, signal: options.signal, onWait: options.onWait };
  const first = await parts.director.ask(question, how);
  if (!first.requireToken) return first;
  try {
    const token = await parts.tokens.find({ ...tokenUse(first, asked), to: directorUrl }, choice);
    return await parts.director.ask({ ...question, token }, how);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof Fault && error.kind !== 'object-missing') return first;
    throw error;
  }
}

/** A federation of one server has no director: the server itself describes the namespace. */
async function askOnlyServer(
  parts: FederationParts,
  url: string,
  signal: AbortSignal | undefined,
): Promise<DirectorAnswer> {
  const headers = { 'User-Agent': parts.identity.userAgent, 'X-Pelican-JobId': parts.identity.jobId };
  try {
    const answer = await parts.request({ method: 'HEAD', url, headers, signal });
    return { servers: [url], ...parseNamespaceHeaders(answer.headers) };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new Fault('servers-unreachable', `the federation's only server gives no answer: ${error.message}`, {
      about: error.host,
      cause: error,
    });
  }
}

function directorQuery(url: FederatedUrl, options: LocateOptions): string {
  if (options.direct !== true || url.direct) return url.directorQuery;
  const kept = url.directorQuery
    .split('&')
    .filter((part) => part !== '' && part.split('=', 1)[0] !== 'prefercached');
  return ['directread', ...kept].join('&');
}

/** Protected objects are read over https only. */
function usableServers(
  parts: FederationParts,
  url: FederatedUrl,
  answer: DirectorAnswer,
  isOrigin: boolean,
): ObjectServer[] {
  const usable = answer.servers.filter(
    (server) => !answer.requireToken || isTrustworthy(server, parts.plainHttp),
  );
  if (usable.length === 0)
    throw new Fault(
      'servers-unreachable',
      `${url.text} needs a token, and all servers named for it speak plain http`,
      { about: url.text, fix: 'ask whoever runs the federation to serve this namespace over https' },
    );
  return usable.map((server) => {
    const { host, origin } = new URL(server);
    const isLister = answer.collectionsUrl !== undefined && new URL(answer.collectionsUrl).origin === origin;
    return { url: server, host, kind: isOrigin || isLister ? 'origin' : 'cache' };
  });
}

interface Lookup {
  url: FederatedUrl;
  verb: Verb;
  discoveryUrl: string;
  directorUrl: string | undefined;
}

function tokenUse(answer: DirectorAnswer, asked: Lookup) {
  const { url, verb, discoveryUrl, directorUrl } = asked;
  const { generation, issuers, namespace, servers } = answer;
  return {
    verb,
    path: unescapePath(url.path),
    namespace: unescapePath(namespace ?? url.path),
    issuers: [...new Set(given(generation !== undefined && generation.issuer, ...issuers))],
    federation: {
      url: discoveryUrl,
      isUsersOwn: url.isUsersOwn,
      servers: directorUrl === undefined ? servers : [directorUrl, ...servers],
    },
    ...defined({ basePath: generation?.basePath, loginUrl: issuanceOf(answer, asked)?.url }),
  } satisfies Omit<TokenUse, 'to'>;
}

/** The issuer that offers logins for the namespace: the director's, unless it issues tokens in another way. */
function issuanceOf({ generation, issuers, namespace }: DirectorAnswer, asked: Lookup): Issuance | undefined {
  const issuer = generation?.issuer ?? issuers[0];
  if (issuer === undefined || namespace === undefined) return undefined;
  const { strategy = 'OAuth2', basePath, maxScopeDepth } = generation ?? {};
  if (strategy.toLowerCase() !== 'oauth2') return undefined;
  const { discoveryUrl: federation, url } = asked;
  const shown = url.isUsersOwn ? `osdf://${namespace}` : `pelican://${url.discoveryHost}${namespace}`;
  const place = { federation, namespace: unescapePath(namespace), url: shown, issuer };
  return { ...place, ...defined({ basePath, maxScopeDepth }) };
}

function dataHeaders({ userAgent, jobId }: JobIdentity, verb: Verb): Record<string, string> {
  const headers = { 'User-Agent': userAgent, 'X-Pelican-JobId': jobId };
  if (verb !== 'GET') return headers;
  return { ...headers, 'X-Pelican-Timeout': timeoutHeader };
}

function isNamed(url: string, named: readonly (string | undefined)[]): boolean {
  const { origin } = new URL(url);
  return named.some((each) => each !== undefined && new URL(each).origin === origin);
}

const isReading = ({ verb }: TokenUse): boolean => verb === 'GET' || verb === 'PROPFIND';

/** Writes carry a token even to public namespaces; there, the origin decides whether it is needed. */
async function authorization(
  parts: FederationParts,
  use: TokenUse,
  requireToken: boolean,
  choice: TokenChoice,
  refused: string | undefined,
): Promise<Record<string, string>> {
  if (!isTrustworthy(use.to, parts.plainHttp) || (!requireToken && isReading(use))) return {};
  try {
    return {
      Authorization: `Bearer ${await parts.tokens.find(use, choice, refused?.slice('Bearer '.length))}`,
    };
  } catch (error) {
    const isNamed = choice.tokenFile !== undefined;
    const isOptional = !requireToken && !isNamed && error instanceof Fault && error.kind === 'token-missing';
    if (isOptional) return {};
    throw error;
  }
}

/** How we identify ourselves to servers, for their accounting. */
interface JobIdentity {
  /** HTCondor's GlobalJobId, or a random one outside of a job. */
  jobId: string;
  userAgent: string;
}

/** Reads the job's id and project from HTCondor's job ad, if there is one. */
function readJobIdentity(env: Env, cwd: string, version: string): JobIdentity {
  const ad = readText(path.resolve(cwd, env['_CONDOR_JOB_AD'] ?? '.job.ad'));
  const project = headerSafe(attribute(ad, 'ProjectName'));
  return {
    jobId: headerSafe(attribute(ad, 'GlobalJobId')) ?? randomUUID(),
    // Directors check the version of every client that calls itself pelican-something.
    userAgent: `updraft/${version}${project === undefined ? '' : ` project/${project}`}`,
  };
}

function attribute(ad: string, name: string): string | undefined {
  return new RegExp(`^\\s*${name}\\s*=\\s*"([^"]*)"`, 'im').exec(ad)?.[1];
}

function headerSafe(value: string | undefined): string | undefined {
  return value?.replace(/[^\x21-\x7e]+/g, '_').slice(0, 200) || undefined;
}
