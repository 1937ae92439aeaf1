import path from 'node:path';
import { stat, writeFile, mkdir } from 'node:fs/promises';
import { mapLimited, type Clock, defined, given } from '@updraft/base';
import { asFault, Fault } from '@updraft/account/fault';
import {
  parseObjectUrl,
  type FederatedUrl,
  type FederationLocator,
  walkCollection,
} from '@updraft/pelican/federation';
import {
  alreadyThere,
  putObject,
  deliverAgainIfWrong,
  type Fetched,
  type FetchOptions,
  fetchToFile,
  fetchToStream,
} from '@updraft/pelican/transfer';
import { IdleConnections } from '@updraft/pelican/http';
import { limitsFromEnv, type TransferLimits } from '@updraft/pelican/limits';
import { sandboxFiles, deliveredName } from '@updraft/account/run-folder';
import { encode, openAgentJournal } from '@updraft/account/journal';
import { openUnpacker, unpackFetched } from '@updraft/archive';
import type { Context } from '../attempt.ts';
import { openLocator, locatorFor, byServer, recordEvents } from '../data/object-locator.ts';
import {
  pluginEnv,
  readWorker,
  parseArgs,
  type TransferArgs,
  readRequests,
  type TransferInfo,
  type ServerRecord,
  type RequestOutcome,
  type TransferRequest,
} from './plugin-args.ts';
import { errorCodeOf, OutFile, writeReport, type ResultContext } from './report.ts';
import type { WorkOrder, OrderedData } from '../../job/job.ts';
import { jobIdOf } from '../machine/machine.ts';
import { JournalWriter, type Recorder } from '../notes/journal-writer.ts';
import { peekSandboxOrder } from '../order/order.ts';
import { loadManifest } from '../data/stage-data.ts';

/** How HTCondor, and the retry policies that pools build on it, interpret a plugin's exit code. */
const exits = { success: 0, final: 1, noReport: 3, retryable: 11 };
const concurrentFiles = 5;

/** `out` is the requested output, `log` goes to the starter's log. */
export interface PluginOutput {
  out: (text: string) => void;
  log: (line: string) => void;
}

/** Acts as HTCondor's file-transfer plugin for `osdf`, `pelican` and `stash` URLs; returns the exit code. */
export async function runPlugin(
  args: string[],
  context: Context,
  { out, log }: PluginOutput,
): Promise<number> {
  const asked = parseArgs(args);
  if (asked.kind !== 'transfer') {
    out(asked.kind === 'version' ? `${context.version}\n` : describePlugin(context.version));
    return exits.success;
  }
  try {
    return await transferAll(asked, { ...context, env: pluginEnv(context.env) }, log);
  } catch (thrown) {
    const { message } = asFault(thrown);
    log(message);
    return exits.noReport;
  }
}

async function transferAll(
  { infile, outfile, direction }: TransferArgs,
  context: Context,
  log: PluginOutput['log'],
): Promise<number> {
  const { env, cwd, version } = context;
  const file = new OutFile(path.resolve(cwd, outfile));
  try {
    await using journal = await openTransferJournal(path.resolve(cwd, infile), direction, context);
    const outcomes = await transferRequests(path.resolve(cwd, infile), direction, context, journal);
    writeReport(file, outcomes, { direction, version, worker: readWorker(env) });
    for (const { request, result } of outcomes)
      if (result instanceof Fault) log(`${request.url}: ${result.message}`);
    return exitOf(outcomes);
  } finally {
    file.close();
  }
}

/** One outcome per request, whatever happens; a single one if the requests cannot be read. */
async function transferRequests(
  infile: string,
  direction: ResultContext['direction'],
  context: Context,
  journal: TransferJournal,
): Promise<RequestOutcome[]> {
  const now = context.clock.now();
  const failed = (request: TransferRequest, thrown: unknown): RequestOutcome => ({
    request,
    result: asFault(thrown),
    startedAt: now,
    endedAt: context.clock.now(),
    endpoints: [],
  });
  let requests: TransferRequest[];
  try {
    requests = await readRequests(infile);
  } catch (thrown) {
    return [failed({ url: '', file: '' }, thrown)];
  }
  try {
    using connections = new IdleConnections(context.clock);
    const shared = transferContext(context, connections, journal);
    const clashes = direction === 'download' ? clashesIn(requests) : new Map<TransferRequest, Fault>();
    const begun = new Map<string, Promise<RequestOutcome>>();
    return await mapLimited(requests, concurrentFiles, async (request) => {
      const clash = clashes.get(request);
      if (clash !== undefined) return failed(request, clash);
      // The same object requested twice as the same file is one transfer with two results.
      const key = JSON.stringify(request);
      const under = begun.get(key) ?? transferOne(request, direction, shared);
      begun.set(key, under);
      return await under;
    });
  } catch (thrown) {
    return requests.map((request) => failed(request, thrown));
  }
}

