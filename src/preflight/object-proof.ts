import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import {
  type Located,
  type LocateOptions,
  type ObjectOptions,
  type OriginFacts,
  readOriginFacts,
} from '@updraft/pelican/federation';
import type { FetchOptions, Manifest } from '@updraft/pelican/transfer';
import type { Asking } from './asking.ts';

/** Whether an argument is a URL; `C:` and the like are not a scheme, but a mistyped one may be. */
export const hasScheme = (word: string): boolean => /^[A-Za-z][A-Za-z0-9+._-]+:/.test(word);

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

/** Reads the proof of one object; an object whose manifest is missing is not fetched. */
export async function readProof(
  { cwd }: Pick<Asking, 'cwd'>,
  url: string,
  proof: ProofOptions,
  access: FetchOptions,
): Promise<{ manifest?: Manifest; sha256?: string }> {
  const place = proof.manifest ?? (proof.staged ? beside(url) : undefined);
  const manifest = place === undefined ? undefined : await readManifest(cwd, place, access);
  return defined({ manifest, sha256: proof.sha256 });
}

function beside(url: string): string {
  const [base = '', query] = url.split('?', 2);
  return `${base}${manifestSuffix}${query === undefined ? '' : `?${query}`}`;
}

async function readManifest(cwd: string, place: string, access: FetchOptions): Promise<Manifest> {
  const { parseManifest } = await import('@updraft/pelican/transfer');
  return parseManifest(
    await readObjectText({ cwd }, place, access),
    place,
    hasScheme(place) ? 'fetched' : 'sent',
  );
}

/** The text of a proof: fetched, or read on this machine. */
export async function readObjectText(
  { cwd }: Pick<Asking, 'cwd'>,
  place: string,
  access: FetchOptions,
): Promise<string> {
  if (hasScheme(place)) {
    const { fetchToStream } = await import('@updraft/pelican/transfer');
    const parts: Buffer[] = [];
    await fetchToStream(place, (chunk) => void parts.push(Buffer.from(chunk)), access);
    return Buffer.concat(parts).toString('utf8');
  }
  try {
    return await readFile(path.resolve(cwd, place), 'utf8');
  } catch (error) {
    throw new Fault('file-invalid', `the manifest ${place} cannot be read: ${(error as Error).message}`, {
      about: place,
      cause: error,
    });
  }
}
