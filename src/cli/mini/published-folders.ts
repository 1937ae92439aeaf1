import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';

/** A folder to publish, as the command line said it. */
export interface Published {
  prefix: string;
  folder: string;
  public: boolean;
  writable: boolean;
}

interface Words {
  publish?: string[];
  tokenFor?: string[];
  writable?: string[];
}

/** Reads `--publish /prefix=FOLDER`, `--token-for /prefix` and `--writable /prefix`, and checks them against each other. */
export async function readPublished(cwd: string, words: Words): Promise<Published[]> {
  const { publish = [], tokenFor = [], writable = [] } = words;
  if (publish.length === 0)
    throw new Fault('usage', 'nothing to publish', { fix: 'say what to serve, as in --publish /demo=data' });
  const folders = new Map<string, string>();
  for (const word of publish) {
    const [prefix, folder] = await readFolder(cwd, word);
    if (folders.has(prefix)) throw new Fault('usage', `${prefix} is published twice`);
    folders.set(prefix, folder);
  }
  for (const [option, prefixes] of Object.entries({ '--token-for': tokenFor, '--writable': writable }))
    for (const prefix of prefixes)
      if (!folders.has(prefix))
        throw new Fault('usage', `${option} ${prefix}: no --publish ${prefix}=FOLDER goes with it`);
  return [...folders].map(([prefix, folder]) => ({
    ...{ prefix, folder, public: !tokenFor.includes(prefix), writable: writable.includes(prefix) },
  }));
}

async function readFolder(cwd: string, word: string): Promise<[string, string]> {
  const [, prefix, given] = /^((?:\/[\w.~-]+)+)=(.+)$/s.exec(word) ?? [];
  if (prefix === undefined || given === undefined || /^\/(api|\.well-known)(\/|$)|\/\.\.?(\/|$)/.test(prefix))
    throw new Fault('usage', `--publish ${word}: it is written /prefix=FOLDER`, {
      fix: '--publish /demo=data',
    });
  const folder = path.resolve(cwd, given);
  const info = await stat(folder).catch(() => undefined);
  if (info?.isDirectory() === true) return [prefix, folder];
  throw new Fault('usage', `--publish ${word}: ${folder} is not a folder`);
}
