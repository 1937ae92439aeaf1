import type { Clock } from '../base/clock.ts';
import { defined } from '../base/defined.ts';
import type { Env } from '../base/env.ts';
import { jsonTable } from '../base/shape.ts';
import { Fault } from '../fault/fault.ts';
import { isUnder } from './escape-path.ts';
import type { Verb } from './located.ts';
import { createTokenFiles, tokenLocations, type TokenLocation } from './token-locations.ts';

export interface TokenChoice {
  /** Use only this file. */
  tokenFile?: string;
  /** HTCondor's name of the credential: tried first. */
  credential?: string;
  /** Use the named credential or none: for hosts outside of any federation. */
  onlyNamed?: boolean;
}

export interface Tokens {
  /**
   * The token for a use: of those that may go to its host, the first unexpired one that fits, else the first unexpired.
   * Throws `token-missing` or `token-expired`, which name places, issuers and times but never a token. Files are re-read
   * when they change.
   */
  find(use: TokenUse, choice: TokenChoice): Promise<string>;
}

export interface TokenContext {
  env: Env;
  cwd: string;
  uid: number;
  clock: Clock;
  loginTokens?: LoginTokens | undefined;
}

/** The parts of a login that matter for using its token. */
interface TokenLogin {
  federation: string;
  issuer: string;
  namespace: string;
  scopes: string[];
  accessToken: string;
  expires?: number;
}

/** Tokens of logins, used if no other token fits. */
export interface LoginTokens {
  /** The login for a use, renewed if it expires soon; `why` says why it was not renewed or not used. */
  find(use: TokenUse): Promise<{ login?: TokenLogin; why?: string }>;
}

/** Whether a login was made for the namespace of a use, in its federation. */
export const isForUse = (login: Omit<TokenLogin, 'accessToken' | 'scopes'>, use: TokenUse): boolean =>
  login.federation === use.federation?.url && login.namespace === use.namespace;

interface Candidate {
  place: string;
  token: string;
  claims: TokenClaims | undefined;
  /** The user chose it for this very object. */
  isNamed: boolean;
  /** Why it was not renewed. */
  why?: string | undefined;
}

export function createTokens(context: TokenContext): Tokens {
  const files = createTokenFiles();
  return {
    async find(use, choice) {
      const places = await tokenLocations(context, choice);
      const searched: string[] = [];
      const found: Candidate[] = [];
      for (const place of places) {
        const read = 'token' in place ? place : await files.read(place, context.uid);
        const name = nameOf(place);
        if ('token' in read)
          found.push({
            place: name,
            token: read.token,
            claims: readClaims(read.token),
            isNamed: place.isNamed === true,
          });
        searched.push('token' in read ? name : `${name} (${read.without})`);
      }
      const mayBeKept = choice.tokenFile === undefined && choice.onlyNamed !== true;
      if (mayBeKept && fitting(found, use, context.clock.now()) === undefined)
        found.push(...(await fromLogin(context, use, searched)));
      return choose(found, use, context.clock.now(), searched);
    },
  };
}

/** The user's login, which records its federation and purpose. */
async function fromLogin(
  { loginTokens }: TokenContext,
  use: TokenUse,
  searched: string[],
): Promise<Candidate[]> {
  const { login, why } = (await loginTokens?.find(use)) ?? {};
  if (login === undefined) {
    if (why !== undefined) searched.push(why);
    return [];
  }
  const { issuer, scopes, accessToken, expires } = login;
  const claims = { issuer, scopes, audience: [], isStorageToken: true, ...defined({ expires }) };
  return [{ place: `your login at ${issuer}`, token: accessToken, claims, isNamed: true, why }];
}

function unexpired(found: Candidate[], use: TokenUse, now: number): Candidate[] {
  return found.filter(
    (one) =>
      refusalReason(one, use) === undefined &&
      (one.claims?.expires === undefined || one.claims.expires > now),
  );
}

function fitting(found: Candidate[], use: TokenUse, now: number): Candidate | undefined {
  return unexpired(found, use, now).find(({ claims }) => claims !== undefined && fits(claims, use));
}

