import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';
import { putObject } from '../../federation/put-object.ts';
import { statObject } from '../../federation/stat-object.ts';
import type { Done, Endpoint } from './outcome.ts';
import type { TransferRequest } from './requests.ts';
import type { TransferWorld } from './transfer-world.ts';

/** Sends one file. An object that is there already is left alone, and is a success if it is the very file. */
export async function upload(
  { url, file }: TransferRequest,
  world: TransferWorld,
  endpoints: Endpoint[],
): Promise<Done> {
  const { env, cwd, clock, signal, locator: federation } = world;
  const source = path.resolve(cwd, file);
  refuseQuery(url, world);
  try {
    const overwrite = env['UPDRAFT_OVERWRITE'] === '1';
    const { bytes, verified, server } = await putObject(source, url, { federation, signal, overwrite });
    endpoints.push({ server, bytes, endedAt: clock.now() });
    return { bytes, verified };
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'usage') throw error;
    const same = await alreadySent(source, url, world);
    if (same === undefined) throw mayNotReplace(error);
    return same;
  }
}

function refuseQuery(url: string, { env }: TransferWorld): void {
  const parsed = parseObjectUrl(url, env);
  if (parsed.kind !== 'federated' || (!parsed.recursive && parsed.pack === undefined)) return;
  const what = parsed.recursive ? 'recursive' : 'pack';
  throw new Fault('url-invalid', `${parsed.text}: uploads with '${what}' are not supported`, {
    about: parsed.text,
    fix: `take '${what}' out of the URL: HTCondor sends the files of a folder one by one`,
  });
}

/** An attempt that was cut off after its upload comes by again with the same file. */
async function alreadySent(source: string, url: string, world: TransferWorld): Promise<Done | undefined> {
  const { locator: federation, signal } = world;
  const { size, digests } = await statObject(url, { federation, signal, direct: true, digest: true });
  const { size: bytes } = await stat(source);
  if (size !== bytes || digests.md5 === undefined || digests.md5 !== (await md5Of(source))) return undefined;
  return { bytes, verified: 'digest' };
}

async function md5Of(file: string): Promise<string> {
  const hash = createHash('md5');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const mayNotReplace = ({ message, about = '' }: Fault): Fault =>
  new Fault('usage', `${message} and is not this file`, {
    about,
    fix: 'choose another output_destination for each job, or set UPDRAFT_OVERWRITE=1 in its `environment`',
  });
