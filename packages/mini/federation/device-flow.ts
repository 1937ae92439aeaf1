import { randomBytes, randomInt } from 'node:crypto';
import type { Clock } from '@updraft/base';

type Issue = (options: { scope: string; expiresInSeconds: number }) => string;

export interface OAuthAnswer {
  status: number;
  body: object;
}

interface Code {
  userCode: string;
  client: string;
  scope: string;
  expires: number;
  state: 'pending' | 'approved' | 'denied' | 'used';
  /** Time of the last poll. */
  polled: number;
}

interface Client {
  id: string;
  secret: string;
}

const codeGrant = 'urn:ietf:params:oauth:grant-type:device_code';
/** Without letters and digits that look alike. */
const codeAlphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/**
 * Logins at one issuer, as at Pelican's: a client registers itself (RFC 7591) and asks for a code; a person approves
 * it; polling with it (RFC 8628) returns a token and a refresh token, which can be used once.
 */
export class DeviceFlow {
  /** For tests and demonstrations to change. */
  readonly settings = { tokenSeconds: 1200, codeSeconds: 600, intervalSeconds: 5 };
  /** All requests, for tests: kind and scope. */
  readonly seen: string[] = [];
  readonly #issue: Issue;
  readonly #clock: Clock;
  readonly #clients = new Map<string, string>();
  readonly #codes = new Map<string, Code>();
  readonly #refresh = new Map<string, { client: string; scope: string }>();

  constructor(issue: Issue, clock: Clock) {
    this.#issue = issue;
    this.#clock = clock;
  }

  register(name: unknown): OAuthAnswer {
    this.seen.push('register');
    const [id, secret] = [secretText(12), secretText(24)];
    this.#clients.set(id, secret);
    const body = { client_id: id, client_secret: secret, client_name: name, client_secret_expires_at: 0 };
    return { status: 201, body: { ...body, grant_types: [codeGrant, 'refresh_token'] } };
  }

  /** Forgets all clients, as an issuer does with those long unused. */
  forgetClients(): void {
    this.#clients.clear();
  }

  authorize(form: URLSearchParams, client: Client, page: string): OAuthAnswer {
    this.seen.push(`authorize ${form.get('scope') ?? ''}`);
    if (!this.#knows(client)) return failed('invalid_client', 401);
    const { codeSeconds, intervalSeconds } = this.settings;
    const userCode = [userPart(), userPart()].join('-');
    const deviceCode = secretText(24);
    this.#codes.set(deviceCode, {
      userCode,
      client: client.id,
      scope: form.get('scope') ?? '',
      expires: this.#clock.now() + codeSeconds * 1000,
      state: 'pending',
      polled: -Infinity,
    });
    const body = {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${userCode}`,
      expires_in: codeSeconds,
      interval: intervalSeconds,
    };
    return { status: 200, body };
  }

  /** What the person on the page decides; false for a code that is not pending. */
  decide(userCode: string, verdict: 'approved' | 'denied'): boolean {
    const code = [...this.#codes.values()].find((one) => one.userCode === userCode.trim().toUpperCase());
    if (code?.state !== 'pending' || code.expires <= this.#clock.now()) return false;
    code.state = verdict;
    return true;
  }

  token(form: URLSearchParams, client: Client): OAuthAnswer {
    const grant = form.get('grant_type') ?? '';
    this.seen.push(grant === codeGrant ? 'poll' : grant);
    if (!this.#knows(client)) return failed('invalid_client', 401);
    if (grant === codeGrant) return this.#poll(form.get('device_code') ?? '', client);
    if (grant !== 'refresh_token') return failed('unsupported_grant_type');
    const old = form.get('refresh_token') ?? '';
    const known = this.#refresh.get(old);
    if (known?.client !== client.id) return failed('invalid_grant');
    this.#refresh.delete(old);
    return this.#grant(known.scope, client);
  }

  /** Revokes a refresh token (RFC 7009); an unknown one is not an error. */
  revoke(form: URLSearchParams, client: Client): OAuthAnswer {
    this.seen.push('revoke');
    if (!this.#knows(client)) return failed('invalid_client', 401);
    this.#refresh.delete(form.get('token') ?? '');
    return { status: 200, body: {} };
  }

  #poll(deviceCode: string, client: Client): OAuthAnswer {
    const code = this.#codes.get(deviceCode);
    const now = this.#clock.now();
    if (code?.client !== client.id) return failed('invalid_grant');
    if (code.expires <= now) return failed('expired_token');
    if (now - code.polled < this.settings.intervalSeconds * 1000) return failed('slow_down');
    code.polled = now;
    if (code.state === 'pending') return failed('authorization_pending');
    if (code.state !== 'approved') return failed(code.state === 'denied' ? 'access_denied' : 'invalid_grant');
    code.state = 'used';
    return this.#grant(code.scope, client);
  }

  #grant(scope: string, client: Client): OAuthAnswer {
    const { tokenSeconds } = this.settings;
    const storage = scope.split(' ').filter((one) => one.startsWith('storage.'));
    const token = this.#issue({ scope: storage.join(' '), expiresInSeconds: tokenSeconds });
    const body = { access_token: token, token_type: 'Bearer', expires_in: tokenSeconds };
    if (!scope.split(' ').includes('offline_access')) return { status: 200, body };
    const refresh = secretText(24);
    this.#refresh.set(refresh, { client: client.id, scope });
    return { status: 200, body: { ...body, refresh_token: refresh } };
  }

  #knows({ id, secret }: Client): boolean {
    return this.#clients.has(id) && this.#clients.get(id) === secret;
  }
}

const failed = (error: string, status = 400): OAuthAnswer => ({ status, body: { error } });

const secretText = (bytes: number): string => randomBytes(bytes).toString('base64url');

const userPart = (): string =>
  Array.from({ length: 4 }, () => codeAlphabet[randomInt(codeAlphabet.length)]).join('');
