import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, defined, mapLimited } from '@updraft/base';
import { asFault, Fault } from '../../fault/fault.ts';
import {
  type FederatedUrl,
  type FederationLocator,
  parseObjectUrl,
  walkCollection,
} from '@updraft/pelican/federation';
import type { IdleConnections } from '@updraft/pelican/http';
import type { WorkOrder, OrderedData } from '../../job/job.ts';
import { deliveredName } from '../../job/layout.ts';
import {
  deliverAgainIfWrong,
  type Fetched,
  type FetchOptions,
  fetchToFile,
  fetchToStream,
} from '@updraft/pelican/transfer';
import type { TransferLimits } from '@updraft/pelican/limits';
import { openUnpacker, unpackFetched } from '@updraft/archive';
import type { Context } from '../attempt.ts';
import { byServer, recordEvents } from '../data/record-fetch.ts';
import { locatorFor } from '../data/object-locator.ts';
import { loadManifest } from '../data/stage-data.ts';
import type { Recorder } from '../notes/journal-writer.ts';
import { errorCodeOf } from './report.ts';
import type { TransferInfo, ServerRecord, RequestOutcome, TransferRequest } from './requests.ts';

/** Small objects take more time in waiting than in bytes. */
const concurrency = 4;

/** What a transfer leaves for its results besides its outcome. */
type TransferLog = Required<Pick<RequestOutcome, 'endpoints' | 'parts'>>;

/** Downloads one object, with `?recursive` a collection, or with `?pack=` the contents of an archive. */
export async function download(
  { url, file }: TransferRequest,
  context: TransferContext,
  { endpoints, parts }: TransferLog,
): Promise<TransferInfo> {
  const target = path.resolve(context.cwd, file);
  const { order, record, clock } = context;
  const source = order === undefined ? undefined : sourceOf(file, order);
  const parsed = parseObjectUrl(source?.url ?? url, context.env);
  const started = clock.monotonic();
  const tokenFile = source?.tokenFile ?? imageToken(file, order);
  const options = await fetchOptions(parsed.text, { ...source, ...defined({ tokenFile }) }, context);
  const watched = observe(endpoints, options, clock);
  const fetched =
    parsed.kind === 'federated' && parsed.recursive
      ? await downloadCollection(url, stripQuery(target, url), options, context, parts)
      : parsed.kind === 'federated' && parsed.pack !== undefined
        ? await downloadPacked(url, parsed.pack, path.dirname(target), watched)
        : await fetchToFile(url, target, watched);
  const seconds = (clock.monotonic() - started) / 1000;
  const { bytes, verified, servers, leftOut } = fetched;
  record({
    kind: 'fetched',
    object: parsed.text,
    bytes,
    seconds,
    verified,
    servers,
    ...defined({ leftOut }),
  });
  return fetched;
}

/** What the work order says about a file that HTCondor requests: checksums, and the token that was sent along. */
const sourceOf = (file: string, { data, environment: { pack } }: WorkOrder): OrderedData | undefined =>
  [...data, ...(pack === undefined ? [] : [pack])].find(
    ({ delivered }) => delivered !== undefined && path.basename(delivered) === path.basename(file),
  );

/** The image is not data of the job, and has its own token. */
const imageToken = (file: string, order: WorkOrder | undefined): string | undefined =>
  deliveredName(order?.environment.image ?? '') === path.basename(file)
    ? order?.environment.imageToken
    : undefined;

async function fetchOptions(
  object: string,
  source: Partial<OrderedData>,
  { locator, clock, signal, limits, connections, order, record }: TransferContext,
): Promise<FetchOptions> {
  const { tokenFile, sha256, expect, manifest: proof } = source;
  const own = { locator: locatorFor(locator, order, source) };
  const access = { ...own, clock, signal, limits, connections, ...defined({ tokenFile }) };
  const asked = { url: source.url ?? '', ...defined({ manifest: proof }) };
  const manifest = await loadManifest(asked, order?.filesFrom ?? '', {
    ...access,
    locator: locatorFor(locator, order, source, proof),
  });
  return {
    ...access,
    ...defined({ manifest, sha256, bytes: expect?.bytes }),
    onEvent: recordEvents(object, record, clock),
  };
}