function transferContext(
  context: Context,
  connections: IdleConnections,
  journal: TransferJournal,
): TransferContext {
  const { order, record } = journal;
  return {
    ...context,
    locator: openLocator(context, order),
    limits: limitsFromEnv(context.env),
    connections,
    order,
    record,
  };
}

async function transferOne(
  request: TransferRequest,
  direction: ResultContext['direction'],
  context: TransferContext,
): Promise<RequestOutcome> {
  const { clock, signal } = context;
  const [startedAt, endpoints, parts]: [number, ServerRecord[], RequestOutcome[]] = [clock.now(), [], []];
  let result: TransferInfo | Fault;
  try {
    signal.throwIfAborted();
    if (request.file === '') throw new Fault('order-invalid', `${request.url} has no LocalFileName`);
    result = await (direction === 'download'
      ? download(request, context, { endpoints, parts })
      : upload(request, context));
    endpoints.push(...deliverers(result, clock));
  } catch (thrown) {
    result = asFault(signal.aborted ? signal.reason : thrown);
  }
  return { request, result, startedAt, endedAt: clock.now(), endpoints, parts };
}

/** Two objects with the same file name: whichever came last, the job would not have what it asked for. */
function clashesIn(requests: readonly TransferRequest[]): Map<TransferRequest, Fault> {
  const first = new Map<string, string>();
  const clashes = new Map<TransferRequest, Fault>();
  for (const request of requests) {
    const other = first.get(request.file);
    if (other === undefined) first.set(request.file, request.url);
    else if (other !== request.url)
      clashes.set(
        request,
        new Fault(
          'url-invalid',
          `${other} and ${request.url} would both become ${path.basename(request.file)}`,
          { about: request.url, fix: 'rename one of them in the federation, or fetch it within the job' },
        ),
      );
  }
  return clashes;
}

function exitOf(outcomes: readonly RequestOutcome[]): number {
  const faults = outcomes.flatMap(({ result }) => (result instanceof Fault ? [result] : []));
  if (faults.length === 0) return exits.success;
  return faults.every((fault) => errorCodeOf(fault).retryable) ? exits.retryable : exits.final;
}

/** HTCondor asks every plugin for its capabilities, in old ClassAd syntax. */
function describePlugin(version: string): string {
  return [
    'MultipleFileSupport = true',
    'PluginType = "FileTransfer"',
    `PluginVersion = "${version}"`,
    'ProtocolVersion = 2',
    'SupportedMethods = "osdf,pelican,stash"',
    `UpdraftPluginVersion = "${version}"`,
    'StartdAttrs = "UpdraftPluginVersion"',
    '',
  ].join('\n');
}

/** Uploads one file. An existing object is left alone; the upload succeeds if it is identical. */
async function upload({ url, file }: TransferRequest, context: TransferContext): Promise<TransferInfo> {
  const { env, cwd, signal, clock, locator: federation } = context;
  const started = clock.monotonic();
  const source = path.resolve(cwd, file);
  refuseQuery(url, context);
  try {
    const overwrite = env['UPDRAFT_OVERWRITE'] === '1';
    const { bytes, verified, server } = await putObject(source, url, { federation, signal, overwrite });
    const seconds = (clock.monotonic() - started) / 1000;
    return { bytes, verified, servers: [{ server, bytes }], turns: [{ server, bytes, seconds }] };
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'usage') throw error;
    const same = await alreadySent(source, url, context);
    if (same === undefined) throw mayNotReplace(error);
    return same;
  }
}

function refuseQuery(url: string, { env }: TransferContext): void {
  const parsed = parseObjectUrl(url, env);
  if (parsed.kind !== 'federated' || (!parsed.recursive && parsed.pack === undefined)) return;
  const what = parsed.recursive ? 'recursive' : 'pack';
  throw new Fault('url-invalid', `${parsed.text}: uploads with '${what}' are not supported`, {
    about: parsed.text,
    fix: `remove '${what}' from the URL: HTCondor sends the files of a folder one by one`,
  });
}

