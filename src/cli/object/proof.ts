import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import { fetchToStream } from '../../transfer/fetch-to-stream.ts';
import type { FetchOptions } from '../../transfer/fetch.ts';
import { parseManifest, type Manifest } from '../../transfer/proof/manifest.ts';
import type { Cli } from '../cli.ts';
import { isUrl } from './object-name.ts';

/** What the user says the bytes must be. */
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
    throw new Fault('usage', `${word} is about one object, and there are ${objects}`, {
      fix: 'fetch them one by one, or use --staged if `updraft stage` uploaded them',
    });
}

/** Reads what proves one object; an object whose manifest is not there is not fetched. */
export async function readProof(
  cli: Cli,
  url: string,
  proof: ProofOptions,
  access: FetchOptions,
): Promise<{ manifest?: Manifest; sha256?: string }> {
  const place = proof.manifest ?? (proof.staged ? beside(url) : undefined);
  const manifest = place === undefined ? undefined : await readManifest(cli, place, access);
  return {
    ...(manifest === undefined ? {} : { manifest }),
    ...(proof.sha256 === undefined ? {} : { sha256: proof.sha256 }),
  };
}

function beside(url: string): string {
  const [base = '', query] = url.split('?', 2);
  return `${base}${manifestSuffix}${query === undefined ? '' : `?${query}`}`;
}

async function readManifest(cli: Cli, place: string, access: FetchOptions): Promise<Manifest> {
  if (isUrl(place)) {
    const parts: Buffer[] = [];
    await fetchToStream(place, (chunk) => void parts.push(Buffer.from(chunk)), access);
    return parseManifest(Buffer.concat(parts).toString('utf8'), place, 'fetched');
  }
  try {
    return parseManifest(await readFile(path.resolve(cli.cwd, place), 'utf8'), place, 'sent');
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault('file-invalid', `the manifest ${place} cannot be read: ${(error as Error).message}`, {
      about: place,
      cause: error,
    });
  }
}
