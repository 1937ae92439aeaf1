import { Fault } from '../fault/fault.ts';
import { escapePath } from './escape-path.ts';
import type { Located, ObjectServer } from './located.ts';
import { parseMultistatus, type Resource } from './multistatus.ts';
import { requestPatiently, type ObjectOptions } from './object-request.ts';
import { statusFault } from './status-fault.ts';

interface Listing {
  /** What the URL itself names. */
  self: Resource | undefined;
  /** What is in it, where it is a collection. */
  children: Resource[];
  /** `host:port` that answered. */
  host: string;
}

/** A hundred thousand names of a folder take some fifty megabytes. */
const largestListing = 256 << 20;

/** Asks the server that lists about a path: only itself, or what is in it too. */
export async function propfind(located: Located, options: ObjectOptions, depth: '0' | '1'): Promise<Listing> {
  const server = listingServer(located);
  const request = { method: 'PROPFIND' as const, server, headers: { Depth: depth }, maxBody: largestListing };
  const answer = await requestPatiently(located, request, options);
  if (answer.status === 405 || answer.status === 501) throw noListing(located);
  if (answer.status !== 207)
    throw statusFault(answer.status, { object: located.url, host: server.host, tokenFix: located.tokenFix });
  const resources = parseMultistatus(answer.body);
  if (resources === undefined)
    throw new Fault('data-wrong', `${located.url}: ${server.host} answers a listing with something else`, {
      about: located.url,
    });
  return { ...split(resources, new URL(answer.url).pathname), host: server.host };
}

function listingServer(located: Located): ObjectServer {
  const [first] = located.servers;
  if (first?.kind === 'plain' && !first.url.startsWith('file:')) return first;
  if (located.collectionsUrl === undefined) throw noListing(located);
  return { url: located.collectionsUrl, host: new URL(located.collectionsUrl).host, kind: 'origin' };
}

/**
 * Tells what was asked about from what is in it. Servers behind a prefix may name paths of their own: then the
 * shortest is the collection itself.
 */
function split(resources: Resource[], pathname: string): Pick<Listing, 'self' | 'children'> {
  const asked = escapePath(pathname).replace(/(.)\/+$/, '$1');
  const shortest = resources.toSorted((one, other) => one.path.length - other.path.length)[0];
  const self = resources.find(({ path }) => path === asked) ?? shortest;
  return { self, children: resources.filter((resource) => resource !== self) };
}

function noListing(located: Located): Fault {
  const where = located.namespace ?? located.url;
  return new Fault('servers-unreachable', `${located.url}: ${where} cannot be listed, only read by name`, {
    about: located.url,
    fix: 'name the objects one by one',
  });
}
