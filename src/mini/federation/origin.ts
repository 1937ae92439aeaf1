import { answerObject } from './answer-object.ts';
import { answerTrouble } from './answer-trouble.ts';
import { denial } from './authorize.ts';
import { digestOf } from './digest.ts';
import { answerError, answerJson, openExchange, type Exchange, type Ground } from './exchange.ts';
import { findNamespace, type Namespace } from './namespace.ts';
import { openFile } from './origin-file.ts';
import { listResources, multistatus } from './propfind.ts';
import { receiveUpload } from './receive-upload.ts';
import type { StoredObject } from './stored-object.ts';
import { WebServer } from './web-server.ts';

const verbs = 'OPTIONS, GET, HEAD, PUT, PROPFIND';

/** Path of a namespace's issuer at the origin. */
export function issuerPath(prefix: string): string {
  return `/api/v1.0/issuer/ns${prefix}`;
}

/** The server that holds the objects: files of the published folders. */
export function makeOrigin(ground: Ground, tls: { cert: string; key: string }): WebServer {
  const digests = new DigestCache();
  const server: WebServer = new WebServer('origin', tls, async (request, response) => {
    const exchange = openExchange(ground, server, request, response);
    if (exchange === undefined || answerIssuer(exchange)) return;
    if (await answerTrouble(exchange)) return;
    if (exchange.method === 'OPTIONS') {
      response.writeHead(200, { Allow: verbs, DAV: '1', 'Content-Length': 0 }).end();
      return;
    }
    const namespace = findNamespace(ground.namespaces, exchange.path);
    if (namespace === undefined)
      answerError(exchange, 404, 'not_found', `nothing is published at ${exchange.path}`);
    else await answerFile(exchange, namespace, digests);
  });
  return server;
}

async function answerFile(exchange: Exchange, namespace: Namespace, digests: DigestCache): Promise<void> {
  const { method, path: objectPath, token } = exchange;
  if (method === 'PUT') {
    await receiveUpload(exchange, namespace);
    return;
  }
  const reason = denial(namespace, objectPath, 'read', token);
  if (reason !== undefined) {
    answerError(exchange, 401, 'authorization_denied', reason);
    return;
  }
  try {
    if (method === 'PROPFIND') await answerListing(exchange, namespace);
    else if (method === 'GET' || method === 'HEAD') {
      await using object = await openFile(namespace, objectPath);
      await answerObject(exchange, object, (algorithms, open) => digests.of(objectPath, open, algorithms));
    } else answerError(exchange, 405, 'method_not_allowed', `${method} is not supported`);
  } catch (error) {
    answerFileError(exchange, error);
  }
}

function answerFileError(exchange: Exchange, error: unknown): void {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (exchange.response.headersSent) throw error;
  if (code === 'EISDIR') answerError(exchange, 405, 'is_directory', `${exchange.path} is a folder`);
  else if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'].includes(code))
    answerError(exchange, 404, 'not_found', `${exchange.path} does not exist`);
  else if (code === 'EACCES') answerError(exchange, 403, 'authorization_denied', 'the file cannot be read');
  else throw error;
}

async function answerListing(exchange: Exchange, namespace: Namespace): Promise<void> {
  const depth = exchange.request.headers['depth'] ?? '1';
  if (depth !== '0' && depth !== '1') {
    answerError(exchange, 403, 'propfind_finite_depth', 'the depth of a listing is 0 or 1');
    return;
  }
  if (depth === '1' && !namespace.listings) {
    answerError(exchange, 405, 'method_not_allowed', `${namespace.prefix} cannot be listed`);
    return;
  }
  const text = multistatus(await listResources(namespace, exchange.path, depth === '0' ? 0 : 1));
  exchange.response
    .writeHead(207, {
      'Content-Type': 'application/xml; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
    })
    .end(text);
}

/** Issuer metadata and keys, for those who want to check a token by themselves. */
function answerIssuer(exchange: Exchange): boolean {
  for (const { prefix, issuer } of exchange.ground.namespaces) {
    const base = `${issuerPath(prefix)}/.well-known`;
    if (issuer === undefined || !exchange.path.startsWith(`${base}/`)) continue;
    const page = exchange.path.slice(base.length + 1);
    if (page === 'issuer.jwks') answerJson(exchange.response, 200, issuer.jwks);
    else if (page === 'openid-configuration' || page === 'oauth-authorization-server')
      answerJson(exchange.response, 200, issuer.metadata);
    else continue;
    return true;
  }
  return false;
}

/** Digests by object version, so that a big file is read once per algorithm. */
class DigestCache {
  readonly #known = new Map<string, Promise<string>>();

  async of(
    objectPath: string,
    object: StoredObject,
    algorithms: Parameters<typeof digestOf>[1],
  ): Promise<string> {
    const key = [objectPath, object.etag, object.size, ...algorithms].join('\n');
    const known = this.#known.get(key) ?? digestOf(object, algorithms);
    this.#known.set(key, known);
    try {
      return await known;
    } catch (error) {
      this.#known.delete(key);
      throw error;
    }
  }
}