/** An attempt that was cut off after its upload comes back with the same file. Only the origin knows what it has. */
async function alreadySent(
  source: string,
  url: string,
  { locator, clock, signal, limits, connections }: TransferContext,
): Promise<TransferInfo | undefined> {
  const ofOrigin: FederationLocator = {
    ...locator,
    locate: (one, how) => locator.locate(one, { ...how, direct: true }),
  };
  const options = { locator: ofOrigin, clock, signal, limits, connections };
  const there = await alreadyThere(url, source, options).catch((error: unknown) => {
    if (error instanceof Fault && error.kind === 'file-invalid') return undefined;
    throw error;
  });
  return there?.verified === 'digest' ? there : undefined;
}

const mayNotReplace = ({ message, about = '' }: Fault): Fault =>
  new Fault('usage', `${message} and differs from this file`, {
    about,
    fix: 'choose another output_destination for each job, or set UPDRAFT_OVERWRITE=1 in its `environment`',
  });

/** What the plugin leaves for the agent of the same attempt; without an order of ours it records nothing. */
interface TransferJournal extends AsyncDisposable {
  order: WorkOrder | undefined;
  record: Recorder;
}

/** Longer than unpacking the agent takes: then the file's time is another clock's. */
const maxStartMs = 600_000;

/** Opens the journal of what is transferred before the agent starts. The plugin's own start-up is not a transfer. */
async function openTransferJournal(
  infile: string,
  direction: ResultContext['direction'],
  context: Context,
): Promise<TransferJournal> {
  const job = direction === 'download' ? jobIdOf(context.env) : undefined;
  const order =
    job === undefined
      ? undefined
      : await peekSandboxOrder(path.join(context.cwd, `${job}.json`), context).catch(() => undefined);
  const none = { order, record: () => undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  if (order === undefined) return none;
  try {
    const file = path.join(context.cwd, sandboxFiles.transfers);
    const attempt = { job: order.job.id, attempt: order.attempt };
    const t = new Date(await calledAt(infile, context.clock.now())).toISOString();
    const first = encode({ v: 1, t, seq: 0, ...attempt, kind: 'phase', phase: 'preparing' });
    await writeFile(file, `${first}\n`, { mode: 0o600 });
    const notes = new JournalWriter(await openAgentJournal(file, attempt, context.clock));
    notes.record({ kind: 'phase', phase: 'fetching' });
    return {
      order,
      record: notes.record,
      async [Symbol.asyncDispose]() {
        notes.record({ kind: 'phase', phase: 'preparing' });
        // A failing journal must not fail the transfer.
        await notes.close().catch(() => false);
      },
    };
  } catch {
    // A sandbox that cannot be written to fails the transfer itself, with a message of its own.
    return none;
  }
}

/** HTCondor writes its requests just before it calls the plugin. */
async function calledAt(infile: string, now: number): Promise<number> {
  const { mtimeMs } = await stat(infile).catch(() => ({ mtimeMs: now }));
  return mtimeMs <= now && now - mtimeMs < maxStartMs ? mtimeMs : now;
}

/** Small objects take more time in waiting than in bytes. */
const concurrency = 4;

/** What a transfer leaves for its results besides its outcome. */
type TransferLog = Required<Pick<RequestOutcome, 'endpoints' | 'parts'>>;

/** Downloads one object, with `?recursive` a collection, or with `?pack=` the contents of an archive. */
async function download(
  { url, file }: TransferRequest,
  context: TransferContext,
  { endpoints, parts }: TransferLog,
): Promise<TransferInfo> {
  const target = path.resolve(context.cwd, file);
  const { order, record, clock } = context;
  const source = order && sourceOf(file, order);
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
  given(...data, pack).find(
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
const deliverers = ({ turns = [] }: TransferInfo, clock: Clock): ServerRecord[] =>
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
interface TransferContext extends Pick<Context, 'env' | 'clock' | 'cwd' | 'signal'> {
  locator: FederationLocator;
  limits: Partial<TransferLimits>;
  connections: IdleConnections;
  /** The work order, if the job is one of ours. */
  order: WorkOrder | undefined;
  record: Recorder;
}
