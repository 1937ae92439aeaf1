import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { denial } from './authorize.ts';
import { answerError, type Exchange } from './exchange.ts';
import { fileOf, type Namespace } from './namespace.ts';
import { assertInside, etagOf } from './origin-file.ts';
import { uploadName } from './propfind.ts';

/** TLS hands over pieces of 16 KiB; one write to the disk for each would cost more than all the rest. */
const gatherBytes = 4 << 20;

/**
 * Answers PUT. A new object needs the scope to create, one that exists the scope to modify. The object appears when
 * all its bytes have arrived; an upload that breaks off leaves nothing.
 */
export async function receiveUpload(exchange: Exchange, namespace: Namespace): Promise<void> {
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
