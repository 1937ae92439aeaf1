import { type Clock, defined, type Env, printable } from '@updraft/base';
import { Fault } from '../../fault.ts';
import { isUnder, unescapePath } from '../escape-path.ts';
import type { Issuance, Locator } from '../located.ts';
import { parseObjectUrl } from '../object-url.ts';
import { readClaims, sameIssuer } from '../token.ts';
import type { OAuthClient, StoredLogin, LoginStore } from './login-store.ts';
import {
  type IssuerMetadata,
  OAuthRefusal,
  postForm,
  readMetadata,
  registerClient,
  unusable,
  type Wire,
  type Granted,
  grantedIn,
  isUsable,
  deviceGrant,
  seconds,
  nonEmptyString,
  withGrant,
} from './oauth.ts';

interface LoginContext {
  /** A locator without logins: finding the issuer needs none. */
  locator: Locator;
  store: LoginStore;
  wire: Wire;
  clock: Clock;
  env: Env;
}

export interface LoginRequest {
  /** The permissions requested besides reading. */
  write: readonly ('create' | 'modify')[];
  /** Throws unless the user confirms the federation, to whose servers the token will be sent. */
  confirm(issuance: Issuance): Promise<void>;
  /** Shows the user the page, the code, and the permissions requested. */
  invite(invitation: Invitation, asked: Issuance & { scopes: string[] }): void;
}

/** Logs in for everything at and below a URL, and stores the login. */
export async function logIn(context: LoginContext, url: string, request: LoginRequest): Promise<StoredLogin> {
  const { locator, store, wire, clock } = context;
  const { signal } = wire;
  const verb = request.write.length > 0 ? 'PUT' : 'GET';
  const { issuance } = await locator.locate(url, { verb, ...defined({ signal }) });
  if (issuance === undefined) throw noIssuerFault(url);
  await request.confirm(issuance);
  const scopes = scopesFor(pathOf(url, context.env), issuance, request.write);
  const before = await store.find(issuance).catch(() => undefined);
  const all = joined(scopes, before?.scopes ?? []);
  const metadata = await readMetadata(wire, issuance.issuer);
  const { client, pending } = await startLogin(
    context,
    issuance,
    metadata,
    `wlcg offline_access ${all.join(' ')}`,
  );
  request.invite(pending, { ...issuance, scopes: all });
  const granted = await awaitApproval(wire, metadata, client, { asking: pending, clock });
  const claimed = readClaims(granted.accessToken);
  if (claimed !== undefined && !sameIssuer(issuance.issuer, claimed.issuer))
    throw unusable(
      issuance.issuer,
      `its token is from ${claimed.issuer ?? 'an unnamed issuer'}`,
      'token-refused',
    );
  const { federation, issuer, namespace, basePath, url: shown } = issuance;
  const place = { federation, issuer, namespace, url: shown, ...defined({ basePath }) };
  const ends = { tokenEndpoint: metadata.token, ...defined({ revocationEndpoint: metadata.revocation }) };
  const base = { ...place, ...ends, client, scopes: all };
  const login = withGrant(base, granted, clock.now());
  await store.inTurn(login, { clock }, () => store.write(login));
  return login;
}

/** Requests a code as our registered client; registers first if we are not, or no longer, registered. */
async function startLogin(
  { store, wire, clock }: LoginContext,
  issuance: Issuance,
  metadata: IssuerMetadata,
  scope: string,
): Promise<{ client: OAuthClient; pending: PendingLogin }> {
  const now = clock.now();
  const known = await store.findClient(issuance);
  if (known !== undefined)
    try {
      return { client: known, pending: await askForCode(wire, metadata, known, { scope, now }) };
    } catch (error) {
      if (!(error instanceof OAuthRefusal && isUnknownClient(error))) throw toFault(error, metadata);
    }
  try {
    const client = await registerClient(wire, metadata);
    const pending = await askForCode(wire, metadata, client, { scope, now });
    await store.writeClient(issuance, client);
    return { client, pending };
  } catch (error) {
    throw toFault(error, metadata);
  }
}

/** Pelican's issuers say the first, OA4MP the second. */
const isUnknownClient = ({ code }: OAuthRefusal): boolean =>
  code === 'invalid_client' || code === 'unauthorized_client';

const toFault = (error: unknown, { issuer }: IssuerMetadata): unknown =>
  error instanceof OAuthRefusal ? unusable(issuer, error.message, 'token-refused') : error;

function pathOf(url: string, env: Env): string {
  const parsed = parseObjectUrl(url, env);
  return parsed.kind === 'federated' ? unescapePath(parsed.path) : '/';
}

/** Only what is at and below a path, as far as the issuer's scopes allow. */
function scopesFor(
  path: string,
  { namespace, basePath = namespace, maxScopeDepth = 0 }: Issuance,
  write: LoginRequest['write'],
): string[] {
  const base = basePath.replace(/\/+$/, '');
  const parts = isUnder(path, base) ? path.slice(base.length).split('/').filter(Boolean) : [];
  const below = `/${(maxScopeDepth > 0 ? parts.slice(0, maxScopeDepth) : parts).join('/')}`;
  return ['read', ...write].map((one) => `storage.${one}:${below}`);
}

