import { type Clock, defined, type Env, jsonTable, isPrivate, tried, given } from '@updraft/base';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault.ts';
import { isUnder } from './escape-path.ts';
import type { Verb } from './located.ts';
import type { StoredLogin } from './login/login-store.ts';

export interface TokenChoice {
  /** Use only this file. */
  tokenFile?: string;
  /** HTCondor's name of the credential: tried first. */
  credential?: string;
}

export interface Tokens {
  /**
   * The token for a use: of those that may go to its host, the first unexpired one that was named or fits, else the
   * first unexpired. Throws `token-missing` or `token-expired`, which name places, issuers and times but never a token.
   * Files are re-read when they change; a login is renewed if `refused`, which a server refused, is its token.
   */
  find(use: TokenUse, choice: TokenChoice, refused?: string): Promise<string>;
}

export interface TokenContext {
  env: Env;
  cwd: string;
  uid: number;
  clock: Clock;
  loginTokens?: LoginTokens | undefined;
  /** In a job: the federations of its objects that the user had confirmed when it was submitted. */
  confirmed?: readonly string[] | undefined;
}

/** Tokens of logins, used if no other token fits; and what the user confirmed. */
export interface LoginTokens {
  /** Whether the user confirmed by name that tokens which are only found may go to a federation. */
  isConfirmed(federation: string): Promise<boolean>;
  /** The login for a use, renewed if it expires soon or was refused; `why` says why it was not renewed or not used. */
  find(use: TokenUse, refused?: string): Promise<{ login?: StoredLogin; why?: string }>;
}

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
  const { uid, clock, loginTokens, confirmed = [] } = context;
  const files = createTokenFiles();
  return {
    async find(use, choice, refused) {
      const { url = '' } = use.federation ?? {};
      const isTrusted = confirmed.includes(url) || ((await loginTokens?.isConfirmed(url)) ?? false);
      const isPlain = use.federation === undefined;
      const searched: string[] = [];
      const found: Candidate[] = [];
      const consider = (one: Candidate): void => {
        const why = withholdReason(one, use, isTrusted);
        if (why === undefined) found.push(one);
        searched.push(why === undefined ? one.place : `${one.place} (withheld: it ${why})`);
      };
      for (const { name: place, isNamed = false, ...at } of await tokenLocations(context, choice, isPlain)) {
        const read = 'token' in at ? at : await files.read(at, uid);
        if ('token' in read) consider({ place, token: read.token, claims: readClaims(read.token), isNamed });
        else searched.push(`${place} (${read.without})`);
      }
      const mayBeKept = choice.tokenFile === undefined && !isPlain;
      if (mayBeKept && fitting(found, use, clock.now()) === undefined) {
        const { login, why } = (await loginTokens?.find(use, refused)) ?? {};
        if (login !== undefined) consider(fromLogin(login, why));
        else if (why !== undefined) searched.push(why);
      }
      return choose(found, use, clock.now(), searched);
    },
  };
}

/** The user's login, which records its issuer and purpose. */
function fromLogin({ issuer, scopes, accessToken, expires }: StoredLogin, why?: string): Candidate {
  const claims = { issuer, scopes, audience: [], isStorageToken: true, ...defined({ expires }) };
  return { place: `your login at ${issuer}`, token: accessToken, claims, isNamed: false, why };
}

const unexpired = (found: Candidate[], now: number): Candidate[] =>
  found.filter(({ claims }) => (claims?.expires ?? Infinity) > now);

function fitting(found: Candidate[], use: TokenUse, now: number): Candidate | undefined {
  return unexpired(found, now).find(
    ({ isNamed, claims }) => isNamed || (claims !== undefined && fits(claims, use)),
  );
}

function choose(found: Candidate[], use: TokenUse, now: number, searched: string[]): string {
  const chosen = fitting(found, use, now) ?? unexpired(found, now)[0];
  if (chosen !== undefined) return chosen.token;
  throw found[0] === undefined ? missingFault(use, searched) : expiredFault(use, found[0]);
}

