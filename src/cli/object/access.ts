import path from 'node:path';
import { defined, type Env } from '@updraft/base';
import { usageFault } from '@updraft/account/fault';
import {
  createLocator,
  type FederationLocator,
  type LoginTokens,
  parseObjectUrl,
  unescapePath,
} from '@updraft/pelican/federation';
import { missingTrust } from '@updraft/pelican/trust';
import type { FetchOptions } from '@updraft/pelican/transfer';
import { limitsFromEnv } from '@updraft/pelican/limits';
import type { ProofOptions } from '../../preflight/object-proof.ts';
import type { Cli } from '../cli.ts';
import { withCacheOptions, type CacheOptions } from './cache-options.ts';

/** The last part of an object's path, as a file name; never one that could leave its folder. */
export function objectName(text: string, env: Env): string {
  const url = parseObjectUrl(text, env);
  if (url.kind === 'file') return path.basename(url.file);
  const pathname = unescapePath(url.kind === 'plain' ? new URL(url.href).pathname : url.path);
  const name = path.posix.basename(pathname);
  if (name !== '' && name !== '.' && name !== '..' && !name.includes('\0')) return name;
  throw usageFault(
    `${url.text} has no file name`,
    'add the name of the file to write after the URL',
    url.text,
  );
}

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

/** Options of commands that transfer objects. */
export interface ObjectFlags {
  tokenFile?: string;
  json?: true;
  quiet?: true;
}

/** Refuses proofs that cannot hold for each of several objects. */
export function checkProof(proof: ProofOptions, objects: number): void {
  const word = proof.manifest === undefined ? '--sha256' : '--manifest';
  if (objects > 1 && (proof.manifest ?? proof.sha256) !== undefined)
    throw usageFault(
      `${word} is for one object, but there are ${objects}`,
      'fetch them one by one, or use --staged if `updraft stage` uploaded them',
    );
}
