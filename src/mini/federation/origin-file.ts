import type { BigIntStats } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import path from 'node:path';
import { fileOf, type Namespace } from './namespace.ts';
import type { StoredObject } from './stored-object.ts';

/** Opens a published file; throws ENOENT for what is not there or lies outside the folder, EISDIR for a folder. */
export async function openFile(namespace: Namespace, objectPath: string): Promise<StoredObject> {
  const file = fileOf(namespace, objectPath);
  await assertInside(namespace, file);
  const handle = await open(file, 'r');
  try {
    const info = await handle.stat({ bigint: true });
    if (info.isDirectory()) throw Object.assign(new Error(`${objectPath} is a folder`), { code: 'EISDIR' });
    return {
      ...{ size: Number(info.size), etag: etagOf(info), modified: info.mtime, age: undefined },
      read: async (buffer, position) => (await handle.read(buffer, 0, buffer.length, position)).bytesRead,
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export function etagOf(info: BigIntStats): string {
  return `"${info.ino.toString(16)}-${info.mtimeNs.toString(16)}-${info.size.toString(16)}"`;
}

/** Links may lead anywhere on the machine; what is published stays within its folder. */
export async function assertInside(namespace: Namespace, file: string): Promise<void> {
  const [root, real] = await Promise.all([realpath(namespace.folder), realpath(file)]);
  if (real === root || real.startsWith(root.endsWith(path.sep) ? root : root + path.sep)) return;
  throw Object.assign(new Error(`${file} leads out of the published folder`), { code: 'ENOENT' });
}
