import { randomBytes } from 'node:crypto';
import { type BigIntStats, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { answerObject, answerTrouble } from './answer-object.ts';
import type { DigestName } from './digests.ts';
import {
  answerError,
  answerFolder,
  answerListed,
  type Exchange,
  type SharedContext,
  openExchange,
  answerJson,
} from './exchange.ts';
import {
  assertInside,
  listingPage,
  listResources,
  type ListedResource,
  uploadName,
  denial,
  fileOf,
  findNamespace,
  type Namespace,
  issuerPath,
} from './namespace.ts';
import { digestOf, type StoredObject, wantedDigests } from './stored-object.ts';
import { WebServer } from './web-server.ts';
import type { IncomingMessage } from 'node:http';
import type { Issuer } from './issuer.ts';

/** The server that owns the objects: files of the published folders. */
export function makeOrigin(context: SharedContext, tls: { cert: string; key: string }): WebServer {
  const digests = new DigestCache();
  const server: WebServer = new WebServer('origin', tls, async (request, response) => {
    const exchange = openExchange(context, server, request, response);
    if (exchange === undefined || (await answerIssuer(exchange))) return;
    if (await answerTrouble(exchange)) return;
    const namespace = findNamespace(context.namespaces, exchange.path);
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
  if (method === 'DELETE' && (!namespace.writable || objectPath === namespace.prefix)) {
    answerError(exchange, 405, 'method_not_allowed', `${objectPath} cannot be deleted`);
    return;
  }
  const reason = denial(namespace, objectPath, method === 'DELETE' ? 'modify' : 'read', token);
  if (reason !== undefined) {
    answerError(exchange, 401, 'authorization_denied', reason);
    return;
  }
  try {
    if (method === 'PROPFIND') await answerProperties(exchange, namespace);
    else if (method === 'DELETE') await remove(exchange, namespace);
    else if (method === 'GET' || method === 'HEAD') {
      await using object = await openFile(exchange, namespace);
      const wanted = digestsAtOrigin(exchange);
      await answerObject(exchange, object, wanted, async (named, open) => {
        const value = await digests.of(objectPath, open, named);
        return exchange.context.traits.digest === 'head' ? withBase64Crc(value) : value;
      });
    } else answerError(exchange, 405, 'method_not_allowed', `${method} is not supported`);
  } catch (error) {
    await answerFileError(exchange, namespace, error);
  }
}

/** Which digests the origin adds to its answer. */
function digestsAtOrigin({ context, method, request }: Exchange): DigestName[] {
  const header = request.headers['want-digest'];
  const wanted = wantedDigests(header);
  if (context.traits.digest === 'asked') return wanted;
  if (method !== 'HEAD') return [];
  if (context.traits.digest === 'complete')
    return header === undefined ? ['crc32c'] : wanted.filter((each) => each !== 'sha-256');
  return header === undefined ? [] : [wanted[0] ?? 'crc32c'];
}

/** XRootD encodes a crc32c in base64, not in hex. */
function withBase64Crc(value: string): string {
  return value.replace(/crc32c=([\da-f]{8})/, (_, hex: string) => {
    return `crc32c=${Buffer.from(hex, 'hex').toString('base64')}`;
  });
}

async function answerFileError(exchange: Exchange, namespace: Namespace, error: unknown): Promise<void> {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (exchange.response.headersSent) throw error;
  if (code === 'EISDIR') await answerFolder(exchange, () => pageOf(exchange, namespace));
  else if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'].includes(code))
    answerError(exchange, 404, 'not_found', `${exchange.path} does not exist`);
  else if (code === 'EACCES') answerError(exchange, 403, 'authorization_denied', 'the file cannot be read');
  else throw error;
}

async function pageOf(exchange: Exchange, namespace: Namespace): Promise<string> {
  return listingPage(await listResources(namespace, exchange.path, 1, describer(exchange)));
}

async function answerProperties(exchange: Exchange, namespace: Namespace): Promise<void> {
  const asked = exchange.request.headers['depth'] ?? '1';
  const depth = Number(asked);
  if (asked !== '0' && asked !== '1')
    answerError(exchange, 403, 'propfind_finite_depth', 'the depth of a listing must be 0 or 1');
  else if (depth > 0 && !namespace.listings)
    answerError(exchange, 405, 'method_not_allowed', `${namespace.prefix} cannot be listed`);
  else answerListed(exchange, await listResources(namespace, exchange.path, depth, describer(exchange)));
}

/** Answers DELETE as Pelican's origin does: a folder is removed with its content. */
async function remove({ path: objectPath, response }: Exchange, namespace: Namespace): Promise<void> {
  const file = fileOf(namespace, objectPath);
  await assertInside(namespace, file);
  await rm(file, { recursive: true });
  response.writeHead(204).end();
}

/** Digests by object version, to read a big file once per algorithm. */
class DigestCache {
  readonly #known = new Map<string, Promise<string>>();

  async of(
    objectPath: string,
    object: StoredObject,
    algorithms: Parameters<typeof digestOf>[1],
  ): Promise<string> {
    const key = [objectPath, object.etag, object.modified.getTime(), object.size, ...algorithms].join('\n');
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

/** TLS delivers pieces of 16 KiB; writing each to disk would dominate the cost. */
const gatherBytes = 4 << 20;

/**
 * Answers PUT. A new object needs the scope to create, an existing one the scope to modify. The object appears when
 * all its bytes have arrived; an interrupted upload leaves nothing.
 */
async function receiveUpload(exchange: Exchange, namespace: Namespace): Promise<void> {
  const { path: objectPath, request, response, token, signal } = exchange;
  if (!namespace.writable) {
    answerError(exchange, 405, 'method_not_allowed', `${namespace.prefix} cannot be written to`);
    return;
  }
  const file = fileOf(namespace, objectPath);
  const present = await stat(file).catch(() => undefined);
  const reason = denial(namespace, objectPath, present === undefined ? 'create' : 'modify', token);
  if (reason !== undefined) {
    answerError(exchange, 401, 'authorization_denied', reason);
    return;
  }
  if (present?.isDirectory() === true || file === namespace.folder) {
    answerError(exchange, 409, 'conflict', `${objectPath} is a folder`);
    return;
  }
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  await assertInside(namespace, folder);
  const draft = path.join(folder, uploadName(randomBytes(6).toString('hex')));
  try {
    await pipeline(request, createWriteStream(draft, { flags: 'wx', highWaterMark: gatherBytes }), {
      signal,
    });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  const { size } = await stat(file);
  exchange.context.counters.bytes(exchange.server.name, objectPath, size);
  const etag = etagOf(exchange, await stat(file, { bigint: true }), 'PUT');
  response.writeHead(201, { ...(etag !== undefined && { ETag: etag }), 'Content-Length': 0 }).end();
}

/** Opens a published file; throws ENOENT if it is missing or outside the folder, EISDIR for a folder. */
async function openFile(exchange: Exchange, namespace: Namespace): Promise<StoredObject> {
  const { path: objectPath, method } = exchange;
  const file = fileOf(namespace, objectPath);
  await assertInside(namespace, file);
  const handle = await open(file, 'r');
  try {
    const info = await handle.stat({ bigint: true });
    if (info.isDirectory()) throw Object.assign(new Error(`${objectPath} is a folder`), { code: 'EISDIR' });
    return {
      size: Number(info.size),
      etag: etagOf(exchange, info, method) ?? '',
      modified: info.mtime,
      age: undefined,
      isCached: false,
      read: async (buffer, position) => (await handle.read(buffer, 0, buffer.length, position)).bytesRead,
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function describer(exchange: Exchange): (file: string, objectPath: string) => Promise<ListedResource> {
  return async (file, objectPath) => {
    const info = await stat(file, { bigint: true });
    const etag = etagOf(exchange, info, 'PROPFIND');
    return { objectPath, isFolder: info.isDirectory(), size: Number(info.size), modified: info.mtime, etag };
  };
}

/** Go's servers make their own ETag for GET and PUT; all other methods have that of their WebDAV library. */
function etagOf({ context }: Exchange, info: BigIntStats, method: string): string | undefined {
  const [modified, size] = [info.mtimeNs.toString(16), info.size.toString(16)];
  if (context.traits.validators === 'none') return undefined;
  const isOther = context.traits.validators === 'get-differs' && method !== 'GET' && method !== 'PUT';
  return isOther ? `"${modified}${size}"` : `"${info.ino.toString(16)}-${modified}-${size}"`;
}

const wellKnown = '/.well-known';

/** Answers requests to a namespace's issuer: metadata, keys, logins. False for any other request. */
async function answerIssuer(exchange: Exchange): Promise<boolean> {
  for (const { prefix, issuer } of exchange.context.namespaces) {
    const base = issuerPath(prefix);
    if (issuer === undefined || !exchange.path.startsWith(`${base}/`)) continue;
    const page = exchange.path.slice(base.length);
    if (
      exchange.method === 'POST'
        ? await answerPost(exchange, issuer, page)
        : answerGet(exchange, issuer, page)
    )
      return true;
  }
  return false;
}

function answerGet({ response, query }: Exchange, issuer: Issuer, page: string): boolean {
  if (page === `${wellKnown}/issuer.jwks`) answerJson(response, 200, issuer.jwks);
  else if (page === `${wellKnown}/openid-configuration` || page === `${wellKnown}/oauth-authorization-server`)
    answerJson(response, 200, issuer.metadata);
  else if (page === '/device') {
    // Approval is left to whoever started the federation: anyone on this machine can read this page.
    const code = (query.get('user_code') ?? 'CODE').replaceAll(/[^\w-]/g, '');
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.end(`To approve this login: updraft mini federation approve ${code}\n`);
  } else return false;
  return true;
}

async function answerPost({ request, response }: Exchange, issuer: Issuer, page: string): Promise<boolean> {
  const { device, url } = issuer;
  const body = await text(request);
  const form = new URLSearchParams(body);
  const client = clientOf(request, form);
  const answer =
    page === '/oidc-cm'
      ? device.register((JSON.parse(body) as { client_name?: unknown }).client_name)
      : page === '/device_authorization'
        ? device.authorize(form, client, `${url}/device`)
        : page === '/token'
          ? device.token(form, client)
          : page === '/revoke'
            ? device.revoke(form, client)
            : undefined;
  if (answer === undefined) return false;
  response.setHeader('Cache-Control', 'no-store');
  answerJson(response, answer.status, answer.body);
  return true;
}

/** Client credentials, from HTTP Basic or the form. */
function clientOf(request: IncomingMessage, form: URLSearchParams): { id: string; secret: string } {
  const basic = /^Basic (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (basic === undefined)
    return { id: form.get('client_id') ?? '', secret: form.get('client_secret') ?? '' };
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(/:(.*)/s, 2);
  return { id: decodeURIComponent(id), secret: decodeURIComponent(secret) };
}
