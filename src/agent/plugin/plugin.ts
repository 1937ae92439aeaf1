import path from 'node:path';
import { mapLimited } from '../../base/map-limited.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import { createLocator } from '../../federation/locator.ts';
import { KeptConnections } from '../../transfer/kept-connections.ts';
import { stallPolicy } from '../stall-policy.ts';
import type { World } from '../world.ts';
import { describePlugin } from './describe-plugin.ts';
import { download } from './download.ts';
import { errorCodeOf } from './error-codes.ts';
import { OutFile } from './out-file.ts';
import type { Done, Endpoint, Outcome } from './outcome.ts';
import { readPlace } from './place.ts';
import { pluginEnv } from './plugin-env.ts';
import { readWords, type TransferWords } from './plugin-words.ts';
import { writeReport } from './report.ts';
import { readRequests, type TransferRequest } from './requests.ts';
import type { ResultContext } from './result-ad.ts';
import type { TransferWorld } from './transfer-world.ts';
import { upload } from './upload.ts';

/** How HTCondor, and the retry policies that pools build on it, read a plugin's end. */
const exits = { success: 0, final: 1, noReport: 3, retryable: 11 };
const filesAtOnce = 5;

/** How the plugin speaks: `out` is what was asked for, `talk` is for the starter's log. */
export interface PluginVoice {
  out: (text: string) => void;
  talk: (line: string) => void;
}

/** Acts as HTCondor's file-transfer plugin for `osdf`, `pelican` and `stash` URLs; tells the exit code. */
export async function runPlugin(words: string[], world: World, { out, talk }: PluginVoice): Promise<number> {
  const asked = readWords(words);
  if (asked.kind !== 'transfer') {
    out(asked.kind === 'version' ? `${world.version}\n` : describePlugin(world.version));
    return exits.success;
  }
  try {
    return await transferAll(asked, { ...world, env: pluginEnv(world.env) }, talk);
  } catch (thrown) {
    const { message } = asFault(thrown);
    talk(message);
    return exits.noReport;
  }
}

async function transferAll(
  { infile, outfile, direction }: TransferWords,
  world: World,
  talk: PluginVoice['talk'],
): Promise<number> {
  const { env, cwd, version } = world;
  const file = new OutFile(path.resolve(cwd, outfile));
  try {
    const outcomes = await transferRequests(path.resolve(cwd, infile), direction, world);
    writeReport(file, outcomes, { direction, version, place: readPlace(env) });
    for (const { request, result } of outcomes)
      if (result instanceof Fault) talk(`${request.url}: ${result.message}`);
    return exitOf(outcomes);
  } finally {
    file.close();
  }
}

/** One outcome for each request, whatever happens; one of its own if the requests cannot be read. */
async function transferRequests(
  infile: string,
  direction: ResultContext['direction'],
  world: World,
): Promise<Outcome[]> {
  const now = world.clock.now();
  const failed = (request: TransferRequest, thrown: unknown): Outcome => ({
    ...{ request, result: asFault(thrown), startedAt: now, endedAt: world.clock.now(), endpoints: [] },
  });
  let requests: TransferRequest[];
  try {
    requests = await readRequests(infile);
  } catch (thrown) {
    return [failed({ url: '', file: '' }, thrown)];
  }
  try {
    using connections = new KeptConnections(world.clock);
    const shared = transferWorld(world, connections);
    const clashes = direction === 'download' ? clashesIn(requests) : new Map<TransferRequest, Fault>();
    const begun = new Map<string, Promise<Outcome>>();
    return await mapLimited(requests, filesAtOnce, async (request) => {
      const clash = clashes.get(request);
      if (clash !== undefined) return failed(request, clash);
      // The same object asked for twice as the same file is one transfer with two answers.
      const key = JSON.stringify(request);
      const under = begun.get(key) ?? transferOne(request, direction, shared);
      begun.set(key, under);
      return await under;
    });
  } catch (thrown) {
    return requests.map((request) => failed(request, thrown));
  }
}

function transferWorld(world: World, connections: KeptConnections): TransferWorld {
  return { ...world, locator: createLocator(world), policy: stallPolicy(world.env), connections };
}

async function transferOne(
  request: TransferRequest,
  direction: ResultContext['direction'],
  world: TransferWorld,
): Promise<Outcome> {
  const { clock, signal } = world;
  const [startedAt, endpoints]: [number, Endpoint[]] = [clock.now(), []];
  let result: Done | Fault;
  try {
    signal.throwIfAborted();
    if (request.file === '') throw new Fault('order-invalid', `${request.url} comes without a LocalFileName`);
    result = await (direction === 'download' ? download : upload)(request, world, endpoints);
  } catch (thrown) {
    result = asFault(signal.aborted ? signal.reason : thrown);
  }
  return { request, result, startedAt, endedAt: clock.now(), endpoints };
}

/** Two objects that would become one file: whichever came last, the job would not have what it asked for. */
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
          {
            about: request.url,
            fix: 'name one of them differently in the federation, or fetch it within the job',
          },
        ),
      );
  }
  return clashes;
}

function exitOf(outcomes: readonly Outcome[]): number {
  const faults = outcomes.flatMap(({ result }) => (result instanceof Fault ? [result] : []));
  if (faults.length === 0) return exits.success;
  return faults.every((fault) => errorCodeOf(fault).retryable) ? exits.retryable : exits.final;
}
