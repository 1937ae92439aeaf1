import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isSecretName } from '../../base/file-without-secrets.ts';
import { tokenLocations } from '../../federation/token-locations.ts';
import { secretsFile } from '../../pool/stored-secrets.ts';
import type { Cli } from '../cli.ts';

/** Shorter values may be words. */
const minChars = 8;

/** Secrets that this user has here: variables, tokens, and those of a run. They may be in any file, without a name. */
export async function knownSecrets(cli: Cli, run: string | undefined): Promise<string[]> {
  const places = await tokenLocations(cli, {});
  const tokens = places.map(async (place) =>
    'token' in place ? place.token : readFile(place.file, 'utf8').catch(() => ''),
  );
  const stored =
    run === undefined
      ? '{}'
      : await readFile(secretsFile(cli.env, path.basename(run)), 'utf8').catch(() => '{}');
  const values = [
    ...Object.entries(cli.env).flatMap(([name, value = '']) => (isSecretName(name) ? [value] : [])),
    ...(await Promise.all(tokens)),
    ...Object.values(JSON.parse(stored) as Record<string, string>),
  ];
  return [...new Set(values.map((value) => value.trim()).filter((value) => value.length >= minChars))];
}
