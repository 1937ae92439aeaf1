import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { encodePath, fileOf, type Namespace } from './namespace.ts';
import { assertInside, etagOf } from './origin-file.ts';

/** Something WebDAV lists. */
interface Resource {
  objectPath: string;
  isFolder: boolean;
  size: number;
  modified: Date;
  etag: string;
}

/** The object or folder itself and, at depth 1, what the folder holds. */
export async function listResources(
  namespace: Namespace,
  objectPath: string,
  depth: 0 | 1,
): Promise<Resource[]> {
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
export function multistatus(resources: Resource[]): string {
  const responses = resources.map(responseXml).join('');
  return `<?xml version="1.0" encoding="UTF-8"?><D:multistatus xmlns:D="DAV:">${responses}</D:multistatus>`;
}

/** Name of an upload that is under way, beside the file it will become. */
export function uploadName(mark: string): string {
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
