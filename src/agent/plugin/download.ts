import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { mapLimited } from '../../base/map-limited.ts';
import { walkCollection } from '../../federation/list-collection.ts';
import type { FederationLocator } from '../../federation/locator.ts';
import { parseObjectUrl, type FederatedUrl } from '../../federation/object-url.ts';
import type { KeptConnections } from '../../http/connections.ts';
import type { Order, OrderedData } from '../../job/job.ts';
import { deliveredName } from '../../job/layout.ts';
import { fetchToFile } from '../../transfer/fetch-to-file.ts';
import { fetchToStream } from '../../transfer/fetch-to-stream.ts';
import type { Fetched, FetchOptions } from '../../transfer/fetch.ts';
import type { Policy } from '../../transfer/policy.ts';
import { openUnpacker } from '../../unpack/open-unpacker.ts';
import { unpackFetched } from '../../unpack/unpack-fetched.ts';
import type { World } from '../attempt.ts';
import { recordEvents } from '../data/fetch-notes.ts';
import { readManifest } from '../data/stage-data.ts';
import type { Note } from '../notes/notes.ts';
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
  const { order, note, clock } = world;
  const source = order === undefined ? undefined : sourceOf(file, order);
  const parsed = parseObjectUrl(source?.url ?? url, world.env);
  const started = clock.monotonic();
  const tokenFile = source?.tokenFile ?? imageToken(file, order);
  const options = await fetchOptions(parsed.text, { ...source, ...defined({ tokenFile }) }, world, endpoints);
  const fetched =
    parsed.kind === 'federated' && parsed.recursive
      ? await downloadCollection(url, withoutQuery(target, url), options, world)
      : parsed.kind === 'federated' && parsed.pack !== undefined
        ? await downloadPacked(url, parsed.pack, path.dirname(target), options)
        : await fetchToFile(url, target, { ...options, overwrite: true });
  const seconds = (clock.monotonic() - started) / 1000;
  note({ kind: 'fetched', object: parsed.text, ...fetched, seconds });
  return fetched;
}

/** What the job's order says of a file that HTCondor asks for: proofs, and the token that was sent along. */
const sourceOf = (file: string, { data, environment: { pack } }: Order): OrderedData | undefined =>
  [...data, ...(pack === undefined ? [] : [pack])].find(
    ({ delivered }) => delivered !== undefined && path.basename(delivered) === path.basename(file),
  );

/** The image is no data of the job, and has a token of its own. */
const imageToken = (file: string, order: Order | undefined): string | undefined =>
  deliveredName(order?.environment.image ?? '') === path.basename(file)
    ? order?.environment.imageToken
    : undefined;

async function fetchOptions(
  object: string,
  source: Partial<OrderedData>,
  { locator, clock, signal, policy, connections, order, note }: TransferWorld,
  endpoints: Endpoint[],
): Promise<FetchOptions> {
  const { tokenFile, sha256, expect, manifest: proof } = source;
  const access = { locator, clock, signal, policy, connections, ...defined({ tokenFile }) };
  const asked = { url: source.url ?? '', ...defined({ manifest: proof }) };
  const manifest = await readManifest(asked, order?.filesFrom ?? '', access);
  const record = recordEvents(object, note, clock);
  return {
    ...access,
    ...defined({ manifest, sha256, bytes: expect?.bytes }),
    onEvent: (event) => {
      record(event);
      if (event.kind === 'setback')
        endpoints.push({ server: event.server, fault: event.fault, endedAt: clock.now() });
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
  const total: Done = { bytes: 0, verified: 'digest', servers: [] };
  await mkdir(folder, { recursive: true });
  const entries = await Array.fromAsync(walkCollection(url, { federation: locator, signal }));
  await mapLimited(entries, atOnce, async (entry) => {
    const target = path.join(folder, entry.name);
    await mkdir(path.dirname(target), { recursive: true });
    const fetched = await fetchToFile(entry.url, target, { ...options, overwrite: true });
    const { bytes, verified, servers } = fetched;
    total.bytes += bytes;
    for (const { server, bytes: sent } of servers) {
      const known = total.servers.find((one) => one.server === server);
      if (known === undefined) total.servers.push({ server, bytes: sent });
      else known.bytes += sent;
    }
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

/** What transfers share. */
export interface TransferWorld extends Pick<World, 'env' | 'clock' | 'cwd' | 'signal'> {
  locator: FederationLocator;
  policy: Partial<Policy>;
  connections: KeptConnections;
  /** What the job is to do, where it is one of ours. */
  order: Order | undefined;
  note: Note;
}
