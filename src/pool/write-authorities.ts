import { rm, writeFile } from 'node:fs/promises';
import type { Env } from '@updraft/base';
import { sentAuthorities } from '@updraft/pelican/trust';

/** Writes the certificate authorities that travel with jobs, if there are any, into the run's folder. */
export async function writeAuthorities(file: string, env: Env): Promise<void> {
  const authorities = sentAuthorities(env);
  if (authorities.length === 0) return;
  // Not through the link to the user's file that an earlier version left.
  await rm(file, { force: true });
  await writeFile(file, `${authorities.join('\n')}\n`);
}
