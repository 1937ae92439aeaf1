import type { Command } from 'commander';
import { counted, formatDuration } from '@updraft/base';
import { asFault, Fault, usageFault } from '@updraft/account/fault';
import { createLocator } from '@updraft/pelican/federation';
import { LoginStore, type StoredLogin } from '@updraft/pelican/login';
import type { Cli } from '../cli.ts';
import { printJson, printPage } from '../text/phrases.ts';
import { addHelp } from '../help.ts';
import {
  describePermissions,
  forgetLogin,
  federationHost,
  loginsOf,
  renewLogin,
  runLogin,
  trustFederation,
} from '../object/login.ts';

interface Options {
  write?: true;
  list?: true;
  renew?: true;
  forget?: string;
  federation?: string;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'login.md', [
    'updraft login osdf:///chtc/staging/me   # for reading',
    'updraft login --write osdf:///inbox/me  # for uploads too',
  ])
    .argument('[url]', 'a namespace or a folder in it, as osdf:///PATH')
    .option('--write', 'ask for a token that may also upload and replace')
    .option('--federation <host>', 'confirm the federation of the URL; without a URL, only confirm it')
    .option('--list', 'list stored logins and confirmed federations')
    .option('--renew', 'renew the tokens of all stored logins')
    .option('--forget <url|host|all>', 'remove a login, a federation, or all, here and at the issuer')
    .option('--json', 'print lines of JSON')
    .action((url: string | undefined, options: Options) => login(cli, url, options));
}

async function login(cli: Cli, url: string | undefined, options: Options): Promise<void> {
  const { federation } = options;
  const actions = [url ?? federation, options.list, options.renew, options.forget];
  const wanted = actions.filter((one) => one !== undefined);
  if (wanted.length !== 1)
    throw usageFault(
      wanted.length === 0 ? 'nothing to log in to' : 'more than one action',
      'use one of: updraft login osdf:///PATH, updraft login --list, updraft login --forget osdf:///PATH',
    );
  if (options.forget !== undefined) await forget(cli, options.forget, options);
  else if (options.renew) await renewAll(cli, options);
  else if (url === undefined && federation !== undefined) {
    const { discoveryUrl } = await createLocator(cli).discover(federationHost(cli, federation), cli.signal);
    await trustFederation(cli, discoveryUrl);
    await list(cli, options);
  } else if (url === undefined) await list(cli, options);
  else {
    const write = options.write ? (['create', 'modify'] as const) : [];
    const made = await runLogin(cli, url, { write, federation, json: options.json === true });
    if (options.json) printJson(cli, shown(made));
    else cli.err(`logged in; may ${describePermissions(made)}; ${describeExpiry(made, cli.clock.now())}\n`);
  }
}

async function list(cli: Cli, { json }: Options): Promise<void> {
  const store = new LoginStore(cli);
  const [logins, confirmed] = [await store.list(), await store.confirmed()];
  const lines = [...logins.map(shown), ...confirmed.map((federation) => ({ federation, confirmed: true }))];
  if (json) cli.out(lines.map((one) => `${JSON.stringify(one)}\n`).join(''));
  else if (lines.length === 0) cli.err('no stored logins; to log in: updraft login osdf:///PATH\n');
  else {
    const columns = ['namespace', 'may', 'token', 'issuer'].map((title) => ({ title }));
    const rows = logins.map((one) => [
      one.url,
      describePermissions(one),
      describeExpiry(one, cli.clock.now()),
      one.issuer,
    ]);
    const federations = confirmed.map((url) => [new URL(url).host, 'get tokens that are found', '', '']);
    printPage(cli, [{ columns, rows: [...rows, ...federations] }]);
  }
}

/** Before jobs are submitted: a queued job gets the token that its file has when the job starts. */
async function renewAll(cli: Cli, options: Options): Promise<void> {
  const failed: Fault[] = [];
  for (const one of await new LoginStore(cli).list())
    await renewLogin(cli, one).catch((error: unknown) => {
      cli.signal.throwIfAborted();
      failed.push(
        new Fault('token-expired', `the login for ${one.url} was not renewed: ${asFault(error).message}`, {
          about: one.url,
          fix: `updraft login ${one.url}`,
          cause: error,
        }),
      );
    });
  await list(cli, options);
  if (failed[0] !== undefined) throw failed[0];
}

async function forget(cli: Cli, which: string, { json }: Options): Promise<void> {
  const store = new LoginStore(cli);
  const isAll = which === 'all';
  // This also removes files that are not valid logins.
  const some = isAll ? await store.list().catch(() => []) : await loginsOf(cli, which);
  const host = which.includes('/') ? undefined : federationHost(cli, which);
  const confirmed = isAll ? [] : await store.confirmed();
  const kept = confirmed.filter((url) => new URL(url).host !== host);
  if (some.length === 0 && kept.length === confirmed.length && !isAll)
    throw usageFault(`no stored login for ${which}`, 'list them: updraft login --list');
  for (const one of some) await forgetLogin(cli, one);
  if (isAll) await store.forgetAll();
  else if (kept.length < confirmed.length) await store.confirm(kept);
  if (json)
    cli.out(some.map((one) => `${JSON.stringify({ forgotten: one.url, issuer: one.issuer })}\n`).join(''));
  else cli.err(`${counted(some.length, 'login')}${host && !isAll ? ` of ${host}` : ''} forgotten\n`);
}

/** A login without its secrets. */
function shown({ url, namespace, federation, issuer, scopes, expires, refreshToken }: StoredLogin): object {
  const until = expires === undefined ? undefined : new Date(expires).toISOString();
  return { url, namespace, federation, issuer, scopes, expires: until, renews: refreshToken !== undefined };
}

function describeExpiry({ expires, refreshToken }: StoredLogin, now: number): string {
  if (expires === undefined) return 'no expiry given';
  const left = (expires - now) / 1000;
  const renews = refreshToken === undefined ? '' : ', renewed when used';
  return left > 0 ? `for ${formatDuration(left)}${renews}` : `expired${renews}`;
}
