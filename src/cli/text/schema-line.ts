import { pathToFileURL } from 'node:url';
import { assetFile } from '../../job/assets.ts';
import type { Env } from '@updraft/base';
import { cacheFolder } from '@updraft/base/user-folders';

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
