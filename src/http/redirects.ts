import { NoAnswer } from './no-answer.ts';
import type { ResponseHead } from './response-head.ts';

const statuses = new Set([301, 302, 303, 307, 308]);

interface Hop {
  url: URL;
  headers: Record<string, string>;
}

/**
 * Sends a request wherever the servers point, at most `limit` times; with 0, a redirect is the answer. Never from
 * https to plain http, and `Authorization` stays with the host that it was meant for.
 */
export async function followRedirects<A extends { head: ResponseHead }>(
  first: Hop,
  limit: number,
  send: (hop: Hop) => Promise<A>,
  leave: (answer: A) => void = () => undefined,
): Promise<A> {
  let hop = first;
  for (let left = limit; ; left--) {
    const answer = await send(hop);
    const location = statuses.has(answer.head.status) ? answer.head.headers.get('location') : undefined;
    if (location === undefined || limit === 0) return answer;
    leave(answer);
    if (left === 0) throw new NoAnswer('redirects', first.url.host, `redirects more than ${limit} times`);
    hop = nextHop(hop, location);
  }
}

function nextHop({ url, headers }: Hop, location: string): Hop {
  const target = URL.parse(location, url.href);
  if (target === null || !['https:', 'http:'].includes(target.protocol))
    throw new NoAnswer('garbage', url.host, 'redirects to something that is no http URL');
  if (url.protocol === 'https:' && target.protocol === 'http:')
    throw new NoAnswer('downgrade', url.host, `redirects from https to plain http at ${target.host}`);
  if (target.origin === url.origin) return { url: target, headers };
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization');
  return { url: target, headers: Object.fromEntries(kept) };
}