function observe(endpoints: ServerRecord[], options: FetchOptions, clock: Clock): FetchOptions {
  return {
    ...options,
    onEvent(event) {
      options.onEvent?.(event);
      if (event.kind !== 'setback') return;
      const { server, fault, turn } = event;
      endpoints.push({ server, ...turn, fault, endedAt: clock.now() });
    },
  };
}

/** The servers that delivered, as the last endpoints of a transfer. */
export const deliverers = ({ turns = [] }: TransferInfo, clock: Clock): ServerRecord[] =>
  turns.map((turn) => ({ ...turn, endedAt: clock.now() }));

/** Several objects at once, into a folder. Each has its own outcome; one that fails does not stop the others. */
async function downloadCollection(
  url: string,
  folder: string,
  options: FetchOptions,
  { locator, signal, clock }: TransferContext,
  parts: RequestOutcome[],
): Promise<TransferInfo> {
  const entries = await walkCollection(url, { federation: locator, signal });
  await mkdir(folder, { recursive: true });
  const all = await mapLimited(entries, concurrency, async (entry): Promise<RequestOutcome> => {
    const file = path.join(folder, entry.name);
    const [startedAt, endpoints]: [number, ServerRecord[]] = [clock.now(), []];
    const fetching = async (): Promise<TransferInfo> => {
      signal.throwIfAborted();
      await mkdir(path.dirname(file), { recursive: true });
      return await fetchToFile(entry.url, file, observe(endpoints, options, clock));
    };
    const result = await fetching().catch(asFault);
    if (!(result instanceof Fault)) endpoints.push(...deliverers(result, clock));
    return { request: { url, file }, result, startedAt, endedAt: clock.now(), endpoints };
  });
  parts.push(...all);
  const faults = all.flatMap(({ result }) => (result instanceof Fault ? [result] : []));
  const worst = faults.find((fault) => !errorCodeOf(fault).retryable) ?? faults[0];
  if (worst !== undefined) throw worst;
  const none: TransferInfo = { bytes: 0, verified: 'digest', servers: [] };
  return all.reduce((total, { result }) => (result instanceof Fault ? total : sumOf(total, result)), none);
}

/** The whole collection as one transfer. */
function sumOf(
  total: TransferInfo,
  { bytes, verified, servers, turns = [], leftOut = total.leftOut }: TransferInfo,
): TransferInfo {
  return {
    bytes: total.bytes + bytes,
    verified: verified === 'digest' ? total.verified : verified,
    servers: byServer([...total.servers, ...servers]),
    turns: byServer([...(total.turns ?? []), ...turns]),
    ...defined({ leftOut }),
  };
}

/** The contents of an archive appear where the archive itself would have been. */
async function downloadPacked(
  url: string,
  pack: NonNullable<FederatedUrl['pack']>,
  into: string,
  options: FetchOptions,
): Promise<Fetched> {
  return await deliverAgainIfWrong(url, options, async (own) => {
    const unpacker = openUnpacker({ name: url, mode: pack, into });
    const { fetched } = await unpackFetched(unpacker, own, (write, onDigest) =>
      fetchToStream(url, write, { ...own, onDigest }),
    );
    return fetched;
  });
}

/** HTCondor names the file after everything behind the URL's last slash, including the query. */
function stripQuery(target: string, url: string): string {
  const query = url.slice(url.indexOf('?'));
  return target.endsWith(query) ? target.slice(0, -query.length) : target;
}

/** What transfers share. */
export interface TransferContext extends Pick<Context, 'env' | 'clock' | 'cwd' | 'signal'> {
  locator: FederationLocator;
  limits: Partial<TransferLimits>;
  connections: IdleConnections;
  /** The work order, if the job is one of ours. */
  order: WorkOrder | undefined;
  record: Recorder;
}
