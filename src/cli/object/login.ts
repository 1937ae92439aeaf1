import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import { plainHttpRule } from '../../federation/discovery.ts';
import { isUnder, unescapePath } from '../../federation/escape-path.ts';
import type { Located } from '../../federation/located.ts';
import { createLocator, type FederationLocator } from '../../federation/locator.ts';
import { logIn } from '../../federation/login/log-in.ts';
import { type KeptLogin, LoginStore } from '../../federation/login/login-store.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';
import { createRequest } from '../../http/request.ts';
import { formatDuration } from '../../job/units.ts';
import type { Cli } from '../cli.ts';

interface LoginOptions {
  write: boolean;
  /** One line of JSON for the code, on stdout. */
  json?: boolean;
}

/** Logs in for what is at and below a URL: shows page and code, waits for the person, keeps the login. */
export async function logInAt(cli: Cli, url: string, { write, json }: LoginOptions): Promise<KeptLogin> {
  const { clock, signal, env } = cli;
  const locator = createLocator(cli);
  const wire = {
    request: createRequest(locator.wire),
    plainHttp: plainHttpRule(env),
    userAgent: `updraft/${cli.version}`,
    signal,
  };
  return await logIn({ locator, store: new LoginStore(cli), wire, clock, env }, url, {
    write,
    invite(invitation, asked) {
      const { url: page, userCode, expires } = invitation;
      if (json) cli.out(`${JSON.stringify({ page, userCode, expires: new Date(expires).toISOString() })}\n`);
      const left = formatDuration((expires - clock.now()) / 1000);
      cli.err(
        [
          `login for ${asked.namespace} at ${asked.issuer}`,
          `asks to ${permissionWords(asked)}`,
          '',
          `  open   ${page}`,
          `  code   ${userCode}`,
          '',
          `waiting until it is approved there, for up to ${left}; Ctrl-C stops`,
          '',
        ].join('\n'),
      );
    },
  });
}

type Permitted = Pick<KeptLogin, 'scopes' | 'namespace' | 'basePath'>;

const verbs: Record<string, string> = {
  'storage.read': 'read',
  'storage.create': 'create',
  'storage.modify': 'change',
};

/** `read /ns, create /ns/sub`. */
export function permissionWords({ scopes, basePath, namespace }: Permitted): string {
  const base = (basePath ?? namespace).replace(/\/+$/, '');
  const words = scopes.map((scope) => {
    const [what = '', where = '/'] = scope.split(/:(.*)/s, 2);
    return `${verbs[what] ?? what} ${base}${where === '/' ? '' : where}`;
  });
  return words.length === 0 ? 'nothing' : words.join(', ');
}

/**
 * At a terminal, offers a login for each object whose token is missing or too old, before anything else is asked or
 * drawn there. Whatever else is wrong shows when the objects are used.
 */
export async function offerLogins(
  cli: Cli,
  federation: FederationLocator,
  urls: readonly string[],
  { verb, tokenFile }: { verb: 'GET' | 'PUT' | 'DELETE'; tokenFile?: string | undefined },
): Promise<void> {
  if (cli.ask === undefined || tokenFile !== undefined) return;
  const asked = new Set<string>();
  for (const url of urls) {
    const { issuance, problem } = await tokenProblem(cli, federation, url, verb);
    if (issuance === undefined || problem === undefined || asked.has(issuance.url)) continue;
    asked.add(issuance.url);
    cli.err(`${problem.message}\n`);
    const said = await cli.ask('Log in now? [Y/n] ');
    if (!/^(y(es)?)?$/i.test(said.trim())) continue;
    const login = await logInAt(cli, folderOf(url), { write: verb !== 'GET' });
    cli.err(`logged in; may ${permissionWords(login)}\n`);
  }
}

type TokenProblem = Pick<Located, 'issuance'> & { problem?: Fault };

async function tokenProblem(
  { signal }: Cli,
  federation: FederationLocator,
  url: string,
  verb: 'GET' | 'PUT' | 'DELETE',
): Promise<TokenProblem> {
  const located = await federation.locate(url, { verb, signal }).catch(() => undefined);
  const [server] = located?.servers ?? [];
  if (located?.issuance === undefined || server === undefined) return {};
  const { issuance } = located;
  try {
    const headers = await located.headers(server);
    if (verb === 'GET' || 'Authorization' in headers) return {};
    return {
      issuance,
      problem: new Fault(
        'token-missing',
        `${verb === 'PUT' ? 'uploads to' : 'deletes in'} ${issuance.namespace} ask for a token`,
      ),
    };
  } catch (error) {
    const isOfToken = error instanceof Fault && /^token-(missing|expired)$/.test(error.kind);
    return isOfToken ? { issuance, problem: error } : {};
  }
}

/** Its neighbours will be wanted next. */
function folderOf(url: string): string {
  const [base = ''] = url.split('?', 1);
  return path.posix.dirname(base.replace(/\/+$/, ''));
}

/** The kept logins for what a URL names, by the URL alone; that of the longest namespace first. */
export async function loginsOf(cli: Cli, url: string): Promise<KeptLogin[]> {
  const parsed = parseObjectUrl(url, cli.env);
  if (parsed.kind !== 'federated') return [];
  const object = unescapePath(parsed.path);
  const logins = (await new LoginStore(cli).list()).filter(
    ({ federation, namespace }) =>
      new URL(federation).host === parsed.discoveryHost && isUnder(object, namespace),
  );
  return logins.sort((one, other) => other.namespace.length - one.namespace.length);
}
