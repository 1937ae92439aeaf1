import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export type Admission = { cookie: string } | 'used' | 'wrong';

/**
 * Decides who may see the page: the one-time token of the URL is exchanged for a cookie, and only a browser with that
 * cookie gets anything else.
 */
export class Gatekeeper {
  readonly token = randomBytes(24).toString('base64url');
  readonly #session = randomBytes(24).toString('base64url');
  readonly #cookieName: string;
  #used = false;

  /** Cookies are shared by all ports of a host, so the port is in the name: two dashboards must not collide. */
  constructor(port: number) {
    this.#cookieName = `updraft-${port}`;
  }

  admit(token: string): Admission {
    if (!isSame(token, this.token)) return 'wrong';
    if (this.#used) return 'used';
    this.#used = true;
    return { cookie: `${this.#cookieName}=${this.#session}; HttpOnly; SameSite=Strict; Path=/` };
  }

  isKnown({ cookie = '' }: IncomingHttpHeaders): boolean {
    const values = cookie
      .split(';')
      .map((part) => part.trim().split('='))
      .flatMap(([name, value]) => (name === this.#cookieName && value !== undefined ? [value] : []));
    return values.some((value) => isSame(value, this.#session));
  }
}

/** Another name that resolves to this machine must not reach the page (DNS rebinding). */
export const isLoopback = ({ host = '' }: IncomingHttpHeaders): boolean =>
  /^(127\.0\.0\.1|localhost)(:\d{1,5})?$/.test(host);

/** Whether our own page sent the request, as every action requires. */
export const isOwnPage = ({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean =>
  origin === `http://${host ?? ''}` && (site === undefined || site === 'same-origin');

const isSame = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
