import { Fault } from '../fault.ts';
import { withBackOff, type Try } from './back-off.ts';
import type { Located, ObjectServer } from './located.ts';
import { afterRefusal, requestObject, afterSilence, type ObjectOptions } from './object-request.ts';

const timeoutMs = 30_000;

/** Asks the origin to delete an object or a folder, and returns its `host:port`; throws `object-missing`. */
export async function deleteObject(url: string, options: ObjectOptions): Promise<string> {
  const located = await options.federation.locate(url, { ...options, verb: 'DELETE' });
  const [server] = located.servers;
  if (server?.kind !== 'origin')
    throw new Fault('url-invalid', `${located.url} is not in a federation`, {
      about: located.url,
      fix: 'delete it where it is kept',
    });
  const { clock } = options.federation.wire;
  let tries = 0;
  await withBackOff({ clock, signal: options.signal }, () => tryDelete(located, server, options, ++tries));
  return server.host;
}

async function tryDelete(
  located: Located,
  server: ObjectServer,
  options: ObjectOptions,
  tries: number,
): Promise<Try<true>> {
  try {
    const answer = await requestObject(located, { method: 'DELETE', server }, options);
    const { status } = answer;
    // An earlier try whose answer was lost may have deleted it.
    if ((status >= 200 && status < 300) || (status === 404 && tries > 1)) return { done: true };
    if (status === 405 || status === 501)
      return { failed: notAllowed(located.url, server), retry: false, timeoutMs };
    const next = afterRefusal(located, server, answer, {
      now: options.federation.wire.clock.now(),
      timeoutMs,
    });
    // Pelican's origin sometimes answers 400 to a request that succeeds at the second try.
    return status === 400 && tries === 1 && 'failed' in next ? { ...next, retry: true } : next;
  } catch (error) {
    return afterSilence(located.url, error, timeoutMs);
  }
}

function notAllowed(url: string, { host }: ObjectServer): Fault {
  return new Fault('url-invalid', `${url}: ${host} does not allow deletes there`, {
    about: url,
    fix: 'ask whoever runs the origin',
  });
}
