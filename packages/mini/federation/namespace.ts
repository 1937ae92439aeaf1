import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { tried } from '@updraft/base';
import { readdir, realpath } from 'node:fs/promises';
import type { Issuer } from './issuer.ts';

/** A folder to publish, and how. */
export interface NamespaceOptions {
  /** Federation path, as in `/demo`. */
  prefix: string;
  folder: string;
  /** Anyone may read; otherwise a token is needed. */
  public: boolean;
  /** Objects may be uploaded, always with a token. */
  writable?: boolean;
  /** Folders may be listed; true by default. */
  listings?: boolean;
}

export interface Namespace extends Required<NamespaceOptions> {
  /** Issues its tokens; undefined if none are ever needed. */
  issuer: Issuer | undefined;
}

/** Path of a namespace's issuer at the origin. */
export const issuerPath = (prefix: string): string => `/api/v1.0/issuer/ns${prefix}`;

/** The namespace that holds this object path: the one with the longest prefix. */
export function findNamespace(namespaces: Namespace[], objectPath: string): Namespace | undefined {
  return namespaces
    .filter(({ prefix }) => objectPath === prefix || objectPath.startsWith(`${prefix}/`))
    .sort((a, b) => b.prefix.length - a.prefix.length)[0];
}

/** Number of path components below the namespace's prefix. */
export const depthBelow = (namespace: Namespace, objectPath: string): number =>
  objectPath.slice(namespace.prefix.length).split('/').filter(Boolean).length;

export const fileOf = (namespace: Namespace, objectPath: string): string =>
  path.join(namespace.folder, ...objectPath.slice(namespace.prefix.length).split('/'));

/** The object path in a URL's path; undefined if malformed or if it climbs out of the folder. */
export function decodePath(urlPath: string): string | undefined {
  const decoded = tried(() => decodeURIComponent(urlPath)) ?? '';
  const parts = decoded.split('/');
  if (!decoded.startsWith('/') || decoded.includes('\0') || parts.includes('..') || parts.includes('.'))
    return undefined;
  return `/${parts.filter(Boolean).join('/')}`;
}

/** An object path as part of a URL, escaped as Pelican's servers do: commas and semicolons are kept. */
export function encodePath(objectPath: string): string {
  const kept = /%(24|26|2B|2C|3A|3B|3D|40)/g;
  return encodeURI(objectPath)
    .replaceAll('?', '%3F')
    .replaceAll('#', '%23')
    .replaceAll(kept, decodeURIComponent);
}

/** Checks and normalises a prefix to publish. */
export function normalisePrefix(prefix: string): string {
  const clean = decodePath(prefix);
  const taken =
    clean === '/' || clean?.startsWith('/api') === true || clean?.startsWith('/.well-known') === true;
  if (clean === undefined || taken)
    throw new Error(`'${prefix}' cannot be a namespace: use a prefix such as /demo`);
  return clean;
}

type Need = 'read' | 'create' | 'modify';

const scopesFor: Record<Need, string[]> = {
  read: ['storage.read', 'read'],
  create: ['storage.create', 'storage.modify', 'write'],
  modify: ['storage.modify', 'write'],
};

/** The token of a request: from its header, or from the query, which Pelican's servers also accept. */
export function bearerToken(request: IncomingMessage, query: URLSearchParams): string | undefined {
  const header = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const asked = query.get('authz') ?? query.get('access_token');
  return header ?? asked?.replace(/^Bearer[ +]/i, '') ?? undefined;
}

/** Why this token (or none) does not permit the request; undefined if it does. */
export function denial(
  namespace: Namespace,
  objectPath: string,
  need: Need,
  token: string | undefined,
): string | undefined {
  if (need === 'read' && namespace.public) return undefined;
  if (namespace.issuer === undefined) return `namespace ${namespace.prefix} does not allow ${need}`;
  if (token === undefined) return 'no token was presented';
  const claims = namespace.issuer.check(token);
  if (typeof claims === 'string') return claims;
  const below = objectPath.slice(namespace.prefix.length) || '/';
  const allowed = claims.scope.split(' ').some((scope) => scopeCovers(scope, scopesFor[need], below));
  return allowed ? undefined : `token has no scope for ${need} of ${below} in ${namespace.prefix}`;
}

function scopeCovers(scope: string, names: string[], below: string): boolean {
  const colon = scope.indexOf(':');
  const [name, root] = colon === -1 ? [scope, '/'] : [scope.slice(0, colon), scope.slice(colon + 1)];
  if (!names.includes(name)) return false;
  const folder = root.endsWith('/') ? root : `${root}/`;
  return below === root || `${below}/`.startsWith(folder);
}

/** One resource of a WebDAV listing. */
export interface ListedResource {
  objectPath: string;
  isFolder: boolean;
  size: number;
  modified: Date;
  /** None where the server has no validators. */
  etag: string | undefined;
}

