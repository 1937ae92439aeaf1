import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { readAsset } from '../job/assets.ts';
import type { Env } from '@updraft/base';
import { replaceFile } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import { jobFileNames } from '@updraft/account/run-folder';
import { withSchemaHere } from './text/schema-line.ts';
import { cannotWrite } from './write-named.ts';

/** Throws a Fault where the folder has a job file already. */
export async function refuseSecondFile(folder: string): Promise<void> {
  const present = await readdir(folder).catch((): string[] => []);
  const found = jobFileNames.find((name) => present.includes(name));
  if (found === undefined) return;
  throw new Fault('file-invalid', `${path.join(folder, found)} already exists`, {
    about: found,
    fix: 'keep it and run: updraft check; or replace it with: updraft init --force',
  });
}

/** The first line of a job file, for editors; empty where there is none. */
export async function schemaLine(env: Env): Promise<string> {
  const text = (await readAsset('templates/minimal/updraft.toml')) ?? '';
  return /^#.*schema.*/.exec(await withSchemaHere(text, env))?.[0] ?? '';
}

export async function writeJobFile(file: string, text: string): Promise<void> {
  await replaceFile(file, text).catch((error: unknown) => {
    throw cannotWrite(file, error);
  });
}
