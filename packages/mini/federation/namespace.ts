import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { tried } from '@updraft/base';
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