/** Both lists, without scopes that another one covers: a login for one folder keeps that of another. */
function joined(scopes: string[], others: string[]): string[] {
  const all = [...new Set([...scopes, ...others])];
  return all.filter((scope) => !all.some((other) => other !== scope && covered(scope, other)));
}

function covered(scope: string, by: string): boolean {
  const [[what, path = '/'], [whatBy, pathBy = '/']] = [scope.split(/:(.*)/s, 2), by.split(/:(.*)/s, 2)];
  return what === whatBy && isUnder(path, pathBy.replace(/\/+$/, ''));
}

function noIssuerFault(url: string): Fault {
  return new Fault('usage', `no issuer offers logins for ${url}`, {
    about: url,
    fix: 'public objects need no login; otherwise ask the owner of the namespace how to get a token',
  });
}

/** Asks the issuer to revoke a login's refresh token (RFC 7009); the token itself expires soon. */
export async function revoke(wire: Wire, login: StoredLogin): Promise<void> {
  const { issuer, client, refreshToken: token, revocationEndpoint: url } = login;
  if (url === undefined || token === undefined) return;
  await postForm(wire, issuer, url, client, { token, token_type_hint: 'refresh_token' });
}

/** What to show to the user: the page to open, and the code to compare or type in there. */
interface Invitation {
  /** The page; its URL contains the code if the issuer offers that. */
  url: string;
  userCode: string;
  /** Milliseconds since the epoch. */
  expires: number;
}

interface PendingLogin extends Invitation {
  deviceCode: string;
  intervalSeconds: number;
}

const defaultIntervalSeconds = 5;
const defaultLifeSeconds = 600;
/** Limits on what an issuer asks for; a timer takes no more than 24 days. */
const [maxInterval, maxLife] = [60, 86_400];
/** How much longer to wait after an issuer's `slow_down` (RFC 8628). */
const slowDownSeconds = 5;
/** How often to retry an issuer that does not answer while the user decides. */
const maxSilentTries = 5;

/** Asks for a code (RFC 8628). */
export async function askForCode(
  wire: Wire,
  { issuer, device }: IssuerMetadata,
  client: OAuthClient,
  { scope, now }: { scope: string; now: number },
): Promise<PendingLogin> {
  if (device === undefined) throw unusable(issuer, 'it offers no login by device code');
  const said = await postForm(wire, issuer, device, client, { scope });
  const [deviceCode, userCode] = [nonEmptyString(said['device_code']), nonEmptyString(said['user_code'])];
  const url =
    nonEmptyString(said['verification_uri_complete']) ?? nonEmptyString(said['verification_uri']) ?? '';
  if (deviceCode === undefined || userCode === undefined || !isUsable(url, wire))
    throw unusable(issuer, 'its answer lacks a code or a page with an https URL');
  return {
    deviceCode,
    // Both are shown: an issuer must not write its own lines to the terminal.
    userCode: printable(userCode).slice(0, 100),
    url: new URL(url).href,
    expires: now + Math.min(seconds(said['expires_in']) ?? defaultLifeSeconds, maxLife) * 1000,
    intervalSeconds: Math.min(seconds(said['interval']) ?? defaultIntervalSeconds, maxInterval),
  };
}

/** Polls until the user has decided; throws a Fault if the login was denied or timed out. */
export async function awaitApproval(
  wire: Wire,
  { issuer, token }: IssuerMetadata,
  client: OAuthClient,
  { asking: pending, clock }: { asking: PendingLogin; clock: Clock },
): Promise<Granted> {
  let [wait, triesLeft] = [pending.intervalSeconds, maxSilentTries];
  const fields = { grant_type: deviceGrant, device_code: pending.deviceCode };
  for (;;) {
    await clock.sleep(Math.min(wait * 1000, Math.max(0, pending.expires - clock.now())), wire.signal);
    if (clock.now() >= pending.expires) throw expired(issuer);
    try {
      return grantedIn(issuer, await postForm(wire, issuer, token, client, fields));
    } catch (error) {
      if (error instanceof Fault && error.kind === 'servers-unreachable' && triesLeft-- > 0) wait *= 2;
      else wait = waitAfter(error, issuer, wait);
    }
  }
}

/** How long to wait for the next poll, if the answer allows one. */
function waitAfter(error: unknown, issuer: string, wait: number): number {
  if (!(error instanceof OAuthRefusal)) throw error;
  switch (error.code) {
    case 'authorization_pending':
    // OA4MP's name for the same.
    case 'consent_required':
      return wait;
    case 'slow_down':
      return wait + slowDownSeconds;
    case 'expired_token':
      throw expired(issuer);
    case 'access_denied':
      throw new Fault('token-refused', `the login at ${issuer} was denied`, {
        about: issuer,
        fix: 'log in again and approve it, as a user who may use this namespace',
      });
    default:
      throw unusable(issuer, error.message, 'token-refused');
  }
}

function expired(issuer: string): Fault {
  return new Fault('token-missing', `the login at ${issuer} was not approved in time`, {
    about: issuer,
    fix: 'run the same command again and open its page while the code is valid',
  });
}
