import os from 'node:os';
import { Fault } from '../../fault/fault.ts';
import { isFinalMissing, type ServerAnswer } from '../../federation/final-missing.ts';
import type { Located, ObjectServer } from '../../federation/located.ts';
import { NoAnswer } from '../../federation/no-answer.ts';
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
 * knows others. Throws what finding the servers throws, `object-missing` where that is final, and
 * `servers-unreachable` when nobody has answered for a while.
 */
export async function reachObject(url: string, options: ObjectOptions): Promise<Reached> {
  const located = await options.federation.locate(url, options);
  const { clock } = options.federation.wire;
  const end = clock.monotonic() + patienceMs;
  for (;;) {
    const silent: NoAnswer[] = [];
    const reached = await askAll(located, options, silent);
    if (reached !== undefined) return reached;
    if (clock.monotonic() + pauseMs > end) throw unreachable(located, silent);
    await clock.sleep(pauseMs, options.signal);
  }
}

/** The first server named is asked first; only when it has nothing good to say, the others, all at once. */
async function askAll(
  located: Located,
  options: ObjectOptions,
  silent: NoAnswer[],
): Promise<Reached | undefined> {
  const [first, ...others] = located.servers;
  const answers = first === undefined ? [] : [await ask(located, first, options, silent)];
  if (answers[0]?.status !== 200)
    answers.push(...(await Promise.all(others.map((server) => ask(located, server, options, silent)))));
  const good = answers.find(({ status }) => status === 200);
  if (good !== undefined) {
    const size = good.size === undefined ? {} : { size: good.size };
    return { server: good.server.host, said: 'has it', ...size };
  }
  if (isFinalMissing(located.servers, answers)) throw missing(located);
  const poor = answers.find(({ status }) => status !== undefined);
  if (poor === undefined) return undefined;
  return { server: poor.server.host, said: `answers with status ${poor.status ?? ''}` };
}

async function ask(
  located: Located,
  server: ObjectServer,
  options: ObjectOptions,
  silent: NoAnswer[],
): Promise<ServerAnswer & { size?: number }> {
  try {
    const { status, headers } = await requestObject(located, { method: 'HEAD', server, headerMs }, options);
    const length = headers['content-length'];
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

function missing({ url, servers }: Located): Fault {
  const hosts = servers.map(({ host }) => host).join(', ');
  return new Fault('object-missing', `${url} is not there: ${hosts} say so`, {
    fix: 'check the spelling of the path, or put the object there; `updraft ls` lists its folder',
    about: url,
  });
}
