import { generateKeyPairSync, type KeyObject, randomUUID, sign, verify } from 'node:crypto';
import { type Clock, jsonTable } from '@updraft/base';
import { DeviceFlow } from './device-flow.ts';

/** What a token says; all optional. */
export interface TokenOptions {
  /** WLCG scopes with paths relative to the namespace, as in `storage.read:/sub storage.create:/`. */
  scope?: string;
  /** Negative for an expired token. */
  expiresInSeconds?: number;
  subject?: string;
}

export interface Claims {
  iss: string;
  exp: number;
  nbf?: number;
  iat?: number;
  scope: string;
}

/** Issues and checks the tokens (WLCG profile, ES256) of one namespace. */
export class Issuer {
  readonly url: string;
  readonly device: DeviceFlow;
  readonly #clock: Clock;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #keyId = randomUUID();
  readonly #expired = new Set<string>();

  constructor(url: string, clock: Clock) {
    this.url = url;
    this.#clock = clock;
    this.device = new DeviceFlow((options) => this.issue(options), clock);
  }

  issue(options: TokenOptions = {}): string {
    const now = Math.floor(this.#clock.now() / 1000);
    const life = options.expiresInSeconds ?? 1200;
    const claims = {
      'wlcg.ver': '1.0',
      iss: this.url,
      sub: options.subject ?? 'updraft',
      jti: randomUUID(),
      aud: 'https://wlcg.cern.ch/jwt/v1/any',
      scope: options.scope ?? 'storage.read:/',
      iat: now + Math.min(0, life),
      nbf: now + Math.min(0, life),
      exp: now + life,
    };
    const text = `${part({ alg: 'ES256', typ: 'JWT', kid: this.#keyId })}.${part(claims)}`;
    return `${text}.${signature(text, this.#keys.privateKey).toString('base64url')}`;
  }

  /** Treats this token as expired from now on. */
  expire(token: string): void {
    this.#expired.add(token);
  }

  /** The claims of a valid token of this issuer; otherwise why it is invalid. */
  check(token: string): Claims | string {
    const [header = '', payload = '', mark = ''] = token.split('.');
    const claims = decodeClaims(token);
    if (claims === undefined) return 'token is not a JWT';
    const good = verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      { key: this.#keys.publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(mark, 'base64url'),
    );
    if (claims.iss !== this.url) return `token issuer ${claims.iss} is not trusted for this namespace`;
    if (!good) return 'token signature does not verify';
    const now = this.#clock.now() / 1000;
    if (claims.exp <= now || this.#expired.has(token)) return 'token has expired';
    if ((claims.nbf ?? 0) > now + 60) return 'token is not valid yet';
    return claims;
  }

  get jwks(): { keys: object[] } {
    return {
      keys: [
        { ...this.#keys.publicKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: this.#keyId },
      ],
    };
  }

  get metadata(): object {
    return {
      issuer: this.url,
      jwks_uri: `${this.url}/.well-known/issuer.jwks`,
      registration_endpoint: `${this.url}/oidc-cm`,
      device_authorization_endpoint: `${this.url}/device_authorization`,
      token_endpoint: `${this.url}/token`,
      revocation_endpoint: `${this.url}/revoke`,
      grant_types_supported: ['refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      scopes_supported: ['offline_access', 'wlcg', 'storage.read:/', 'storage.create:/', 'storage.modify:/'],
      token_endpoint_auth_signing_alg_values_supported: ['ES256'],
    };
  }
}

/** A JWT's claims, unverified; undefined if it is not a JWT. */
export function decodeClaims(token: string): Claims | undefined {
  const claims = jsonTable(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  const { iss, exp, scope, ...others } = (claims ?? {}) as Partial<Claims>;
  if (typeof iss !== 'string' || typeof exp !== 'number') return undefined;
  return { ...others, iss, exp, scope: typeof scope === 'string' ? scope : '' };
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const signature = (text: string, key: KeyObject): Buffer =>
  sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
