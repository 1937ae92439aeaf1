import { randomUUID } from 'node:crypto';
import { answerTrouble } from './answer-object.ts';
import { answerJson, type Exchange, type SharedContext, openExchange } from './exchange.ts';
import { decodeClaims } from './issuer.ts';
import { depthBelow, encodePath, findNamespace, type Namespace } from './namespace.ts';
import { WebServer } from './web-server.ts';

/** Base URLs of one server, over https and http. */
export type ServerUrls = Pick<WebServer, 'url' | 'httpUrl'>;

/** Servers the director can name. */
export interface Directory {
  origin: ServerUrls;
  caches: ServerUrls[];
  /** Name public objects by their http addresses. */
  http: boolean;
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const maxServers = 6;

/** Discovery host and director in one: redirects clients to caches and origins. */
export function makeDirector(
  context: SharedContext,
  tls: { cert: string; key: string },
  directory: Directory,
): WebServer {
  const server: WebServer = new WebServer('director', tls, async (request, response) => {
    const exchange = openExchange(context, server, request, response);
    if (exchange === undefined || (await answerTrouble(exchange)) || answerPages(exchange)) return;
    answerRedirect(exchange, directory);
  });
  return server;
}

function answerRedirect(exchange: Exchange, directory: Directory): void {
  const { path, method, query, context } = exchange;
  const fromOrigin = query.has('directread') || (method !== 'GET' && method !== 'HEAD');
  const namespace = findNamespace(context.namespaces, path);
  if (query.has('directread') && query.has('prefercached'))
    fail(
      exchange,
      400,
      'Failed to validate incoming request: directread and prefercached exclude each other',
    );
  else if (tokenHasExpired(exchange)) {
    exchange.response.setHeader('WWW-Authenticate', 'Bearer error="invalid_token"');
    fail(exchange, 401, 'bearer token has expired');
  } else if (namespace === undefined) fail(exchange, 404, `No sources found for the requested path: ${path}`);
  else if (!supports(namespace, exchange.request))
    fail(exchange, 405, 'Discovered sources for the namespace, but none support the request: ' + method);
  else redirect(exchange, directory, namespace, fromOrigin ? [directory.origin] : directory.caches);
}

function redirect(
  exchange: Exchange,
  directory: Directory,
  namespace: Namespace,
  servers: ServerUrls[],
): void {
  const { response, context, path, asked } = exchange;
  const http = directory.http && namespace.public && ['GET', 'HEAD', 'PROPFIND'].includes(exchange.method);
  const urls = servers
    .slice(0, maxServers)
    .map((each) => (http ? each.httpUrl : each.url) + encodePath(path));
  if (context.trouble.pick('nonsense', asked) !== undefined) {
    response
      .writeHead(307, { Link: '<>; rel=; pri=one, <<', Location: 'nowhere:', 'X-Pelican-Namespace': '=' })
      .end();
    return;
  }
  const depth = depthBelow(namespace, path);
  const links = urls.map((url, index) => `<${url}>; rel="duplicate"; pri=${index + 1}; depth=${depth}`);
  response.setHeader('Link', links.join(', '));
  response.setHeader('X-Pelican-Namespace', namespaceHeader(namespace, directory));
  if (namespace.issuer !== undefined) {
    const issuer = `issuer=${namespace.issuer.url}`;
    response.setHeader('X-Pelican-Authorization', issuer);
    const generation = `${issuer}, max-scope-depth=3, strategy=OAuth2, base-path=${namespace.prefix}`;
    response.setHeader('X-Pelican-Token-Generation', generation);
  }
  const id = exchange.request.headers['x-pelican-jobid'];
  response.setHeader('X-Pelican-JobId', typeof id === 'string' && uuid.test(id) ? id : randomUUID());
  const authz =
    exchange.token === undefined ? '' : `?${new URLSearchParams({ authz: exchange.token }).toString()}`;
  response.writeHead(307, { Location: `${urls[0] ?? ''}${authz}`, 'Content-Length': 0 }).end();
}

function namespaceHeader(namespace: Namespace, { origin }: Directory): string {
  const listing = namespace.listings ? `, collections-url=${origin.url}` : '';
  return `namespace=${namespace.prefix}, require-token=${!namespace.public}${listing}`;
}

function supports(namespace: Namespace, { method = '', headers }: Exchange['request']): boolean {
  if (['PUT', 'DELETE'].includes(method)) return namespace.writable;
  // Describing one object needs no more than read access.
  if (method === 'PROPFIND') return namespace.listings || (headers['depth'] ?? '0') === '0';
  return method === 'GET' || method === 'HEAD';
}

/** Expired, or within the margin (ten seconds, or half of a shorter life) in which a transfer would fail. */
function tokenHasExpired({ token, context }: Exchange): boolean {
  const claims = token === undefined ? undefined : decodeClaims(token);
  if (claims === undefined || token === undefined) return false;
  const margin = Math.min(10, claims.iat === undefined ? 10 : (claims.exp - claims.iat) / 2);
  if (claims.exp - margin <= context.clock.now() / 1000) return true;
  return context.namespaces.some(({ issuer }) => issuer?.check(token) === 'token has expired');
}

/** Answers the discovery document and its keys; false for any other path. */
function answerPages(exchange: Exchange): boolean {
  const { path, response, context } = exchange;
  if (path === '/.well-known/pelican-configuration') answerDiscovery(exchange);
  else if (path === '/.well-known/issuer.jwks') answerJson(response, 200, federationKeys(context));
  else return false;
  return true;
}

function answerDiscovery({ response, server }: Exchange): void {
  const document = {
    discovery_endpoint: server.url,
    director_endpoint: server.url,
    director_advertise_endpoints: [server.url],
    namespace_registration_endpoint: server.url,
    broker_endpoint: server.url,
    jwks_uri: `${server.url}/.well-known/issuer.jwks`,
  };
  answerJson(response, 200, document, {
    'Content-Disposition': 'attachment; filename=pelican-configuration.json',
  });
}

function federationKeys({ namespaces }: SharedContext): object {
  return { keys: namespaces.flatMap(({ issuer }) => (issuer === undefined ? [] : issuer.jwks.keys)) };
}

function fail({ response }: Exchange, status: number, message: string): void {
  answerJson(response, status, { status: 'error', msg: `${message}: Request ID: ${randomUUID()}` });
}
