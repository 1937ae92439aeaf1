import { firstShard, formatDuration, tried } from '@updraft/base';
import { asFault, usageFault } from '@updraft/account/fault';
import {
  covers,
  createLocator,
  type FederationLocator,
  type Issuance,
  isUnder,
  type LoginTokens,
  parseObjectUrl,
  plainHttpRule,
  unescapePath,
} from '@updraft/pelican/federation';
import {
  createLoginTokens,
  logIn,
  type LoginRequest,
  LoginStore,
  type LoginTokensContext,
  renew,
  revoke,
  type StoredLogin,
} from '@updraft/pelican/login';
import { createRequest } from '@updraft/pelican/http';
import { fetchedBy, type Plan } from '../../job/plan.ts';
import type { Cli } from '../cli.ts';
import { printJson, askYesNo } from '../text/phrases.ts';

interface LoginOptions extends Pick<LoginRequest, 'write'> {
  /** The host of its federation, by which the user confirms it. */
  federation?: string | undefined;
  /** Print the code as a line of JSON on stdout. */
  json?: boolean;
}

/** Logs in for a URL and what is below it: shows page and code, waits for approval, stores the login. */
export async function runLogin(cli: Cli, url: string, options: LoginOptions): Promise<StoredLogin> {
  const { clock, env } = cli;
  const { write, json, federation } = options;
  const locator = createLocator(cli);
  const login = await logIn({ ...loginContext(cli, locator), locator, env }, url, {
    write,
    confirm: (issuance) => confirmFederation(cli, url, issuance, federation),
    invite(invitation, asked) {
      const { url: page, userCode, expires } = invitation;
      const { host } = new URL(asked.federation);
      const shown = { page, userCode, expires: new Date(expires).toISOString(), federation: host };
      if (json) printJson(cli, shown);
      const left = formatDuration((expires - clock.now()) / 1000);
      cli.err(
        [
          `login for ${asked.namespace} of the federation ${host}, at ${asked.issuer}`,
          `requests permission to ${describePermissions(asked)}`,
          '',
          `  open   ${page}`,
          `  code   ${userCode}`,
          '',
          `waiting up to ${left} for approval there; Ctrl-C stops`,
          '',
        ].join('\n'),
      );
    },
  });
  if (federation !== undefined || homeOf(cli, url)?.isUsersOwn !== true)
    await trustFederation(cli, login.federation);
  return login;
}

/** A director can name any issuer: the user says whether the issuer's token is for this federation. */
async function confirmFederation(
  cli: Cli,
  url: string,
  { federation, issuer }: Issuance,
  named: string | undefined,
): Promise<void> {
  const { host } = new URL(federation);
  if (named === undefined && (await mayHaveFound(cli, url, federation))) return;
  const agreed =
    named === undefined
      ? await askYesNo(cli, `send tokens from ${issuer} to the servers of the federation ${host}?`)
      : federationHost(cli, named) === host;
  if (agreed === true) return;
  const fix = `if you trust ${host}: updraft login ${url} --federation ${host}`;
  throw usageFault(`${url} is in the federation ${host}, which you have not confirmed`, fix);
}

const mayHaveFound = async (cli: Cli, url: string, federation: string): Promise<boolean> =>
  homeOf(cli, url)?.isUsersOwn === true || (await new LoginStore(cli).confirmed()).includes(federation);

/** Confirms a federation, as discovery knows it: tokens that are found may go there. */
export async function trustFederation(cli: Cli, url: string): Promise<void> {
  const store = new LoginStore(cli);
  await store.confirm([...new Set([...(await store.confirmed()), url])]);
}

/** Of the federations of these objects, those that the user has confirmed: a job takes their names along. */
export async function confirmedAmong(cli: Cli, urls: readonly string[]): Promise<string[] | undefined> {
  const hosts = urls.flatMap((url) => tried(() => homeOf(cli, firstShard(url))?.host) ?? []);
  if (hosts.length === 0) return undefined;
  const found = (await new LoginStore(cli).confirmed()).filter((one) => hosts.includes(new URL(one).host));
  return found.length === 0 ? undefined : found;
}

/** The host of a federation, as URLs have it. */
export const federationHost = (cli: Cli, federation: string): string =>
  homeOf(cli, `pelican://${federation}/any`)?.host ?? '';

function loginContext(cli: Cli, { wire }: FederationLocator): LoginTokensContext {
  const { env, clock, version, signal } = cli;
  const request = createRequest(wire);
  const how = { request, plainHttp: plainHttpRule(env), userAgent: `updraft/${version}`, signal };
  return { store: new LoginStore(cli), clock, wire: how };
}

