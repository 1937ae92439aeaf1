import type { IncomingMessage } from 'node:http';
import type { Namespace } from './namespace.ts';

export type Need = 'read' | 'create' | 'modify';

const scopesFor: Record<Need, string[]> = {
  read: ['storage.read', 'read'],
  create: ['storage.create', 'storage.modify', 'write'],
  modify: ['storage.modify', 'write'],
};

/** The token a request carries: in its header, or in the query as Pelican's servers also accept it. */
export function bearerToken(request: IncomingMessage, query: URLSearchParams): string | undefined {
  const header = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const asked = query.get('authz') ?? query.get('access_token');
  return header ?? asked?.replace(/^Bearer[ +]/i, '') ?? undefined;
}

/** Undefined when this token (or none) allows what is asked; otherwise the reason why not. */
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
