import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Env, isPrivate, tried } from '@updraft/base';

/** A place where a token may be: a variable, or a file named by the user, a variable or convention. */
export type TokenLocation = { name: string; isNamed?: true } & ({ token: string } | TokenFile);

interface TokenFile {
  file: string;
  /** In a folder where other users can create files too. */
  isShared?: true;
}

/**
 * Where to look, in order: the file the user named; the credential the URL names; `UPDRAFT_BEARER_TOKEN_FILE`, which
 * names the token for all objects of federations; then what is only found: `BEARER_TOKEN`; `BEARER_TOKEN_FILE`;
 * `$XDG_RUNTIME_DIR/bt_u<uid>`; `/tmp/bt_u<uid>`; the file `TOKEN` names; HTCondor's credentials (`scitokens.use`,
 * then all others by name).
 */
export async function tokenLocations(
  context: { env: Env; cwd: string; uid: number },
  choice: { tokenFile?: string; credential?: string },
  onlyNamed = false,
): Promise<TokenLocation[]> {
  const { env, cwd, uid } = context;
  const inCwd = (file: string): string => path.resolve(cwd, file);
  if (choice.tokenFile !== undefined) return [at(inCwd(choice.tokenFile), { isNamed: true })];
  const creds = inCwd(nonEmpty(env['_CONDOR_CREDS']) ?? '.condor_creds');
  const named = namedCredential(creds, choice.credential);
  // Outside of any federation nothing else decides where a token goes.
  if (onlyNamed) return named;
  const runtime = nonEmpty(env['XDG_RUNTIME_DIR']);
  return [
    ...named,
    ...fromVariable(env, 'UPDRAFT_BEARER_TOKEN_FILE', inCwd, { isNamed: true }),
    ...inVariable(env, 'BEARER_TOKEN'),
    ...fromVariable(env, 'BEARER_TOKEN_FILE', inCwd),
    ...(runtime === undefined ? [] : [at(path.join(runtime, `bt_u${uid}`), { isShared: true })]),
    at(`/tmp/bt_u${uid}`, { isShared: true }),
    ...fromVariable(env, 'TOKEN', inCwd),
    ...(await allCredentials(creds)),
  ];
}

const at = (file: string, more: { isNamed?: true; isShared?: true } = {}): TokenLocation => ({
  file,
  name: file,
  ...more,
});

/** HTCondor stores `name.handle` as `name_handle.use`. */
function namedCredential(creds: string, credential: string | undefined): TokenLocation[] {
  if (credential === undefined) return [];
  const names = new Set([credential, credential.replaceAll('.', '_')]);
  return [...names].map((name) => at(path.join(creds, `${path.basename(name)}.use`), { isNamed: true }));
}

function inVariable(env: Env, name: string): TokenLocation[] {
  const token = tokenIn(env[name] ?? '');
  return token === undefined ? [] : [{ name, token }];
}

function fromVariable(
  env: Env,
  name: string,
  resolve: (file: string) => string,
  more: { isNamed?: true } = {},
): TokenLocation[] {
  const file = nonEmpty(env[name]);
  return file === undefined ? [] : [{ ...at(resolve(file), more), name: `${name} (${resolve(file)})` }];
}

async function allCredentials(creds: string): Promise<TokenLocation[]> {
  const first = 'scitokens.use';
  const entries = await readdir(creds, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name);
  const others = names.filter((name) => name !== first).sort();
  return [first, ...others].map((name) => at(path.join(creds, name)));
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

/** A token, or why a file has none. */
type TokenRead = { token: string } | { without: string };

export interface TokenFiles {
  /** The token in a file; re-read only when the file has changed. */
  read(file: TokenFile, uid: number): Promise<TokenRead>;
}

const none = { without: 'no token' };
const foreign = { without: 'not used: other users own it or can write to it' };

export function createTokenFiles(): TokenFiles {
  const known = new Map<string, { version: string; read: TokenRead }>();
  return {
    async read({ file, isShared }, uid) {
      const info = await stat(file).catch(() => undefined);
      if (info?.isFile() !== true || info.size > maxBytes) return none;
      // Neither the file nor a link to it may belong to another user.
      if (isShared === true && !(isPrivate(info, uid) && (await lstat(file)).uid === uid)) return foreign;
      const version = [info.dev, info.ino, info.size, info.mtimeMs, info.ctimeMs].join(' ');
      const before = known.get(file);
      if (before?.version === version) return before.read;
      const token = tokenIn(await readFile(file, 'utf8').catch(() => ''));
      const read = token === undefined ? none : { token };
      known.set(file, { version, read });
      return read;
    },
  };
}

const maxBytes = 1 << 16;

/** Raw text, or JSON with `access_token`. Text that is not valid in a header is not a token. */
function tokenIn(text: string): string | undefined {
  const trimmed = text.trim();
  const token = trimmed.startsWith('{') ? accessToken(trimmed) : trimmed;
  return token !== undefined && /^[\x21-\x7e]+$/.test(token) ? token : undefined;
}

function accessToken(json: string): string | undefined {
  const value = tried(() => JSON.parse(json) as { access_token?: unknown } | null);
  return typeof value?.access_token === 'string' ? value.access_token : undefined;
}
