import { defined, tried } from '@updraft/base';
import { createRedact } from '@updraft/base/secrets';
import { Fault } from '../../fault.ts';
import type { FaultKind } from '../../fault.ts';
import { NoAnswer } from '../../http/no-answer.ts';
import type { ControlAnswer, ControlRequest, Request } from '../../http/request.ts';
import { isTrustworthy, type PlainHttpRule } from '../discovery.ts';
import { sameIssuer } from '../token.ts';
import type { OAuthClient } from './login-store.ts';

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
