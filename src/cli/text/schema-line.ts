import { pathToFileURL } from 'node:url';
import { assetFile } from '../../base/assets.ts';
import type { Env } from '../../base/env.ts';
import { cacheFolder } from '../../base/user-folders.ts';

const schema = 'schema/updraft.schema.json';

/** A job file that comes with Updraft, with its schema line pointing at this installation's schema. */
export const withSchemaHere = async (text: string, env: Env): Promise<string> =>
  text.replace(`../../${schema}`, pathToFileURL(await assetFile(schema, cacheFolder(env))).href);
