import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';
import { isUnder } from './escape-path.ts';
import { createTokenFiles, tokenPlaces, type TokenPlace } from './token-places.ts';

/** Whose token, where the user says. */
export interface TokenChoice {
  /** Only this file counts. */
  tokenFile?: string;
  /** HTCondor's name of the credential: looked for first. */
  credential?: string;
  /** The named credential or nothing: for hosts that no federation vouches for. */
  onlyNamed?: boolean;
}

export interface Tokens {
  /**
   * The token for a use: the first found that is unexpired and fits, else the first unexpired. Throws
   * `token-missing` or `token-expired`, which name places and times but never a token. Files are read again
   * when they change.
   */
  find(use: TokenUse, choice: TokenChoice): Promise<string>;
}

interface TokenWorld {
  env: Env;
  cwd: string;
  uid: number;
  clock: Clock;
}

interface Candidate {
  place: string;
  token: string;
  claims: TokenClaims | undefined;
}

export function createTokens(world: TokenWorld): Tokens {
  const files = createTokenFiles();
  return {
    async find(use, choice) {
      const places = await tokenPlaces(world, choice);
      const looked: string[] = [];
      const found: Candidate[] = [];
      for (const place of places) {
        const token = 'token' in place ? place.token : await files.read(place.file);
        looked.push(token === undefined ? `${nameOf(place)} (no token)` : nameOf(place));
        if (token !== undefined) found.push({ place: nameOf(place), token, claims: readClaims(token) });
      }
      return choose(found, use, world.clock.now(), looked);
    },
  };
}

function choose(found: Candidate[], use: TokenUse, now: number, looked: string[]): string {
  const current = found.filter(({ claims }) => claims?.expires === undefined || claims.expires > now);
  const fitting = current.find(({ claims }) => claims !== undefined && fits(claims, use));
  const chosen = fitting ?? current[0];
  if (chosen !== undefined) return chosen.token;
  const expired = found[0];
  throw expired === undefined ? missing(use, looked) : tooOld(use, expired);
}

function tooOld(use: TokenUse, { place, claims }: Candidate): Fault {
  const when = new Date(claims?.expires ?? 0).toISOString();
  return new Fault('token-expired', `the token for ${use.namespace} from ${place} expired at ${when}`, {
    about: place,
    fix: `get a new one into ${place}; ${howToGet(use)}`,
  });
}

function missing(use: TokenUse, looked: string[]): Fault {
  const where = looked.length === 0 ? 'nowhere to look' : looked.join(', ');
  return new Fault(
    'token-missing',
    `${use.namespace} asks for a token and none was found; looked at: ${where}`,
    {
      about: use.path,
      fix: howToGet(use),
    },
  );
}

/** What to do about a token that is missing, old or refused. */
export function howToGet(use: TokenUse): string {
  const from = use.issuers[0] === undefined ? '' : ` from ${use.issuers[0]}`;
  const scope = use.verb === 'PUT' ? 'storage.create' : 'storage.read';
  return `get a token with scope ${scope}${from}, put it in a file and name that: \`token_file\` in a job file, BEARER_TOKEN_FILE at the prompt`;
}

function nameOf(place: TokenPlace): string {
  return 'token' in place
    ? place.name
    : place.because === undefined
      ? place.file
      : `${place.because} (${place.file})`;
}

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
function fits(claims: TokenClaims, use: TokenUse): boolean {
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
