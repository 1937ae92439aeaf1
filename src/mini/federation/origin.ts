import { randomBytes } from 'node:crypto';
import { type BigIntStats, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { answerIssuer } from './answer-issuer.ts';
import { answerObject, answerTrouble } from './answer-object.ts';
import { answerError, type Exchange, type Ground, openExchange } from './exchange.ts';
import { denial, encodePath, fileOf, findNamespace, type Namespace } from './namespace.ts';
import { digestOf, type StoredObject } from './stored-object.ts';
import { WebServer } from './web-server.ts';

const verbs = 'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND';

/** The server that holds the objects: files of the published folders. */
export function makeOrigin(ground: Ground, tls: { cert: string; key: string }): WebServer {
  const digests = new DigestCache();
  const server: WebServer = new WebServer('origin', tls, async (request, response) => {
    const exchange = openExchange(ground, server, request, response);
    if (exchange === undefined || (await answerIssuer(exchange))) return;
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
  if (method === 'DELETE') {
    await remove(exchange, namespace).catch((error: unknown) => answerFileError(exchange, error));
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

/** TLS hands over pieces of 16 KiB; one write to the disk for each would cost more than all the rest. */
const gatherBytes = 4 << 20;

/**
 * Answers PUT. A new object needs the scope to create, one that exists the scope to modify. The object appears when
 * all its bytes have arrived; an upload that breaks off leaves nothing.
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
  exchange.ground.counters.bytes(exchange.server.name, objectPath, size);
  response.writeHead(201, { ETag: etagOf(await stat(file, { bigint: true })), 'Content-Length': 0 }).end();
}

/** Answers DELETE as Pelican's origin does: what is in a folder goes with it. */
async function remove(exchange: Exchange, namespace: Namespace): Promise<void> {
  const { path: objectPath, token } = exchange;
  const reason = denial(namespace, objectPath, 'modify', token);
  const file = fileOf(namespace, objectPath);
  if (!namespace.writable || file === namespace.folder)
    answerError(exchange, 405, 'method_not_allowed', `${objectPath} cannot be deleted`);
  else if (reason !== undefined) answerError(exchange, 401, 'authorization_denied', reason);
  else {
    await assertInside(namespace, file);
    await rm(file, { recursive: true });
    exchange.response.writeHead(204).end();
  }
}

/** Something WebDAV lists. */
interface Resource {
  objectPath: string;
  isFolder: boolean;
  size: number;
  modified: Date;
  etag: string;
}

/** The object or folder itself and, at depth 1, what the folder holds. */
async function listResources(namespace: Namespace, objectPath: string, depth: 0 | 1): Promise<Resource[]> {
  const file = fileOf(namespace, objectPath);
  await assertInside(namespace, file);
  const own = await describe(file, objectPath);
  if (depth === 0 || !own.isFolder) return [own];
  const names = (await readdir(file)).filter((name) => !isUpload(name)).sort();
  const children = names.map(async (name) => {
    try {
      await assertInside(namespace, path.join(file, name));
      return [await describe(path.join(file, name), `${objectPath}/${name}`)];
    } catch {
      return [];
    }
  });
  return [own, ...(await Promise.all(children)).flat()];
}

/** Body of a 207 answer. */
function multistatus(resources: Resource[]): string {
  const responses = resources.map(responseXml).join('');
  return `<?xml version="1.0" encoding="UTF-8"?><D:multistatus xmlns:D="DAV:">${responses}</D:multistatus>`;
}

/** Name of an upload that is under way, beside the file it will become. */
function uploadName(mark: string): string {
  return `.${mark}.upload`;
}

function isUpload(name: string): boolean {
  return name.startsWith('.') && name.endsWith('.upload');
}

async function describe(file: string, objectPath: string): Promise<Resource> {
  const info = await stat(file, { bigint: true });
  const isFolder = info.isDirectory();
  return { objectPath, isFolder, size: Number(info.size), modified: info.mtime, etag: etagOf(info) };
}

function responseXml({ objectPath, isFolder, size, modified, etag }: Resource): string {
  const href = escape(encodePath(objectPath) + (isFolder ? '/' : ''));
  const name = `<D:displayname>${escape(path.posix.basename(objectPath))}</D:displayname>`;
  const kind = `<D:resourcetype>${isFolder ? '<D:collection/>' : ''}</D:resourcetype>`;
  const date = `<D:getlastmodified>${modified.toUTCString()}</D:getlastmodified>`;
  const data = `<D:getcontentlength>${size}</D:getcontentlength><D:getetag>${escape(etag)}</D:getetag>`;
  const properties = `<D:prop>${name}${kind}${date}${isFolder ? '' : data}</D:prop>`;
  const status = '<D:status>HTTP/1.1 200 OK</D:status>';
  return `<D:response><D:href>${href}</D:href><D:propstat>${properties}${status}</D:propstat></D:response>`;
}

function escape(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}

/** Opens a published file; throws ENOENT for what is not there or lies outside the folder, EISDIR for a folder. */
async function openFile(namespace: Namespace, objectPath: string): Promise<StoredObject> {
  const file = fileOf(namespace, objectPath);
  await assertInside(namespace, file);
  const handle = await open(file, 'r');
  try {
    const info = await handle.stat({ bigint: true });
    if (info.isDirectory()) throw Object.assign(new Error(`${objectPath} is a folder`), { code: 'EISDIR' });
    return {
      size: Number(info.size),
      etag: etagOf(info),
      modified: info.mtime,
      age: undefined,
      read: async (buffer, position) => (await handle.read(buffer, 0, buffer.length, position)).bytesRead,
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function etagOf(info: BigIntStats): string {
  return `"${info.ino.toString(16)}-${info.mtimeNs.toString(16)}-${info.size.toString(16)}"`;
}

/** Links may lead anywhere on the machine; what is published stays within its folder. */
async function assertInside(namespace: Namespace, file: string): Promise<void> {
  const [root, real] = await Promise.all([realpath(namespace.folder), realpath(file)]);
  if (real === root || real.startsWith(root.endsWith(path.sep) ? root : root + path.sep)) return;
  throw Object.assign(new Error(`${file} leads out of the published folder`), { code: 'ENOENT' });
}
