import os from 'node:os';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../fault/fault.ts';
import type { Located, ObjectServer } from '../../federation/located.ts';
import { NoAnswer } from '../../http/no-answer.ts';
import { requestObject, type ObjectOptions } from '../../federation/object-request.ts';

interface Reached {
  /** `host:port` that answered. */
  server: string;
  said: string;
  size?: number;
}

/** How long nobody may answer before the machine counts as one that cannot reach them. */
const patienceMs = 20_000;
const pauseMs = 2000;
const headerMs = 10_000;

/**
 * Finds a server that answers for an object. One that answers, though not well, will do: the transfer is patient and
 * knows others. Throws what finding the servers throws, `object-missing` when the origin says so, and
 * `servers-unreachable` when nobody has answered for a while.
 */
export async function reachObject(url: string, options: ObjectOptions): Promise<Reached> {
  const located = await options.federation.locate(url, options);
  const { clock } = options.federation.wire;
  const end = clock.monotonic() + patienceMs;
  for (;;) {
    const silent: NoAnswer[] = [];
    const answers = await askServers(located, options, silent);
    // Caches remember a 404 after the object has come: only who keeps it knows.
    if (answers.length > 0 && answers.every(isMissing))
      answers.push(...(await askOrigin(url, options, silent)));
    const best = answers.find(isGood) ?? answers.find(({ status }) => status !== undefined);
    const final = answers.find((answer) => isMissing(answer) && answer.server.kind !== 'cache');
    if (best !== undefined && final !== undefined && !isGood(best)) throw missing(located, final.server);
    if (best !== undefined) return reached(best);
    if (clock.monotonic() + pauseMs > end) throw unreachable(located, silent);
    await clock.sleep(pauseMs, options.signal);
  }
}

interface Answer {
  server: ObjectServer;
  /** Undefined where it could not be reached. */
  status: number | undefined;
  size?: number;
}

const isGood = ({ status }: Answer): boolean => status === 200;
const isMissing = ({ status }: Answer): boolean => status === 404 || status === 410;

function reached({ server, status, size }: Answer): Reached {
  const said = status === 200 ? 'has it' : `answers with status ${status ?? ''}`;
  return { server: server.host, said, ...defined({ size }) };
}

/** The first server named is asked first; only when it has nothing good to say, the others, all at once. */
async function askServers(located: Located, options: ObjectOptions, silent: NoAnswer[]): Promise<Answer[]> {
  const [first, ...others] = located.servers;
  if (first === undefined) return [];
  const answer = await ask(located, first, options, silent);
  if (isGood(answer)) return [answer];
  return [answer, ...(await Promise.all(others.map((server) => ask(located, server, options, silent))))];
}

async function askOrigin(url: string, options: ObjectOptions, silent: NoAnswer[]): Promise<Answer[]> {
  try {
    const located = await options.federation.locate(url, { ...options, direct: true, fresh: true });
    return await askServers(located, options, silent);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof Fault) return [];
    throw error;
  }
}

async function ask(
  located: Located,
  server: ObjectServer,
  options: ObjectOptions,
  silent: NoAnswer[],
): Promise<Answer> {
  try {
    const { status, headers } = await requestObject(located, { method: 'HEAD', server, headerMs }, options);
    const length = status === 200 ? headers['content-length'] : undefined;
    return { server, status, ...(length === undefined ? {} : { size: Number(length) }) };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    silent.push(error);
    return { server, status: undefined };
  }
}

function unreachable({ url }: Located, silent: NoAnswer[]): Fault {
  const said = [...new Set(silent.map(({ message }) => message))].join('; ');
  return new Fault('servers-unreachable', `${os.hostname()} reaches no server of ${url}: ${said}`, {
    fix: 'a machine without a way out to the network cannot fetch data: the job must run on another one',
    about: url,
  });
}

function missing({ url }: Located, { host }: ObjectServer): Fault {
  return new Fault('object-missing', `${url} is not there: ${host} says so, which keeps it`, {
    fix: 'check the spelling of the path, or put the object there; `updraft ls` lists its folder',
    about: url,
  });
}
