import { defined, tried, type Clock } from '@updraft/base';
import { createRedact } from '@updraft/base/secrets';
import { Fault, type FaultKind, asFault } from '../../fault.ts';
import { NoAnswer } from '../../http/no-answer.ts';
import type { ControlAnswer, ControlRequest, Request } from '../../http/exchange.ts';
import { isTrustworthy, type PlainHttpRule } from '../discovery.ts';
import { sameIssuer, covers, type LoginTokens, readClaims } from '../token.ts';
import type { OAuthClient, StoredLogin, LoginStore } from './login-store.ts';

/** How to talk to an issuer. */
export interface Wire {
  request: Request;
  plainHttp: PlainHttpRule;
  userAgent: string;
  signal?: AbortSignal | undefined;
}

/** The endpoints in an issuer's metadata. */
export interface IssuerMetadata {
  issuer: string;
  token: string;
  device?: string;
  registration?: string;
  revocation?: string;
}

export interface Granted {
  accessToken: string;
  refreshToken?: string;
  /** Seconds. */
  life?: number;
  /** Space-separated, if the issuer names them. */
  scope?: string;
}

/** An OAuth error code of an issuer, such as `slow_down`. */
export class OAuthRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Reads an issuer's metadata: from OpenID Connect's place, as Pelican has it, or RFC 8414's. */
export async function readMetadata(wire: Wire, issuer: string): Promise<IssuerMetadata> {
  if (!isUsable(issuer, wire)) throw unusable(issuer, 'its address is not an https URL');
  const base = issuer.replace(/\/+$/, '');
  const { origin, pathname } = new URL(base);
  const places = [
    `${base}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${pathname === '/' ? '' : pathname}`,
    `${base}/.well-known/oauth-authorization-server`,
  ];
  let status = 0;
  for (const url of places) {
    const answer = await send(wire, issuer, { method: 'GET', url, redirects: 3 });
    if (answer.status === 200) return metadataIn(wire, issuer, parse(answer.body) ?? {});
    status = answer.status;
  }
  throw unusable(issuer, `it answers ${status} instead of its metadata`);
}

function metadataIn(wire: Wire, issuer: string, said: Record<string, unknown>): IssuerMetadata {
  const endpoint = (name: string): string | undefined => {
    const url = nonEmptyString(said[name]);
    if (url !== undefined && !isUsable(url, wire)) throw unusable(issuer, `its ${name} is not an https URL`);
    return url;
  };
  if (!sameIssuer(issuer, nonEmptyString(said['issuer'])))
    throw unusable(
      issuer,
      `its metadata are those of ${nonEmptyString(said['issuer']) ?? 'an unnamed issuer'}`,
    );
  const token = endpoint('token_endpoint');
  if (token === undefined) throw unusable(issuer, 'its metadata have no token_endpoint');
  const [device, registration] = [
    endpoint('device_authorization_endpoint'),
    endpoint('registration_endpoint'),
  ];
  const revocation = endpoint('revocation_endpoint');
  return { issuer, token, ...defined({ device, registration, revocation }) };
}

/** Registers us as a client that logs in by device code (RFC 7591). */
export async function registerClient(
  wire: Wire,
  { issuer, registration }: IssuerMetadata,
): Promise<OAuthClient> {
  if (registration === undefined) throw unusable(issuer, 'it does not offer dynamic client registration');
  const wish = {
    client_name: 'Updraft',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['refresh_token', deviceGrant],
    response_types: ['code'],
    scope: 'offline_access wlcg storage.read:/ storage.create:/ storage.modify:/',
  };
  const said = await post(wire, issuer, registration, {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(wish),
  });
  const [id, secret] = [nonEmptyString(said['client_id']), nonEmptyString(said['client_secret'])];
  if (id === undefined) throw unusable(issuer, 'its registration has no client_id');
  return { id, ...defined({ secret }) };
}

