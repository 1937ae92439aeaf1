import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '../../base/map-limited.ts';
import { walkCollection } from '../../federation/list-collection.ts';
import type { FederationLocator } from '../../federation/locator.ts';
import { parseObjectUrl, type FederatedUrl } from '../../federation/object-url.ts';
import type { KeptConnections } from '../../http/connections.ts';
import { fetchToFile } from '../../transfer/fetch-to-file.ts';
import { fetchToStream } from '../../transfer/fetch-to-stream.ts';
import type { Fetched, FetchOptions } from '../../transfer/fetch.ts';
import type { Policy } from '../../transfer/policy.ts';
import { openUnpacker } from '../../unpack/open-unpacker.ts';
import { unpackFetched } from '../../unpack/unpack-fetched.ts';
import type { World } from '../attempt.ts';
import { releaseMemory } from '../data/release-memory.ts';
import type { Done, Endpoint, TransferRequest } from './requests.ts';

/** Small objects cost more in waiting than in bytes. */
const atOnce = 4;

/** Brings one object, or with `?recursive` all of a collection, or with `?pack=` what an archive holds. */
export async function download(
  { url, file }: TransferRequest,
  world: TransferWorld,
  endpoints: Endpoint[],
): Promise<Done> {
  const target = path.resolve(world.cwd, file);
  const parsed = parseObjectUrl(url, world.env);
  const options = fetchOptions(world, endpoints);
  if (parsed.kind === 'federated' && parsed.recursive)
    return await downloadCollection(url, withoutQuery(target, url), options, world);
  const fetched =
    parsed.kind === 'federated' && parsed.pack !== undefined
      ? await downloadPacked(url, parsed.pack, path.dirname(target), options)
      : await fetchToFile(url, target, { ...options, overwrite: true });
  tellServers(fetched, world, endpoints);
  return { bytes: fetched.bytes, verified: fetched.verified };
}

function fetchOptions(
  { locator, clock, signal, policy, connections }: TransferWorld,
  endpoints: Endpoint[],
): FetchOptions {
  return {
    locator,
    clock,
    signal,
    policy,
    connections,
    onEvent: (event) => {
      if (event.kind === 'progress') releaseMemory();
      else endpoints.push({ server: event.server, fault: event.fault, endedAt: clock.now() });
    },
  };
}

/** Several objects at once, into a folder; all of them count as one transfer. */
async function downloadCollection(
  url: string,
  folder: string,
  options: FetchOptions,
  { locator, signal }: TransferWorld,
): Promise<Done> {
  const total = { bytes: 0, verified: 'digest' };
  await mkdir(folder, { recursive: true });
  const entries = await Array.fromAsync(walkCollection(url, { federation: locator, signal }));
  await mapLimited(entries, atOnce, async (entry) => {
    const target = path.join(folder, entry.name);
    await mkdir(path.dirname(target), { recursive: true });
    const { bytes, verified } = await fetchToFile(entry.url, target, { ...options, overwrite: true });
    total.bytes += bytes;
    if (verified !== 'digest') total.verified = verified;
  });
  return total;
}

/** What an archive holds appears beside where the archive itself would have been. */
async function downloadPacked(
  url: string,
  pack: NonNullable<FederatedUrl['pack']>,
  into: string,
  options: FetchOptions,
): Promise<Fetched> {
  const unpacker = openUnpacker({ name: url, mode: pack, into });
  try {
    const { fetched } = await unpackFetched(unpacker, options, (write, onDigest) =>
      fetchToStream(url, write, { ...options, onDigest }),
    );
    return fetched;
  } catch (error) {
    await unpacker.abort();
    throw error;
  }
}

/** HTCondor names the file after all that follows the last slash of the URL, query and all. */
function withoutQuery(target: string, url: string): string {
  const query = url.slice(url.indexOf('?'));
  return target.endsWith(query) ? target.slice(0, -query.length) : target;
}

function tellServers({ servers }: Fetched, { clock }: TransferWorld, endpoints: Endpoint[]): void {
  for (const { server, bytes } of servers) endpoints.push({ server, bytes, endedAt: clock.now() });
}

/** What transfers share. */
export interface TransferWorld extends Pick<World, 'env' | 'clock' | 'cwd' | 'signal'> {
  locator: FederationLocator;
  policy: Partial<Policy>;
  connections: KeptConnections;
}