/**
 * The one rule about where tokens go, as SECURITY.md has it in a table: why a token must not be sent to the servers
 * that a federation names; undefined if it may. A director can claim any issuer as its own, so being named by it is
 * not enough: the token itself, or the user, has to say that it is for this federation.
 */
function withholdReason(
  { claims, isNamed }: Candidate,
  { federation, issuers }: TokenUse,
  isTrusted: boolean,
): string | undefined {
  if (isNamed || federation === undefined) return undefined;
  if (claims === undefined)
    return isTrusted ? undefined : `does not say who issued it, and ${unconfirmed(federation)}`;
  const { issuer = '', audience } = claims;
  if (!issuers.some((one) => sameIssuer(one, issuer))) return `is from ${issuer || 'an unnamed issuer'}`;
  const meant = [issuer, ...audience].flatMap((text) => originOf(text) ?? []);
  const isMeant = (url: string): boolean => meant.includes(new URL(url).origin);
  if (isMeant(federation.url)) return undefined;
  const isForAll = audience.length === 0 || audience.some((text) => anyAudience.includes(text));
  if (!isForAll && !federation.servers.some(isMeant)) return `is for ${audience.join(', ')}`;
  return isTrusted || federation.isUsersOwn
    ? undefined
    : `does not say for which federation it is, and ${unconfirmed(federation)}`;
}

const unconfirmed = ({ url }: TokenFederation): string =>
  `you have not confirmed the federation: if you trust it, \`updraft login --federation ${new URL(url).host}\``;

/** The audience of WLCG tokens and SciTokens that any server may accept. */
const anyAudience = ['https://wlcg.cern.ch/jwt/v1/any', 'ANY'];

/** Audiences are URLs or bare hosts. */
function originOf(text: string): string | undefined {
  return URL.parse(/^https?:/.test(text) ? text : `https://${text}`)?.origin;
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
  const what = `${use.namespace} asks for a token and none was found; looked at: ${searched.join(', ')}`;
  return new Fault('token-missing', what, { about: use.path, fix: tokenAdvice(use) });
}

