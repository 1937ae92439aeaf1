import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '@updraft/base';
import { asFault, Fault } from '../../fault/fault.ts';
import { parseObjectUrl, statObject } from '@updraft/pelican/federation';
import { putObject } from '@updraft/pelican/transfer';
import { IdleConnections } from '@updraft/pelican/http';
import { limitsFromEnv } from '@updraft/pelican/limits';
import type { Context } from '../attempt.ts';
import { openLocator } from '../data/object-locator.ts';
import { deliverers, download, type TransferContext } from './download.ts';
import { pluginEnv, readWorker } from './plugin-env.ts';
import { parseArgs, type TransferArgs } from './plugin-args.ts';
import { errorCodeOf, OutFile, writeReport, type ResultContext } from './report.ts';
import { openTransferJournal, type TransferJournal } from './transfer-journal.ts';
import {
  readRequests,
  type TransferInfo,
  type ServerRecord,
  type RequestOutcome,
  type TransferRequest,
} from './requests.ts';

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

/** An attempt that was cut off after its upload comes back with the same file. */
async function alreadySent(
  source: string,
  url: string,
  context: TransferContext,
): Promise<TransferInfo | undefined> {
  const { locator: federation, signal } = context;
  const { size, digests } = await statObject(url, { federation, signal, direct: true, digest: true });
  const { size: bytes } = await stat(source);
  if (size !== bytes || digests.md5 === undefined || digests.md5 !== (await md5Of(source))) return undefined;
  return { bytes, verified: 'digest', servers: [] };
}

async function md5Of(file: string): Promise<string> {
  const hash = createHash('md5');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const mayNotReplace = ({ message, about = '' }: Fault): Fault =>
  new Fault('usage', `${message} and differs from this file`, {
    about,
    fix: 'choose another output_destination for each job, or set UPDRAFT_OVERWRITE=1 in its `environment`',
  });
