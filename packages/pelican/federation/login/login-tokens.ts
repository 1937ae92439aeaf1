import { type Clock, defined } from '@updraft/base';
import { asFault, Fault } from '../../fault.ts';
import { covers, type LoginTokens, readClaims } from '../token.ts';
import type { StoredLogin, LoginStore } from './login-store.ts';
import { type Granted, grantedIn, OAuthRefusal, postForm, type Wire } from './oauth.ts';

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