function choose(found: Candidate[], use: TokenUse, now: number, searched: string[]): string {
  const chosen = fitting(found, use, now) ?? unexpired(found, use, now)[0];
  if (chosen !== undefined) return chosen.token;
  const expired = found.find((one) => refusalReason(one, use) === undefined);
  if (expired !== undefined) throw expiredFault(use, expired);
  throw found.length === 0 ? missingFault(use, searched) : unusableFault(use, found);
}

/**
 * Why a token must not go to a host; undefined if it may. A director can claim any issuer as its own, so being named by
 * it is not enough: something outside of the federation's own claims has to tie the token to it.
 */
function refusalReason({ claims, isNamed }: Candidate, use: TokenUse): string | undefined {
  const { federation, issuers } = use;
  if (claims === undefined) return isNamed ? undefined : 'does not say who issued it';
  if (federation === undefined) return undefined;
  const isOfNamespace = issuers.some((issuer) => sameIssuer(issuer, claims.issuer));
  if (!isOfNamespace && !(isNamed && issuers.length === 0))
    return `is from ${claims.issuer ?? 'an unnamed issuer'}`;
  return isNamed || isTied(claims, use.to, federation)
    ? undefined
    : `does not name ${new URL(federation.url).host}, and that host is not its issuer`;
}

/** Whether a token is meant for a host, or for the federation that names the host. */
function isTied({ issuer = '', audience }: TokenClaims, to: string, federation: TokenFederation): boolean {
  const meant = [issuer, ...audience].flatMap((text) => originOf(text) ?? []);
  const isMeant = (url: string): boolean => meant.includes(new URL(url).origin);
  if (isMeant(to) || isMeant(federation.url)) return true;
  const isForAll = audience.length === 0 || audience.some((text) => anyAudience.includes(text));
  return federation.isUsersOwn && (isForAll || federation.servers.some(isMeant));
}

/** The audience of WLCG tokens and SciTokens that any server may accept. */
const anyAudience = ['https://wlcg.cern.ch/jwt/v1/any', 'ANY'];

/** Audiences are URLs or bare hosts. */
function originOf(text: string): string | undefined {
  return URL.parse(/^https?:/.test(text) ? text : `https://${text}`)?.origin;
}

function unusableFault(use: TokenUse, found: Candidate[]): Fault {
  const why = found.map((one) => `${one.place} ${refusalReason(one, use) ?? ''}`).join('; ');
  const issuers =
    use.issuers.length === 0 ? 'names no issuer' : `takes tokens from ${use.issuers.join(', ')}`;
  return new Fault(
    'token-missing',
    `${use.namespace} asks for a token, and none of yours was sent to ${new URL(use.to).host}: the namespace ${issuers}; ${why}`,
    {
      about: use.path,
      fix: `if you trust this federation with one of them, name its file; else ${tokenAdvice(use)}`,
    },
  );
}

function expiredFault(use: TokenUse, { place, claims, why }: Candidate): Fault {
  const when = new Date(claims?.expires ?? 0).toISOString();
  const ended = why === undefined ? '' : `, and was not renewed: ${why}`;
  const isLogin = place.startsWith('your login');
  return new Fault(
    'token-expired',
    `the token for ${use.namespace} from ${place} expired at ${when}${ended}`,
    { about: place, fix: isLogin ? tokenAdvice(use) : `put a new one into ${place}: ${newToken(use)}` },
  );
}

function missingFault(use: TokenUse, searched: string[]): Fault {
  const where = searched.length === 0 ? 'no place to look' : searched.join(', ');
  return new Fault(
    'token-missing',
    `${use.namespace} asks for a token and none was found; looked at: ${where}`,
    { about: use.path, fix: tokenAdvice(use) },
  );
}

/** What to do about a token that is missing, expired or refused. */
export function tokenAdvice(use: Pick<TokenUse, 'verb' | 'issuers' | 'loginUrl'>): string {
  return `${newToken(use)}, save it to a file and name the file: \`token_file\` in a job file, --token-file on the command line`;
}

