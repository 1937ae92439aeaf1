import type { Command } from 'commander';
import { counted } from '../../base/counted.ts';
import { textTable } from '../../base/fit-table.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import { type StoredLogin, LoginStore } from '../../federation/login/login-store.ts';
import { formatDuration } from '../../job/units.ts';
import type { Cli } from '../cli.ts';
import { forgetLogin, runLogin, loginsOf, describePermissions, renewLogin } from '../object/login.ts';

interface Options {
  write?: true;
  list?: true;
  renew?: true;
  forget?: string;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[url]', 'a namespace or a folder in it, as osdf:///PATH')
    .option('--write', 'ask for a token that may also upload and replace')
    .option('--list', 'list stored logins')
    .option('--renew', 'renew the tokens of all stored logins')
    .option('--forget <url|all>', 'remove a login, or all, here and at the issuer')
    .option('--json', 'print lines of JSON')
    .action((url: string | undefined, options: Options) => login(cli, url, options));
}

async function login(cli: Cli, url: string | undefined, options: Options): Promise<void> {
  const wanted = [url, options.list, options.renew, options.forget].filter((one) => one !== undefined);
  if (wanted.length !== 1)
    throw new Fault('usage', wanted.length === 0 ? 'nothing to log in to' : 'more than one action', {
      fix: 'use one of: updraft login osdf:///PATH, updraft login --list, updraft login --forget osdf:///PATH',
    });
  if (options.forget !== undefined) await forget(cli, options.forget, options);
  else if (options.renew) await renewAll(cli, options);
  else if (url === undefined) await list(cli, options);
  else {
    const write = options.write ? (['create', 'modify'] as const) : [];
    const made = await runLogin(cli, url, { write, json: options.json === true });
    if (options.json) cli.out(`${JSON.stringify(shown(made))}\n`);
    else cli.err(`logged in; may ${describePermissions(made)}; ${describeExpiry(made, cli.clock.now())}\n`);
  }
}

async function list(cli: Cli, { json }: Options): Promise<void> {
  const logins = await new LoginStore(cli).list();
  if (json) cli.out(logins.map((one) => `${JSON.stringify(shown(one))}\n`).join(''));
  else if (logins.length === 0) cli.err('no stored logins; to log in: updraft login osdf:///PATH\n');
  else {
    const columns = ['namespace', 'may', 'token', 'issuer'].map((title) => ({ title }));
    const rows = logins.map((one) => [
      one.url,
      describePermissions(one),
      describeExpiry(one, cli.clock.now()),
      one.issuer,
    ]);
    cli.out(`${textTable(columns, rows).join('\n')}\n`);
  }
}

/** For a timer: a queued job gets the token that its file has when the job starts. */
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
  if (some.length === 0 && !isAll)
    throw new Fault('usage', `no stored login for ${which}`, { fix: 'list them: updraft login --list' });
  for (const one of some) await forgetLogin(cli, one);
  if (isAll) await store.forgetAll();
  if (json)
    cli.out(some.map((one) => `${JSON.stringify({ forgotten: one.url, issuer: one.issuer })}\n`).join(''));
  else cli.err(`${counted(some.length, 'login')} forgotten\n`);
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
