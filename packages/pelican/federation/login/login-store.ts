import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  type Clock,
  type Env,
  field,
  isGone,
  listOf,
  Mismatch,
  optional,
  shape,
  text,
  unlessGone,
} from '@updraft/base';
import { identifySelf, withLease } from '@updraft/base/processes';
import { stateFolder } from '@updraft/base/user-folders';
import { Fault } from '../../fault.ts';

/** Our client registration at an issuer: made once, then reused. */
export interface OAuthClient {
  id: string;
  secret?: string;
}

/** What a login is for; there is one login per purpose. */
export interface LoginKey {
  /** Where its federation was discovered: its tokens go nowhere else. */
  federation: string;
  issuer: string;
  namespace: string;
}

export interface StoredLogin extends LoginKey {
  /** The namespace, as the user would write it. */
  url: string;
  client: OAuthClient;
  tokenEndpoint: string;
  revocationEndpoint?: string;
  /** The permissions of the token, such as `storage.read:/sub`. */
  scopes: string[];
  /** Base of the paths in scopes, if it is not the namespace. */
  basePath?: string;
  accessToken: string;
  /** Absent if the issuer does not issue any, or no longer accepts the last one. */
  refreshToken?: string;
  /** Milliseconds since the epoch. */
  obtained: number;
  expires?: number;
}

const number = field<number>('a number', (value) => typeof value === 'number');
const clientShape = shape<OAuthClient>({ id: text, secret: optional(text) });
const loginShape = shape<StoredLogin>({
  federation: text,
  issuer: text,
  namespace: text,
  url: text,
  client: clientShape,
  tokenEndpoint: text,
  revocationEndpoint: optional(text),
  scopes: listOf(text),
  basePath: optional(text),
  accessToken: text,
  refreshToken: optional(text),
  obtained: number,
  expires: optional(number),
});

/** How long another process may lock a login: renewing takes one request. */
const leaseMs = 60_000;
const waitMs = 50;
const confirmedName = 'federations';
const [loginEnd, tokenEnd, clientEnd, leaseEnd] = ['.json', '.token', '.client', '.lease'];

/**
 * Logins of one user, in the state folder: a folder and files that only the user can read. The token is also in a
 * separate file, for jobs: what can renew it stays here.
 */
export class LoginStore {
  readonly #folder: string;
  readonly #uid: number;

  constructor({ env, uid }: { env: Env; uid: number }) {
    this.#folder = path.join(stateFolder(env), 'logins');
    this.#uid = uid;
  }

  /** All logins, as they are now: another process may have renewed them. */
  async list(): Promise<StoredLogin[]> {
    const names = (await unlessGone(readdir(this.#folder))) ?? [];
    const kept = names.filter((name) => name.endsWith(loginEnd)).sort();
    const read = await Promise.all(kept.map((name) => this.#read(name, loginShape)));
    return read.filter((login) => login !== undefined);
  }

  async find(key: LoginKey): Promise<StoredLogin | undefined> {
    return await this.#read(idOf(key) + loginEnd, loginShape);
  }

  /** The file that holds a login's token alone. */
  tokenFile(key: LoginKey): string {
    return path.join(this.#folder, idOf(key) + tokenEnd);
  }

  async write(login: StoredLogin): Promise<void> {
    await this.#write(idOf(login) + loginEnd, `${JSON.stringify(login, undefined, 2)}\n`);
    await this.#write(idOf(login) + tokenEnd, `${login.accessToken}\n`);
  }

  /** Our client registration at the issuer. */
  async findClient(key: LoginKey): Promise<OAuthClient | undefined> {
    return await this.#read(idOf(key) + clientEnd, clientShape);
  }

  async writeClient(key: LoginKey, client: OAuthClient): Promise<void> {
    await this.#write(idOf(key) + clientEnd, `${JSON.stringify(client)}\n`);
  }

  /** The federations that the user confirmed by name: tokens that are only found may go there. */
  async confirmed(): Promise<string[]> {
    return (await this.#read(confirmedName, listOf(text))) ?? [];
  }

  /** Replaces the list of confirmed federations. */
  async confirm(federations: readonly string[]): Promise<void> {
    await this.#write(confirmedName, `${JSON.stringify(federations)}\n`);
  }

  /** Removes everything stored for a login. */
  async forget(key: LoginKey): Promise<void> {
    for (const end of [loginEnd, tokenEnd, clientEnd, leaseEnd])
      for (const name of [idOf(key) + end, idOf(key) + end + draftEnd])
        await rm(path.join(this.#folder, name), { recursive: true, force: true });
  }

  async forgetAll(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Runs `action` while no other process of this user renews or replaces the login. */
  async inTurn<T>(
    key: LoginKey,
    { clock, signal }: { clock: Clock; signal?: AbortSignal | undefined },
    action: () => Promise<T>,
  ): Promise<T> {
    const self = identifySelf();
    if (self === undefined) return await action();
    await this.#makeFolder();
    const folder = path.join(this.#folder, idOf(key) + leaseEnd);
    const start = clock.monotonic();
    return await withLease(folder, self, clock, action, async () => {
      // The lock of a process that died on another machine is not detectable from here.
      if (clock.monotonic() - start > leaseMs) await rm(folder, { recursive: true, force: true });
      else await clock.sleep(waitMs, signal);
    });
  }

  async #read<T>(name: string, fields: (value: unknown) => T | Mismatch): Promise<T | undefined> {
    const file = path.join(this.#folder, name);
    try {
      const info = await lstat(file);
      if (!info.isFile() || info.uid !== this.#uid || (info.mode & 0o077) !== 0)
        throw notOwnFault(file, 'other users can read it, or own it');
      const read = fields(JSON.parse(await readFile(file, 'utf8')) as unknown);
      if (read instanceof Mismatch) throw notOwnFault(file, read.describe('the file'));
      return read;
    } catch (error) {
      if (isGone(error)) return undefined;
      if (error instanceof SyntaxError) throw notOwnFault(file, 'it is not JSON');
      throw error;
    }
  }

  async #write(name: string, content: string): Promise<void> {
    await this.#makeFolder();
    const file = path.join(this.#folder, name);
    const draft = file + draftEnd;
    try {
      {
        await using handle = await open(draft, 'w', 0o600);
        await handle.writeFile(content);
        await handle.sync();
      }
      await rename(draft, file);
    } finally {
      await rm(draft, { force: true });
    }
  }

  async #makeFolder(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const info = await lstat(this.#folder);
    if (!info.isDirectory() || info.uid !== this.#uid)
      throw notOwnFault(this.#folder, 'the folder is not yours');
    if ((info.mode & 0o077) !== 0) await chmod(this.#folder, 0o700);
  }
}

const draftEnd = '.draft';

function idOf({ federation, issuer, namespace }: LoginKey): string {
  const key = [federation, issuer, namespace].join('\n');
  const name = namespace
    .replaceAll(/[^\w-]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 40);
  return `${name}-${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

function notOwnFault(file: string, why: string): Fault {
  return new Fault('file-invalid', `${file} is not used as a login: ${why}`, {
    about: file,
    fix: `remove it and log in again`,
  });
}