/** Sends a form as a client; throws OAuthRefusal if the answer has an OAuth error code. */
export async function postForm(
  wire: Wire,
  issuer: string,
  url: string,
  client: OAuthClient,
  fields: Record<string, string>,
): Promise<Record<string, unknown>> {
  const form = new URLSearchParams({ client_id: client.id, ...fields });
  const basic = [client.id, client.secret ?? ''].map(encodeURIComponent).join(':');
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    ...(client.secret === undefined
      ? {}
      : { Authorization: `Basic ${Buffer.from(basic).toString('base64')}` }),
  };
  const secrets = [client.secret ?? '', fields['refresh_token'] ?? '', fields['device_code'] ?? ''];
  return await post(wire, issuer, url, { headers, body: form.toString() }, secrets);
}

/** Reads the answer of a token endpoint. */
export function grantedIn(issuer: string, said: Record<string, unknown>): Granted {
  const [accessToken, refreshToken, scope] = ['access_token', 'refresh_token', 'scope'].map((name) =>
    nonEmptyString(said[name]),
  );
  if (accessToken === undefined || !/^[\x21-\x7e]+$/.test(accessToken))
    throw unusable(issuer, 'its answer has no access_token');
  return { accessToken, ...defined({ refreshToken, scope, life: seconds(said['expires_in']) }) };
}

async function post(
  wire: Wire,
  issuer: string,
  url: string,
  { headers, body }: { headers: Record<string, string>; body: string },
  secrets: string[] = [],
): Promise<Record<string, unknown>> {
  const answer = await send(wire, issuer, { method: 'POST', url, headers, body });
  const said = parse(answer.body);
  if (answer.status >= 200 && answer.status < 300) return said ?? {};
  const code = nonEmptyString(said?.['error']);
  const description = createRedact(secrets)(
    nonEmptyString(said?.['error_description']) ?? code ?? 'no explanation',
  );
  const message = `${new URL(url).host} answers ${answer.status}: ${description.slice(0, 300)}`;
  if (code !== undefined && answer.status < 500) throw new OAuthRefusal(code, message);
  throw unreachable(issuer, message);
}

async function send(wire: Wire, issuer: string, request: ControlRequest): Promise<ControlAnswer> {
  const headers = { 'User-Agent': wire.userAgent, Accept: 'application/json', ...request.headers };
  try {
    return await wire.request({ ...request, headers, signal: wire.signal });
  } catch (error) {
    if (error instanceof NoAnswer) throw unreachable(issuer, error.message, error);
    throw error;
  }
}

export const isUsable = (url: string, { plainHttp }: Wire): boolean =>
  URL.parse(url) !== null && isTrustworthy(url, plainHttp);

export function seconds(value: unknown): number | undefined {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && number > 0 && number < 1e10 ? number : undefined;
}

export const nonEmptyString = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

