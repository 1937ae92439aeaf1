import { type Fact, documentText } from '@updraft/view/document';
import { errWidth, printJson } from '../text/phrases.ts';
import { counted, shellQuote, given } from '@updraft/base';
import { livenessOf } from '@updraft/base/processes';
import { Fault, usageFault } from '@updraft/account/fault';
import {
  askAdmin,
  type FederationState,
  findFederation,
  type ServerCounters,
  type TroubleStatus,
} from '@updraft/mini/federation';
import type { Cli } from '../cli.ts';
import { miniFolder } from './state-folder.ts';

interface Options {
  state?: string;
  json?: true;
}

interface Status {
  trouble: TroubleStatus[];
  counters: Record<string, ServerCounters>;
}

export async function federationStatus(cli: Cli, options: Options): Promise<void> {
  const state = await runningFederation(cli, options.state);
  const { trouble, counters } = (await ask(state, 'GET', '/status')) as Status;
  if (options.json) {
    printJson(cli, { ...publicState(state), trouble, counters });
    return;
  }
  showFederation(cli, state, {});
  const facts = [state.director, state.origin, ...state.caches].map(({ name }): Fact => {
    const { requests = 0, bytes = 0, outcomes = {} } = counters[name] ?? {};
    const kinds = Object.entries(outcomes).map(([outcome, count]) => `${count} x ${outcome}`);
    const served = `${counted(requests, 'request')}, ${counted(bytes, 'byte')}`;
    return [name, [served, kinds.join(', ')].filter((part) => part !== '').join(': ')];
  });
  cli.err(documentText(['', { facts }], errWidth(cli)));
  showTrouble(cli, trouble);
}

export async function federationToken(
  cli: Cli,
  prefix: string | undefined,
  options: Options & { scope?: string; expires: string },
): Promise<void> {
  const state = await runningFederation(cli, options.state);
  const expiresInSeconds = Number(options.expires);
  if (!Number.isInteger(expiresInSeconds))
    throw usageFault(`--expires ${options.expires}: expected a whole number of seconds`);
  const request = { namespace: prefix, scope: options.scope, expiresInSeconds };
  const answer = (await ask(state, 'POST', '/token', request)) as { token: string };
  if (options.json) printJson(cli, answer);
  else cli.out(`${answer.token}\n`);
}

/** Stands in for the user who approves or denies the login on the issuer's page. */
export async function federationApprove(
  cli: Cli,
  code: string,
  { deny = false, state, json }: Options & { deny?: boolean },
): Promise<void> {
  await ask(await runningFederation(cli, state), 'POST', '/login', { code, deny });
  const verdict = deny ? 'denied' : 'approved';
  if (json) printJson(cli, { code, verdict });
  else cli.err(`${verdict}\n`);
}

export async function federationTrouble(
  cli: Cli,
  rules: string[],
  options: Options & { clear?: true; end?: string },
): Promise<void> {
  const state = await runningFederation(cli, options.state);
  if (options.clear) await ask(state, 'DELETE', '/trouble');
  if (options.end !== undefined) await ask(state, 'DELETE', '/trouble', { id: Number(options.end) });
  for (const rule of rules) await ask(state, 'POST', '/trouble', { rule });
  const { trouble } = (await ask(state, 'GET', '/status')) as Status;
  if (options.json) printJson(cli, { trouble });
  else showTrouble(cli, trouble);
}

/** Sends SIGTERM to the recorded process after checking that it is still ours. Already gone is fine. */
export async function federationDown(cli: Cli, options: Options): Promise<void> {
  const folder = miniFolder(cli, 'mini-federation', options.state);
  const state = await findFederation(folder);
  if (state !== undefined) {
    cli.kill(state.process.pid, 'SIGTERM');
    while (livenessOf(state.process) === 'alive') await cli.clock.sleep(50, cli.signal);
  }
  if (options.json) printJson(cli, { ended: state !== undefined, pid: state?.process.pid });
  else
    cli.err(state === undefined ? 'no mini federation is running\n' : `ended process ${state.process.pid}\n`);
}

function showTrouble(cli: Cli, trouble: TroubleStatus[]): void {
  if (trouble.length === 0) cli.err('  no trouble\n');
  for (const each of trouble) cli.out(`${each.id}\t${each.rule}\t${describeFired(each)}\n`);
}

/** Such as `down`: the server sees no requests, so its rule can only have happened. */
function describeFired({ fired, seen }: TroubleStatus): string {
  return fired > seen ? 'happened' : `hit ${fired} of ${counted(seen, 'request')}`;
}

async function ask(state: FederationState, method: string, where: string, body?: object): Promise<unknown> {
  try {
    return await askAdmin(state.admin, method, where, body);
  } catch (error) {
    throw new Fault('usage', error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function runningFederation(cli: Cli, given: string | undefined): Promise<FederationState> {
  const folder = miniFolder(cli, 'mini-federation', given);
  const state = await findFederation(folder);
  if (state !== undefined) return state;
  throw new Fault(
    'servers-unreachable',
    `no mini federation is running (looked for its state in ${folder})`,
    { fix: 'updraft mini federation up --publish /demo=FOLDER --detach' },
  );
}

/** Prints shell exports on stdout; addresses and examples on stderr. */
export function showFederation(cli: Cli, state: FederationState, { json }: { json?: true }): void {
  if (json) {
    printJson(cli, publicState(state));
    return;
  }
  for (const [name, value] of variables(state)) cli.out(`export ${name}=${shellQuote(value)}\n`);
  const facts: Fact[] = given(
    ...[state.director, state.origin, ...state.caches].map(({ name, url, httpUrl }): Fact => [
      name,
      `${url}   ${httpUrl}`,
    ]),
    ...state.namespaces.map(({ prefix, folder, public: open, writable }): Fact => {
      const access = `${open ? 'public' : 'with a token'}${writable ? ', writable' : ''}`;
      return [prefix, `${folder} (${access})`];
    }),
    state.like !== undefined && (['--like', state.like] as const),
  );
  const commands = examples(state).map((line) => `  ${line}`);
  cli.err(documentText(['', { facts }, '', 'try:', ...commands], errWidth(cli)));
}

/** Everything except the admin key. */
function publicState(state: FederationState): object {
  return { ...state, admin: { url: state.admin.url } };
}

function variables(state: FederationState): [string, string][] {
  const token = state.namespaces.find(({ tokenFile }) => tokenFile !== undefined)?.tokenFile;
  return given(
    ['UPDRAFT_OSDF_HOST', state.discoveryHost],
    ['SSL_CERT_FILE', state.caFile],
    token !== undefined && (['BEARER_TOKEN_FILE', token] as [string, string]),
  );
}

/** Passes the token through a pipe: other users can read a command line. */
function examples({ discoveryUrl, caFile, namespaces }: FederationState): string[] {
  const curl = `curl -L --cacert ${shellQuote(caFile)}`;
  return namespaces.map(({ prefix, public: open, tokenFile }) => {
    const url = `${discoveryUrl}${prefix}/FILE`;
    if (open || tokenFile === undefined) return `${curl} ${url}`;
    return `sed 's/^/Authorization: Bearer /' ${shellQuote(tokenFile)} | ${curl} -H @- ${url}`;
  });
}