type Permitted = Pick<StoredLogin, 'scopes' | 'namespace' | 'basePath'>;

const verbs: Record<string, string> = {
  'storage.read': 'read',
  'storage.create': 'create',
  'storage.modify': 'change',
};

/** `read /ns, create /ns/sub`. */
export function describePermissions({ scopes, basePath, namespace }: Permitted): string {
  const base = (basePath ?? namespace).replace(/\/+$/, '');
  const words = scopes.map((scope) => {
    const [what = '', where = '/'] = scope.split(/:(.*)/s, 2);
    return `${verbs[what] ?? what} ${base}${where === '/' ? '' : where}`;
  });
  return words.length === 0 ? 'nothing' : words.join(', ');
}

/** The stored logins that match a URL, or the host of a federation; the longest namespace first. */
export async function loginsOf(cli: Cli, url: string): Promise<StoredLogin[]> {
  const logins = await new LoginStore(cli).list();
  const home = url.includes('/') ? homeOf(cli, url) : { host: federationHost(cli, url), path: undefined };
  return logins
    .filter(({ federation }) => home?.host === new URL(federation).host)
    .filter(({ namespace }) => isUnder(home?.path ?? namespace, namespace))
    .sort((one, other) => other.namespace.length - one.namespace.length);
}

function homeOf({ env }: Cli, url: string) {
  const parsed = parseObjectUrl(url, env);
  if (parsed.kind !== 'federated') return undefined;
  const { discoveryHost: host, path, isUsersOwn } = parsed;
  return { host, path: unescapePath(path), isUsersOwn };
}

/**
 * The token file that is sent with jobs for an object, where a login may read it; renewed unless it is fresh. A
 * URL that names a credential has chosen its token.
 */
export async function tokenFileFor(cli: Cli, url: string): Promise<string | undefined> {
  if (!/^(osdf|stash|pelican):/i.test(url)) return undefined;
  const path = homeOf(cli, url)?.path ?? '';
  const login = (await loginsOf(cli, url)).find((one) =>
    one.scopes.some((scope) => covers(scope, { ...one, verb: 'GET', path })),
  );
  if (login === undefined || !(await mayHaveFound(cli, url, login.federation))) return undefined;
  await renewLogin(cli, login, ((login.expires ?? Infinity) - login.obtained) / 2).catch((error: unknown) => {
    cli.signal.throwIfAborted();
    cli.err(notRenewed(login, error));
  });
  return new LoginStore(cli).tokenFile(login);
}

/** Renews the logins whose token files a plan names, whatever their date: servers say that they have ended. */
export async function renewTokensOf(cli: Cli, plan: Plan): Promise<void> {
  const store = new LoginStore(cli);
  const files = new Set([...fetchedBy(plan).map((source) => source.tokenFile), plan.imageTokenFile]);
  for (const login of await store.list().catch(() => []))
    if (files.has(store.tokenFile(login)))
      await renewLogin(cli, login).catch((error: unknown) => {
        cli.err(notRenewed(login, error));
      });
}

const notRenewed = ({ url }: StoredLogin, error: unknown): string =>
  `the login for ${url} was not renewed: ${asFault(error).message}\n`;

/** The tokens of the user's logins, as `openFederation` takes them. */
export function openStoredTokens(cli: Cli, wire: Omit<LoginTokensContext['wire'], 'signal'>): LoginTokens {
  const { clock, signal } = cli;
  return createLoginTokens({ store: new LoginStore(cli), clock, wire: { ...wire, signal } });
}

/** Renews a login that expires within the margin, if its issuer allows it. */
export async function renewLogin(cli: Cli, login: StoredLogin, marginMs = Infinity): Promise<StoredLogin> {
  // Some issuers do not say when a token expires.
  const refused = marginMs === Infinity ? login.accessToken : undefined;
  return await renew(loginContext(cli, createLocator(cli)), login, marginMs, refused);
}

/** Removes a login here, then asks its issuer to revoke it; the issuer's refusal is not a failure. */
export async function forgetLogin(cli: Cli, login: StoredLogin): Promise<void> {
  const { store, wire } = loginContext(cli, createLocator(cli));
  await store.forget(login);
  await revoke(wire, login).catch((error: unknown) => {
    cli.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    cli.err(`${login.url}: removed here, but its issuer did not revoke it: ${why}\n`);
  });
}
