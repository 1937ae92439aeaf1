import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import {
  type FederationLocator,
  type Issuance,
  isUnder,
  type Located,
  parseObjectUrl,
  unescapePath,
} from '@updraft/pelican/federation';
import type { Cli } from '../cli.ts';

/**
 * On a terminal, offers a login for each object whose token is missing or expired, before anything else is asked or
 * drawn. Other errors show when the objects are used. Returns whether a login was made.
 */
export async function offerLogins(
  cli: Cli,
  federation: FederationLocator,
  urls: readonly string[],
  { verb, tokenFile, overwrite }: { verb: Verb; tokenFile?: string | undefined; overwrite?: boolean },
): Promise<boolean> {
  if (cli.ask === undefined || tokenFile !== undefined) return false;
  let isMade = false;
  const asked = new Set<string>();
  for (const url of urls) {
    const { issuance, problem } = await tokenProblem(cli, federation, url, verb);
    if (issuance === undefined || problem === undefined || asked.has(issuance.url)) continue;
    asked.add(issuance.url);
    cli.err(`${problem.message}\n`);
    const said = await cli.ask('Log in now? [Y/n] ');
    if (!/^(y(es)?)?$/i.test(said.trim())) continue;
    const { runLogin, describePermissions } = await import('./login.ts');
    const login = await runLogin(cli, folderOf(cli, url, issuance), {
      write: verb === 'PUT' && !overwrite ? ['create'] : writes[verb],
    });
    cli.err(`logged in; may ${describePermissions(login)}\n`);
    isMade = true;
  }
  return isMade;
}

type Verb = 'GET' | 'PUT' | 'DELETE';

/** Like Pelican's client: only the rights the command needs, in the object's folder. */
const writes = { GET: [], PUT: ['create', 'modify'], DELETE: ['modify'] } as const;

type TokenProblem = Pick<Located, 'issuance'> & { problem?: Fault };

async function tokenProblem(
  { signal }: Cli,
  federation: FederationLocator,
  url: string,
  verb: Verb,
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
        `${verb === 'PUT' ? 'uploads to' : 'deletes in'} ${issuance.namespace} need a token`,
      ),
    };
  } catch (error) {
    const isOfToken = error instanceof Fault && /^token-(missing|expired)$/.test(error.kind);
    return isOfToken ? { issuance, problem: error } : {};
  }
}

/** Its siblings will be needed next; the issuer covers nothing above the namespace. */
function folderOf({ env }: Cli, url: string, { namespace, url: root }: Issuance): string {
  const parsed = parseObjectUrl(url, env);
  const above = parsed.kind === 'federated' ? path.posix.dirname(unescapePath(parsed.path)) : '/';
  const [base = ''] = url.split('?', 1);
  return isUnder(above, namespace) ? path.posix.dirname(base.replace(/\/+$/, '')) : root;
}
