import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Env } from '@updraft/base';
import type { Plan } from './plan.ts';

/** Where a secret of the training comes from, and its value if it was found. */
export interface SecretFound {
  name: string;
  /** For people: never the value. */
  from: string;
  value: string | undefined;
}

/** Reads the secrets of a plan. Values must not reach any plan, work order, journal or message. */
export async function findSecrets({ spec, folder }: Plan, env: Env): Promise<SecretFound[]> {
  return await Promise.all(
    Object.entries(spec.train.secrets ?? {}).map(async ([name, source]) => {
      if (source.from === 'env') {
        const variable = source.name ?? name;
        return { name, from: `the environment variable ${variable}`, value: env[variable] || undefined };
      }
      const home = env['HOME'] ?? '~';
      const file = path.resolve(
        folder,
        (source.path ?? '').replace(/^~(?=\/)/, () => home),
      );
      const text = textIn(await readFile(file).catch(() => Buffer.alloc(0)));
      if (text === undefined) return { name, from: `${file} as UTF-8 without zero bytes`, value: undefined };
      return { name, from: file, value: text.replace(/\r?\n$/, '') || undefined };
    }),
  );
}

/** Bytes as the value of a variable; undefined if they cannot be one. */
const textIn = (bytes: Buffer): string | undefined =>
  isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;

export const secretFix = (from: string): string =>
  `put the secret into ${from}, or name its place in [train.secrets]: ` +
  '{ from = "env" } or { from = "file", path = "…" }';
