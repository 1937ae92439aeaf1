import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { defined, type Env } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import {
  createLocator,
  type FederationLocator,
  type Located,
  type LocateOptions,
  type LoginTokens,
  type ObjectOptions,
  type OriginFacts,
  parseObjectUrl,
  readOriginFacts,
  unescapePath,
} from '@updraft/pelican/federation';
import { missingTrust } from '@updraft/pelican/trust';
import type { FetchOptions, Manifest } from '@updraft/pelican/transfer';
import { limitsFromEnv } from '@updraft/pelican/limits';
import type { Cli } from '../cli.ts';
import { withCacheOptions, type CacheOptions } from './cache-options.ts';

/** The last part of an object's path, as a file name; never one that could leave its folder. */
export function objectName(text: string, env: Env): string {
  const url = parseObjectUrl(text, env);
  if (url.kind === 'file') return path.basename(url.file);
  const pathname = unescapePath(url.kind === 'plain' ? new URL(url.href).pathname : url.path);
  const name = path.posix.basename(pathname);
  if (name !== '' && name !== '.' && name !== '..' && !name.includes('\0')) return name;
  throw new Fault('usage', `${url.text} has no file name`, {
    about: url.text,
    fix: 'add the name of the file to write after the URL',
  });
}

/** Whether an argument is a URL; `C:` and the like are not a scheme, but a mistyped one may be. */
export const hasScheme = (word: string): boolean => /^[A-Za-z][A-Za-z0-9+._-]+:/.test(word);

/** A URL one level down, the name escaped to be taken literally. */
export function below(url: string, name: string): string {
  const [base = '', query] = url.split('?', 2);
  const escaped = name.split('/').map(encodeURIComponent).join('/');
  return `${base.replace(/\/+$/, '')}/${escaped}${query === undefined ? '' : `?${query}`}`;
}

/** A person waiting at the prompt learns sooner of a refused connection or token; a job's agent has more time. */
const refusedMs = 3_500;

/** How interactive commands fetch objects. */
export const accessTo = (
  { env, clock, signal }: Cli,
  locator: FederationLocator,
  { tokenFile }: { tokenFile?: string },
): FetchOptions => ({
  locator,
  clock,
  signal,
  limits: { maxUnreachedPasses: 4, renewSeconds: 60, ...limitsFromEnv(env) },
  ...defined({ tokenFile }),
});

/** Says which certificate authorities are missing here. */
export function warnOfTrust({ env, err }: Pick<Cli, 'env' | 'err'>): void {
  for (const line of missingTrust(env)) err(`warning: ${line}\n`);
}

/** Locates objects, with the tokens of the user's logins where no other token fits. */
export function openFederation(cli: Cli, options: CacheOptions = {}): FederationLocator {
  warnOfTrust(cli);
  const locator = createLocator({
    ...cli,
    refusedTimeoutMs: refusedMs,
    loginTokens(wire) {
      let tokens: Promise<LoginTokens> | undefined;
      const open = async (): Promise<LoginTokens> => (await import('./login.ts')).openStoredTokens(cli, wire);
      return {
        find: async (...asked) => await (await (tokens ??= open())).find(...asked),
        isConfirmed: async (url) => await (await (tokens ??= open())).isConfirmed(url),
      };
    },
  });
  return withCacheOptions(locator, options);
}

/** What the origin says about an object; undefined where it cannot be asked. */
export async function statUrl(url: string, how: ObjectOptions): Promise<OriginFacts | undefined> {
  const locate = (options: LocateOptions): Promise<Located> =>
    how.federation.locate(url, { ...how, ...options });
  return await readOriginFacts(await locate({}), {
    wire: how.federation.wire,
    locate,
    ...defined({ signal: how.signal }),
  });
}

/** Options of commands that transfer objects. */
export interface ObjectFlags {
  tokenFile?: string;
  json?: true;
  quiet?: true;
}

/** What the user says the content must match. */
export interface ProofOptions {
  /** File or URL of the manifest. */
  manifest?: string;
  /** The manifest is beside the object, where `updraft stage` put it. */
  staged?: true;
  sha256?: string;
}

/** What `updraft stage` adds to an object's name for its manifest. */
export const manifestSuffix = '.manifest.json';

/** Refuses proofs that cannot hold for each of several objects. */
export function checkProof(proof: ProofOptions, objects: number): void {
  const word = proof.manifest === undefined ? '--sha256' : '--manifest';
  if (objects > 1 && (proof.manifest ?? proof.sha256) !== undefined)
    throw new Fault('usage', `${word} is for one object, but there are ${objects}`, {
      fix: 'fetch them one by one, or use --staged if `updraft stage` uploaded them',
    });
}

/** Reads the proof of one object; an object whose manifest is missing is not fetched. */
export async function readProof(
  cli: Cli,
  url: string,
  proof: ProofOptions,
  access: FetchOptions,
): Promise<{ manifest?: Manifest; sha256?: string }> {
  const place = proof.manifest ?? (proof.staged ? beside(url) : undefined);
  const manifest = place === undefined ? undefined : await readManifest(cli, place, access);
  return defined({ manifest, sha256: proof.sha256 });
}

function beside(url: string): string {
  const [base = '', query] = url.split('?', 2);
  return `${base}${manifestSuffix}${query === undefined ? '' : `?${query}`}`;
}

async function readManifest(cli: Cli, place: string, access: FetchOptions): Promise<Manifest> {
  const { parseManifest } = await import('@updraft/pelican/transfer');
  return parseManifest(
    await readObjectText(cli, place, access),
    place,
    hasScheme(place) ? 'fetched' : 'sent',
  );
}

/** The text of a proof: fetched, or read on this machine. */
export async function readObjectText(cli: Cli, place: string, access: FetchOptions): Promise<string> {
  if (hasScheme(place)) {
    const { fetchToStream } = await import('@updraft/pelican/transfer');
    const parts: Buffer[] = [];
    await fetchToStream(place, (chunk) => void parts.push(Buffer.from(chunk)), access);
    return Buffer.concat(parts).toString('utf8');
  }
  try {
    return await readFile(path.resolve(cli.cwd, place), 'utf8');
  } catch (error) {
    throw new Fault('file-invalid', `the manifest ${place} cannot be read: ${(error as Error).message}`, {
      about: place,
      cause: error,
    });
  }
}