function parse(body: string): Record<string, unknown> | undefined {
  const value = tried(() => JSON.parse(body) as unknown);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

/** Logging in at this issuer is impossible from here. */
export function unusable(issuer: string, why: string, kind: FaultKind = 'token-missing'): Fault {
  return new Fault(kind, `no login at ${issuer}: ${why}`, {
    about: issuer,
    fix: 'get a token as its owner describes, save it to a file and pass that with --token-file',
  });
}

function unreachable(issuer: string, why: string, cause?: unknown): Fault {
  return new Fault('servers-unreachable', `the token issuer ${issuer} is not available now: ${why}`, {
    about: issuer,
    fix: 'wait and run it again; if it lasts, ask whoever runs the origin',
    cause,
  });
}

/** A token is renewed when this much of it is left, or a quarter of its lifetime if that is less. */
const marginMs = 120_000;
/** How long an issuer that gave no new token is left alone. */
const retryMs = 20_000;

export interface LoginTokensContext {
  store: LoginStore;
  wire: Wire;
  clock: Clock;
}

/** The tokens of the user's logins, renewed before they expire. */
export function createLoginTokens(context: LoginTokensContext): LoginTokens {
  const { store, clock, wire } = context;
  const failures = new Map<string, { until: number; why: string }>();
  const renewing = new Map<string, Promise<StoredLogin>>();
  const renewOnce = (login: StoredLogin, refused?: string): Promise<StoredLogin> => {
    const key = store.tokenFile(login);
    const under =
      renewing.get(key) ??
      renew(context, login, marginOf(login), refused).finally(() => renewing.delete(key));
    renewing.set(key, under);
    return under;
  };
  return {
    isConfirmed: async (federation) => (await store.confirmed()).includes(federation),
    async find(use, refused) {
      const ofUse = (await store.list()).filter(
        ({ federation, namespace }) => federation === use.federation?.url && namespace === use.namespace,
      );
      const login = ofUse.find(({ scopes }) => scopes.some((scope) => covers(scope, use)));
      if (login === undefined)
        return defined({
          why: ofUse[0] && `your login at ${ofUse[0].issuer} (only ${ofUse[0].scopes.join(' ')})`,
        });
      const key = store.tokenFile(login);
      const failure = failures.get(key);
      const isRefused = login.accessToken === refused;
      if (!isRefused && !expiresSoon(login, clock.now(), marginOf(login))) return { login };
      const isResting = failure !== undefined && failure.until > clock.monotonic();
      if (isResting || login.refreshToken === undefined) return { login, ...defined({ why: failure?.why }) };
      try {
        const renewed = await renewOnce(login, refused);
        // If servers refuse the new one too, the next would fare no better.
        if (isRefused) failures.set(key, { until: clock.monotonic() + retryMs, why: 'servers refused it' });
        return { login: renewed };
      } catch (error) {
        wire.signal?.throwIfAborted();
        const why = asFault(error).message;
        failures.set(key, { until: clock.monotonic() + retryMs, why });
        return { login, why };
      }
    },
  };
}

const marginOf = ({ obtained, expires = Infinity }: StoredLogin): number =>
  Math.min(marginMs, (expires - obtained) / 4);

const expiresSoon = ({ expires = Infinity }: StoredLogin, now: number, marginMs: number): boolean =>
  expires - now < marginMs;

/**
 * Renews a login with less than `marginMs` left, or whose token was refused. If several processes do so at once, only
 * one asks the issuer, because refresh tokens may be valid for one use only; the others read its result.
 */
export async function renew(
  { store, wire, clock }: LoginTokensContext,
  login: StoredLogin,
  marginMs: number,
  refused?: string,
): Promise<StoredLogin> {
  return await store.inTurn(login, { clock, signal: wire.signal }, async () => {
    const now = await store.find(login);
    // Removed, or renewed, since it was read.
    const isDue = now?.accessToken === refused || (now && expiresSoon(now, clock.now(), marginMs));
    if (now?.refreshToken === undefined || isDue !== true) return now ?? login;
    try {
      const fields = { grant_type: 'refresh_token', refresh_token: now.refreshToken };
      const said = await postForm(wire, now.issuer, now.tokenEndpoint, now.client, fields);
      const renewed = withGrant(now, grantedIn(now.issuer, said), clock.now());
      await store.write(renewed);
      return renewed;
    } catch (error) {
      if (!(error instanceof OAuthRefusal)) throw error;
      if (endedCodes.includes(error.code)) await store.write(defined({ ...now, refreshToken: undefined }));
      const fix = `updraft login ${now.url}`;
      throw new Fault('token-expired', `its issuer issues no new token: ${error.message}`, {
        about: now.url,
        fix,
      });
    }
  });
}

/** The error codes of a login that has ended: asking again does not help. */
const endedCodes = ['invalid_grant', 'invalid_client', 'unauthorized_client'];

type Ungranted = Omit<StoredLogin, 'accessToken' | 'refreshToken' | 'obtained' | 'expires'> &
  Partial<StoredLogin>;

/** A login with what its issuer just granted; keeps scopes and refresh token if they are not repeated. */
export function withGrant(
  login: Ungranted,
  { accessToken, refreshToken = login.refreshToken, life, scope }: Granted,
  now: number,
): StoredLogin {
  const claims = readClaims(accessToken);
  const said = storageScopes(scope?.split(/\s+/)) ?? storageScopes(claims?.scopes) ?? login.scopes;
  // The lifetime from the issuer is right even if this machine's clock is wrong.
  const expires = life === undefined ? claims?.expires : now + life * 1000;
  return defined({ ...login, scopes: said, accessToken, obtained: now, refreshToken, expires });
}

/** Only the storage scopes; undefined if there are none. */
function storageScopes(scopes: readonly string[] | undefined): string[] | undefined {
  const kept = scopes?.filter((scope) => /^(?:storage\.\w+|read|write)(?::|$)/.test(scope)) ?? [];
  return kept.length === 0 ? undefined : kept;
}