/** What to do about a token that is missing, expired or refused. */
export function tokenAdvice(use: Pick<TokenUse, 'verb' | 'issuers' | 'loginUrl'>): string {
  return (
    `${newToken(use)}, save it to a file and name the file: ` +
    '`token_file` in a job file, --token-file on the command line'
  );
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
  /** The user's own federation, `osdf:`: it needs no confirmation for tokens that name their issuer. */
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

/** A place where a token may be: a variable, or a file named by the user, a variable or convention. */
type TokenLocation = { name: string; isNamed?: true } & ({ token: string } | TokenFile);

interface TokenFile {
  file: string;
  /** In a folder where other users can create files too. */
  isShared?: true;
}

/**
 * Where to look, in order: the file the user named; the credential the URL names; `UPDRAFT_BEARER_TOKEN_FILE`, which
 * names the token for all objects of federations; then what is only found: `BEARER_TOKEN`; `BEARER_TOKEN_FILE`;
 * `$XDG_RUNTIME_DIR/bt_u<uid>`; `/tmp/bt_u<uid>`; the file `TOKEN` names; HTCondor's credentials (`scitokens.use`,
 * then all others by name).
 */
export async function tokenLocations(
  context: { env: Env; cwd: string; uid: number },
  choice: { tokenFile?: string; credential?: string },
  onlyNamed = false,
): Promise<TokenLocation[]> {
  const { env, cwd, uid } = context;
  const inCwd = (file: string): string => path.resolve(cwd, file);
  if (choice.tokenFile !== undefined) return [at(inCwd(choice.tokenFile), { isNamed: true })];
  const creds = inCwd(nonEmpty(env['_CONDOR_CREDS']) ?? '.condor_creds');
  const named = namedCredential(creds, choice.credential);
  // Outside of any federation nothing else decides where a token goes.
  if (onlyNamed) return named;
  const runtime = nonEmpty(env['XDG_RUNTIME_DIR']);
  return given(
    ...named,
    ...fromVariable(env, 'UPDRAFT_BEARER_TOKEN_FILE', inCwd, { isNamed: true }),
    ...inVariable(env, 'BEARER_TOKEN'),
    ...fromVariable(env, 'BEARER_TOKEN_FILE', inCwd),
    runtime !== undefined && at(path.join(runtime, `bt_u${uid}`), { isShared: true }),
    at(`/tmp/bt_u${uid}`, { isShared: true }),
    ...fromVariable(env, 'TOKEN', inCwd),
    ...(await allCredentials(creds)),
  );
}

const at = (file: string, more: { isNamed?: true; isShared?: true } = {}): TokenLocation => ({
  file,
  name: file,
  ...more,
});

/** HTCondor stores `name.handle` as `name_handle.use`. */
function namedCredential(creds: string, credential: string | undefined): TokenLocation[] {
  if (credential === undefined) return [];
  const names = new Set([credential, credential.replaceAll('.', '_')]);
  return [...names].map((name) => at(path.join(creds, `${path.basename(name)}.use`), { isNamed: true }));
}

function inVariable(env: Env, name: string): TokenLocation[] {
  const token = tokenIn(env[name] ?? '');
  return token === undefined ? [] : [{ name, token }];
}

function fromVariable(
  env: Env,
  name: string,
  resolve: (file: string) => string,
  more: { isNamed?: true } = {},
): TokenLocation[] {
  const file = nonEmpty(env[name]);
  return file === undefined ? [] : [{ ...at(resolve(file), more), name: `${name} (${resolve(file)})` }];
}

async function allCredentials(creds: string): Promise<TokenLocation[]> {
  const first = 'scitokens.use';
  const entries = await readdir(creds, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name);
  const others = names.filter((name) => name !== first).sort();
  return [first, ...others].map((name) => at(path.join(creds, name)));
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

/** A token, or why a file has none. */
type TokenRead = { token: string } | { without: string };

interface TokenFiles {
  /** The token in a file; re-read only when the file has changed. */
  read(file: TokenFile, uid: number): Promise<TokenRead>;
}

const none = { without: 'no token' };
const foreign = { without: 'not used: other users own it or can write to it' };

export function createTokenFiles(): TokenFiles {
  const known = new Map<string, { version: string; read: TokenRead }>();
  return {
    async read({ file, isShared }, uid) {
      const info = await stat(file).catch(() => undefined);
      if (info?.isFile() !== true || info.size > maxBytes) return none;
      // Neither the file nor a link to it may belong to another user.
      if (isShared === true && !(isPrivate(info, uid) && (await lstat(file)).uid === uid)) return foreign;
      const version = [info.dev, info.ino, info.size, info.mtimeMs, info.ctimeMs].join(' ');
      const before = known.get(file);
      if (before?.version === version) return before.read;
      const token = tokenIn(await readFile(file, 'utf8').catch(() => ''));
      const read = token === undefined ? none : { token };
      known.set(file, { version, read });
      return read;
    },
  };
}

const maxBytes = 1 << 16;

/** Raw text, or JSON with `access_token`. Text that is not valid in a header is not a token. */
function tokenIn(text: string): string | undefined {
  const trimmed = text.trim();
  const token = trimmed.startsWith('{') ? accessToken(trimmed) : trimmed;
  return token !== undefined && /^[\x21-\x7e]+$/.test(token) ? token : undefined;
}

function accessToken(json: string): string | undefined {
  const value = tried(() => JSON.parse(json) as { access_token?: unknown } | null);
  return typeof value?.access_token === 'string' ? value.access_token : undefined;
}
