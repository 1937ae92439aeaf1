import { isUnder } from './path-prefix.ts';

/** What a token is to be used for. */
export interface TokenUse {
  verb: 'GET' | 'PUT';
  /** Object's path as a person reads it. */
  path: string;
  namespace: string;
  /** What scopes are relative to; the namespace unless the issuer says otherwise. */
  basePath?: string;
  /** Who may have signed it; empty when nobody says. */
  issuers: string[];
}

/** The part of a JSON Web Token that can be read without a key. */
export interface TokenClaims {
  issuer?: string;
  scopes: string[];
  /** Milliseconds since the epoch. */
  expires?: number;
  isStorageToken: boolean;
}

/** Reads a token's claims; undefined for one that is not a JSON Web Token. Nothing is verified: servers do that. */
export function readClaims(token: string): TokenClaims | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null
      ? fromJson(claims as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function fromJson(claims: Record<string, unknown>): TokenClaims {
  const { iss, scope, exp, ver } = claims;
  const isSciToken = typeof ver === 'string' && /^scitokens?:2\.0/.test(ver);
  return {
    scopes: typeof scope === 'string' ? scope.split(/\s+/) : [],
    isStorageToken: 'wlcg.ver' in claims || isSciToken,
    ...(typeof iss === 'string' ? { issuer: iss } : {}),
    ...(typeof exp === 'number' ? { expires: exp * 1000 } : {}),
  };
}

/** Whether a token looks made for the use: right profile, an issuer of the namespace, a scope over the path. */
export function fits(claims: TokenClaims, use: TokenUse): boolean {
  const isKnownIssuer =
    use.issuers.length === 0 || use.issuers.some((issuer) => sameIssuer(issuer, claims.issuer));
  return (
    claims.isStorageToken &&
    isKnownIssuer &&
    isUnder(use.path, use.namespace) &&
    claims.scopes.some((scope) => covers(scope, use))
  );
}

const permissions = {
  GET: ['storage.read', 'read'],
  PUT: ['storage.create', 'storage.modify', 'write'],
};

function covers(scope: string, use: TokenUse): boolean {
  const [permission = '', prefix = '/'] = scope.split(/:(.*)/s, 2);
  const base = trimmed(use.basePath ?? use.namespace);
  if (!permissions[use.verb].includes(permission) || !isUnder(use.path, base)) return false;
  return isUnder(use.path.slice(base.length) || '/', trimmed(prefix));
}

function sameIssuer(one: string, other: string | undefined): boolean {
  return other !== undefined && trimmed(one) === trimmed(other);
}

function trimmed(text: string): string {
  return text.replace(/\/+$/, '');
}
