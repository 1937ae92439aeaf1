import os from 'node:os';
import { defined } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import {
  folderFault,
  type Located,
  type LocateOptions,
  MissingAtOrigin,
  type ObjectOptions,
  type ObjectServer,
  type OriginFacts,
  readOriginFacts,
  requestObject,
} from '@updraft/pelican/federation';
import { firstAnswer, NoAnswer } from '@updraft/pelican/http';

interface ReachableServer {
  /** `host:port` that answered. */
  server: string;
  said: string;
  size?: number;
}

/** If no server answers for this long, the machine counts as cut off from them. */
const timeoutMs = 20_000;
const retryMs = 2000;
const headerMs = 10_000;

/**
 * Finds a server that answers for an object. Any answer will do: the transfer retries and knows other servers. Throws
 * what finding the servers throws, `object-missing` if the origin says so, and `servers-unreachable` if no server
 * answered for a while.
 */
export async function reachObject(url: string, options: ObjectOptions): Promise<ReachableServer> {
  const located = await options.federation.locate(url, options);
  const { clock } = options.federation.wire;
  const end = clock.monotonic() + timeoutMs;
  for (;;) {
    const answers = await askServers(located, options);
    const best = answers.find(isGood) ?? answers.find(({ status }) => status !== undefined);
    if (best !== undefined && isGood(best)) return reached(best, undefined);
    const gone = answers.find(
      ({ status, server }) => server.kind !== 'cache' && (status === 404 || status === 410),
    );
    if (gone !== undefined) throw new MissingAtOrigin(located.url, gone.server);
    if (best !== undefined) return reached(best, await askOrigin(url, located, options));
    if (clock.monotonic() + retryMs > end) throw unreachable(located, answers);
    await clock.sleep(retryMs, options.signal);
  }
}

interface Answer {
  server: ObjectServer;
  /** Undefined if it could not be reached. */
  status: number | undefined;
  silence?: string;
  size?: number;
}

const isGood = ({ status }: Answer): boolean => status === 200;

function reached({ server, status, size }: Answer, origin: OriginFacts | undefined): ReachableServer {
  const known = defined({ size: size ?? origin?.size });
  if (status === 200) return { server: server.host, said: 'has it', ...known };
  if (status === 504 && origin !== undefined)
    return { server: server.host, said: 'does not have it yet', ...known };
  // Caches may be wrong about what exists; the origin is not.
  return origin === undefined
    ? { server: server.host, said: `answers with status ${status ?? ''}`, ...known }
    : { server: origin.server, said: 'has it', ...known };
}

/** What servers answer, up to the first good answer. */
async function askServers(located: Located, options: ObjectOptions): Promise<Answer[]> {
  const answers: Answer[] = [];
  const isLast = async (server: ObjectServer, how: ObjectOptions): Promise<true | undefined> => {
    const answer = await ask(located, server, how);
    answers.push(answer);
    return isGood(answer) || undefined;
  };
  await firstAnswer(located.servers, isLast, options);
  return answers;
}

/** Caches remember a 404 after the object has appeared, and need not have what exists: only the origin knows. */
async function askOrigin(
  url: string,
  located: Located,
  options: ObjectOptions,
): Promise<OriginFacts | undefined> {
  const { federation, signal } = options;
  const locate = (how: LocateOptions): Promise<Located> => federation.locate(url, { ...options, ...how });
  const known = await readOriginFacts(located, { wire: federation.wire, locate, signal });
  if (known?.isCollection === true) throw folderFault(located.url);
  return known;
}

async function ask(located: Located, server: ObjectServer, options: ObjectOptions): Promise<Answer> {
  try {
    // A plain request would make a cache ask its origin for digests, which takes minutes for a big object.
    const headers: Record<string, string> =
      server.kind === 'cache' ? { 'Cache-Control': 'only-if-cached' } : {};
    const request = { method: 'HEAD' as const, server, headers, headerMs };
    const { status, headers: said } = await requestObject(located, request, options);
    const length = status === 200 ? said['content-length'] : undefined;
    return { server, status, ...(length === undefined ? {} : { size: Number(length) }) };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { server, status: undefined, silence: error.message };
  }
}

function unreachable({ url }: Located, answers: Answer[]): Fault {
  const said = [...new Set(answers.map(({ silence }) => silence))].join('; ');
  return new Fault('servers-unreachable', `${os.hostname()} cannot reach any server of ${url}: ${said}`, {
    fix: 'run the job on another machine: one without network access cannot fetch data',
    about: url,
  });
}
