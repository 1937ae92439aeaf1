import { defined } from '../../base/defined.ts';
import { readClaims } from '../token.ts';
import type { StoredLogin } from './login-store.ts';
import type { Granted } from './oauth.ts';

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