function newToken({
  verb,
  issuers: [issuer],
  loginUrl,
}: Pick<TokenUse, 'verb' | 'issuers' | 'loginUrl'>): string {
  const write = verb === 'GET' ? '' : ' --write';
  const login = loginUrl === undefined ? '' : `\`updraft login ${loginUrl}${write}\`, or `;
  const from = issuer === undefined ? '' : ` from ${issuer}`;
  return `${login}get a token with scope ${permissions[verb][0] ?? ''}${from}`;
}

function nameOf(place: TokenLocation): string {
  return 'token' in place
    ? place.name
    : place.because === undefined
      ? place.file
      : `${place.because} (${place.file})`;
}

export interface TokenUse {
  verb: Verb;
  /** The object's path, decoded. */
  path: string;
  namespace: string;
  /** Base of the paths in scopes; the namespace unless the issuer says otherwise. */
  basePath?: string;
  /** Issuers that may have signed it; empty if unknown. */
  issuers: string[];
  /** The namespace as `updraft login` takes it, if its issuer offers logins. */
  loginUrl?: string;
  /** URL at the host that would receive it. */
  to: string;
  /** The federation that names that host; undefined for a host that the user names. */
  federation?: TokenFederation;
}

/** The parts of a federation that decide where tokens may go. */
export interface TokenFederation {
  /** Where it was discovered, on which all trust rests. */
  url: string;
  /** The user's own federation, `osdf:`: tokens for any audience may go there. */
  isUsersOwn: boolean;
  /** Director and servers of the object. */
  servers: string[];
}

/** The part of a JSON Web Token that is readable without a key. */
export interface TokenClaims {
  issuer?: string;
  audience: string[];
  scopes: string[];
  /** Milliseconds since the epoch. */
  expires?: number;
  isStorageToken: boolean;
}

/** Reads a token's claims without verifying them, which servers do; undefined if it is not a JSON Web Token. */
export function readClaims(token: string): TokenClaims | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  const claims = jsonTable(Buffer.from(payload, 'base64url').toString('utf8'));
  return claims && fromJson(claims);
}

function fromJson(claims: Record<string, unknown>): TokenClaims {
  const { iss, aud, scope, exp, ver } = claims;
  const isSciToken = typeof ver === 'string' && /^scitokens?:2\.0/.test(ver);
  return {
    audience: [aud].flat().filter((text) => typeof text === 'string'),
    scopes: typeof scope === 'string' ? scope.split(/\s+/) : [],
    isStorageToken: 'wlcg.ver' in claims || isSciToken,
    ...(typeof iss === 'string' ? { issuer: iss } : {}),
    ...(typeof exp === 'number' ? { expires: exp * 1000 } : {}),
  };
}

/** Whether a token seems made for the use: right profile, and a scope that covers the path. */
function fits(claims: TokenClaims, use: TokenUse): boolean {
  return (
    claims.isStorageToken &&
    isUnder(use.path, use.namespace) &&
    claims.scopes.some((scope) => covers(scope, use))
  );
}

const permissions = {
  GET: ['storage.read', 'read'],
  PROPFIND: ['storage.read', 'read'],
  PUT: ['storage.create', 'storage.modify', 'write'],
  DELETE: ['storage.modify', 'write'],
};

/** Whether a scope permits a use. */
export function covers(
  scope: string,
  use: Pick<TokenUse, 'verb' | 'path' | 'namespace' | 'basePath'>,
): boolean {
  const [permission = '', prefix = '/'] = scope.split(/:(.*)/s, 2);
  const base = trimmed(use.basePath ?? use.namespace);
  if (!permissions[use.verb].includes(permission) || !isUnder(use.path, base)) return false;
  return isUnder(use.path.slice(base.length) || '/', trimmed(prefix));
}

export function sameIssuer(one: string, other: string | undefined): boolean {
  return other !== undefined && trimmed(one) === trimmed(other);
}

function trimmed(text: string): string {
  return text.replace(/\/+$/, '');
}