/** The object or folder itself, and the content of a folder down to this depth. */
export async function listResources(
  namespace: Namespace,
  objectPath: string,
  depth: number,
  describe: (file: string, objectPath: string) => Promise<ListedResource>,
): Promise<ListedResource[]> {
  const file = fileOf(namespace, objectPath);
  await assertInside(namespace, file);
  const own = await describe(file, objectPath);
  if (depth === 0 || !own.isFolder) return [own];
  const names = (await readdir(file)).filter((name) => !isUpload(name)).sort();
  const children = names.map((name) =>
    listResources(namespace, `${objectPath}/${name}`, depth - 1, describe).catch(() => []),
  );
  return [own, ...(await Promise.all(children)).flat()];
}

/** Refuses files outside the published folder, which links may lead to. */
export async function assertInside(namespace: Namespace, file: string): Promise<void> {
  const [root, real] = await Promise.all([realpath(namespace.folder), realpath(file)]);
  if (real === root || real.startsWith(root.endsWith(path.sep) ? root : root + path.sep)) return;
  throw Object.assign(new Error(`${file} leads out of the published folder`), { code: 'ENOENT' });
}

/** Name of a partial upload, beside the file it will become. */
export const uploadName = (mark: string): string => `.${mark}.upload`;

const isUpload = (name: string): boolean => name.startsWith('.') && name.endsWith('.upload');

/** Body of a 207 answer. */
export function multistatus(resources: ListedResource[]): string {
  const responses = resources.map((each) => (each.etag === undefined ? xrootdXml(each) : responseXml(each)));
  return `<?xml version="1.0" encoding="UTF-8"?><D:multistatus xmlns:D="DAV:">${responses.join('')}</D:multistatus>`;
}

function responseXml({ objectPath, isFolder, size, modified, etag = '' }: ListedResource): string {
  const href = escape(encodePath(objectPath) + (isFolder ? '/' : ''));
  const name = `<D:displayname>${escape(path.posix.basename(objectPath))}</D:displayname>`;
  const kind = `<D:resourcetype>${isFolder ? '<D:collection/>' : ''}</D:resourcetype>`;
  const date = `<D:getlastmodified>${modified.toUTCString()}</D:getlastmodified>`;
  const data = `<D:getcontentlength>${size}</D:getcontentlength><D:getetag>${escape(etag)}</D:getetag>`;
  return propstat('', href, `${name}${kind}${date}${isFolder ? '' : data}`);
}

/** As XRootD writes it: its own prefixes, a size for folders too, no trailing slash, no resource type for objects. */
function xrootdXml({ objectPath, isFolder, size, modified }: ListedResource): string {
  const length = `<lp1:getcontentlength>${size}</lp1:getcontentlength>`;
  const date = `<lp1:getlastmodified>${modified.toUTCString()}</lp1:getlastmodified>`;
  const kind = isFolder ? '<lp1:resourcetype><D:collection/></lp1:resourcetype>' : '';
  const flag = `<lp1:iscollection>${isFolder ? 1 : 0}</lp1:iscollection>`;
  return propstat(' xmlns:lp1="DAV:"', escape(encodePath(objectPath)), `${length}${date}${kind}${flag}`);
}

function propstat(names: string, href: string, properties: string): string {
  const status = '<D:status>HTTP/1.1 200 OK</D:status>';
  const found = `<D:propstat><D:prop>${properties}</D:prop>${status}</D:propstat>`;
  return `<D:response${names}><D:href>${href}</D:href>${found}</D:response>`;
}

/** The properties of the first resource of a multistatus. */
export function readProperties(xml: string): Omit<ListedResource, 'objectPath' | 'etag'> & { etag: string } {
  const value = (name: string): string | undefined => new RegExp(`:${name}>([^<]*)<`).exec(xml)?.[1];
  return {
    size: Number(value('getcontentlength') ?? 0),
    modified: new Date(value('getlastmodified') ?? 0),
    etag: (value('getetag') ?? '').replaceAll('&quot;', '"'),
    isFolder: xml.includes('<D:collection/>'),
  };
}

/** The page that XRootD sends for a folder. */
export function listingPage([own, ...children]: ListedResource[]): string {
  const title = escape(own?.objectPath ?? '/');
  const rows = children.map(({ objectPath, size }) => {
    const name = escape(path.posix.basename(objectPath));
    return (
      `<tr><td class="size">${size}</td><td class="name"><a ` +
      `href="${escape(encodePath(objectPath))}">${name}</a></td></tr>\n`
    );
  });
  return `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml">
<head><title>${title}</title></head>
<body>
<h1>Listing of: ${title}</h1>
<table>
${rows.join('')}</table>
</body>
</html>
`;
}

function escape(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}
