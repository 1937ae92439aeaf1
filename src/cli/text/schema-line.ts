import { pathToFileURL } from 'node:url';
import { assetFile } from '../../base/assets.ts';
import type { Env } from '../../base/env.ts';
import { cacheFolder } from '../../base/user-folders.ts';

const schema = 'schema/updraft.schema.json';

/**
 * A job file that comes with Updraft, with its schema line pointing at this installation's schema. Where a copy of the
 * schema cannot be written, as in a read-only home, the job file has no such line: only editors read it.
 */
export async function withSchemaHere(text: string, env: Env): Promise<string> {
  try {
    return text.replace(`../../${schema}`, pathToFileURL(await assetFile(schema, cacheFolder(env))).href);
  } catch {
    return text.replace(/^#.*schema.*\n/u, '');
  }
}
