import { defined } from '@updraft/base';
import { Fault, type FaultKind } from '../fault.ts';
import { firstAnswer } from '../http/connections.ts';
import type { ControlAnswer } from '../http/exchange.ts';
import { escapePath, unescapePath } from './escape-path.ts';
import type { Located, ObjectServer } from './located.ts';
import { requestWithRetries, statusFault, type ObjectOptions } from './object-request.ts';

export interface CollectionEntry extends Omit<DavResource, 'path'> {
  /** Its URL, in the same form as the collection's. */
  url: string;
  /** Decoded path below the requested collection; never leads out of it. */
  name: string;
}

/** The entries of a collection, by name; an object lists as itself. */
export async function listCollection(url: string, options: ObjectOptions): Promise<CollectionEntry[]> {
  const located = await options.federation.locate(url, options);
  const { self, children } = await propfind(url, located, options);
  if (self !== undefined && !self.isCollection && children.length === 0)
    return [{ ...facts(self), url, name: nameOf(self, located.url) }];
  const [base = ''] = url.split('?');
  const folder = base.replace(/\/+$/, '');
  const entries = children.map((child) => ({
    ...facts(child),
    url: `${folder}/${child.path.slice(child.path.lastIndexOf('/') + 1)}`,
    name: nameOf(child, located.url),
  }));
  return entries.sort(byName);
}

/** Deeper than any data set, yet it ends a loop soon. */
const maxDepth = 100;

/** All objects below a collection, without the collections themselves; none of them if one folder cannot be listed. */
export async function walkCollection(url: string, options: ObjectOptions): Promise<CollectionEntry[]> {
  return await walk(url, options, '');
}

/** Lists folder by folder: XRootD has no other way. */
async function walk(url: string, options: ObjectOptions, below: string): Promise<CollectionEntry[]> {
  if (below.split('/').length > maxDepth)
    throw new Fault('data-wrong', `${url}: more than ${maxDepth} nested folders`, {
      about: url,
      fix: 'a link at the origin probably leads back to a parent folder; name the folders you need',
    });
  const objects: CollectionEntry[] = [];
  for (const entry of await listCollection(url, options)) {
    const name = below + entry.name;
    if (!entry.isCollection) objects.push({ ...entry, name });
    else for (const one of await walk(entry.url, options, `${name}/`)) objects.push(one);
  }
  return objects;
}

const byName = (one: CollectionEntry, other: CollectionEntry): number => (one.name < other.name ? -1 : 1);

function facts({ isCollection, size, etag, modified }: DavResource): Omit<CollectionEntry, 'url' | 'name'> {
  return defined({ isCollection, size, etag, modified });
}

/** Names become file names: one that leads out of its folder is not an accident. */
function nameOf({ path }: Pick<DavResource, 'path'>, url: string): string {
  const name = unescapePath(path.slice(path.lastIndexOf('/') + 1));
  if (name === '' || name === '.' || name === '..' || name.includes('\0'))
    throw new Fault('data-wrong', `${url}: its listing has the name ${JSON.stringify(name)}`, { about: url });
  return name;
}

interface Listing {
  /** The resource that the URL names. */
  self: DavResource | undefined;
  /** Its entries, if it is a collection. */
  children: DavResource[];
}

/** A listing of a hundred thousand names takes some fifty megabytes. */
const maxListingBytes = 128 << 20;

/** Asks the listing server about a path and its entries; if it is silent or cuts its answer, another origin too. */
async function propfind(url: string, located: Located, options: ObjectOptions): Promise<Listing> {
  const first = listingServer(located);
  let failed: Fault | undefined;
  const ask = async (isFirst: boolean, how: ObjectOptions): Promise<Listing | undefined> => {
    try {
      if (isFirst) return await listingAt(located, first, how);
      const direct = await how.federation.locate(url, { ...how, verb: 'PROPFIND' });
      const other = direct.servers.find(({ host }) => host !== first.host);
      return other && (await listingAt(direct, other, how));
    } catch (error) {
      const mayPass = error instanceof Fault && passing.includes(error.kind);
      if (isFirst && !mayPass) throw error;
      if (mayPass) failed ??= error;
      return undefined;
    }
  };
  const listing = await firstAnswer(first.kind === 'plain' ? [true] : [true, false], ask, options);
  if (listing !== undefined) return listing;
  throw failed ?? noListing(located);
}

/** Another origin may do better. */
const passing: FaultKind[] = ['servers-unreachable', 'transfer-stalled', 'data-wrong'];

async function listingAt(located: Located, server: ObjectServer, options: ObjectOptions): Promise<Listing> {
  const isUsable = (said: ControlAnswer): boolean => said.status !== 207 || wholeListing(said) !== undefined;
  const request = {
    method: 'PROPFIND' as const,
    server,
    headers: { Depth: '1' },
    maxBody: maxListingBytes,
    isUsable,
  };
  const answer = await requestWithRetries(located, request, options);
  if (answer.status === 405 || answer.status === 501) throw noListing(located);
  if (answer.status !== 207)
    throw statusFault(answer.status, { ...located, ...answer, object: located.url, host: server.host });
  return split(wholeListing(answer) ?? [], new URL(answer.url).pathname);
}

/** Its resources; undefined unless both the text and the body that carries it have come to their end. */
function wholeListing({ status, headers, body }: ControlAnswer): DavResource[] | undefined {
  // A body without a length ends with the connection, whoever cut it.
  const hasEnd = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return status === 207 && hasEnd ? parseMultistatus(body) : undefined;
}

/** What an answer to a request of depth 0 describes. */
export function describedBy(answer: ControlAnswer): DavResource | undefined {
  return split(wholeListing(answer) ?? [], new URL(answer.url).pathname).self;
}

function listingServer(located: Located): ObjectServer {
  const [first] = located.servers;
  if (first?.kind === 'plain' && !first.url.startsWith('file:')) return first;
  if (located.collectionsUrl === undefined) throw noListing(located);
  return originAt(located.collectionsUrl);
}

export function originAt(url: string): ObjectServer {
  return { url, host: new URL(url).host, kind: 'origin' };
}

/**
 * Separates the requested collection from its entries. Servers behind a prefix may use their own paths: then the
 * shortest is the collection, if all others are in it.
 */
function split(resources: DavResource[], pathname: string): Listing {
  const asked = escapePath(pathname).replace(/(.)\/+$/, '$1');
  const shortest = resources.toSorted((one, other) => one.path.length - other.path.length)[0];
  const self = resources.find(({ path }) => path === asked) ?? shortest;
  const children = resources.filter((resource) => resource !== self);
  if (children.some(({ path }) => !path.startsWith(`${self?.path.replace(/\/$/, '')}/`)))
    throw new Fault('data-wrong', `the listing of ${asked} lacks ${asked} itself, or has what is not in it`);
  return { self, children };
}

function noListing(located: Located): Fault {
  const where = located.namespace ?? located.url;
  return new Fault('servers-unreachable', `${located.url}: ${where} cannot be listed, only read by name`, {
    about: located.url,
    fix: 'name the objects one by one',
  });
}

/** One resource of a WebDAV listing. */
export interface DavResource {
  /** Escaped path at the server, without a trailing slash. */
  path: string;
  isCollection: boolean;
  size?: number;
  etag?: string;
  /** Milliseconds since the epoch. */
  modified?: number;
}

/** A tag, or text between tags; undefined if the markup is broken. */
type Token = { text: string } | { name: string; isClosing: boolean; isEmpty: boolean };

const tagName = /^\/?(?:[\w.-]+:)?([\w.-]+)/;

/** Reads every byte once, whatever the text is. */
function* tokens(xml: string): Generator<Token | undefined> {
  for (let at = 0; at < xml.length;) {
    const start = xml.indexOf('<', at);
    if (start !== at) yield { text: decodeEntities(xml.slice(at, start < 0 ? undefined : start)) };
    if (start < 0) return;
    const [opening, closing] = hidden.find(([mark]) => xml.startsWith(mark, start)) ?? ['<', ''];
    const end = closing === '' ? tagEnd(xml, start) : xml.indexOf(closing, start + opening.length);
    if (end < 0) {
      yield undefined;
      return;
    }
    const inside = xml.slice(start + opening.length, end);
    const name = opening === '<' ? tagName.exec(inside.slice(0, maxNameLength))?.[1] : undefined;
    if (opening === '<![CDATA[') yield { text: inside };
    else if (name !== undefined)
      yield { name, isClosing: inside.startsWith('/'), isEmpty: inside.endsWith('/') };
    at = end + Math.max(1, closing.length);
  }
}

const maxNameLength = 200;
/** Markup that ends only with its own delimiter. */
const hidden = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
] as const;

/** Where a tag ends: a `>` in quotes is part of an attribute. */
function tagEnd(xml: string, start: number): number {
  let quote = '';
  for (let at = start + 1; at < xml.length; at++) {
    const mark = xml[at] ?? '';
    if (quote !== '') quote = mark === quote ? '' : quote;
    else if (mark === '"' || mark === "'") quote = mark;
    else if (mark === '>') return at;
  }
  return -1;
}

/**
 * Reads the part of a 207 answer that clients need, whatever the namespace prefixes and order: XRootD, Pelican and
 * Apache differ in both. Undefined unless the text is a multistatus from its first tag to `</multistatus>`, with at
 * least the resource that was asked for.
 */
export function parseMultistatus(xml: string): DavResource[] | undefined {
  const resources: DavResource[] = [];
  const open: string[] = [];
  let fields = new Map<string, string>();
  let isWhole = false;
  for (const token of tokens(xml)) {
    if (token === undefined) return undefined;
    if ('text' in token) {
      const field = open.at(-1) ?? '';
      fields.set(field, (fields.get(field) ?? '') + token.text);
      continue;
    }
    const { name, isClosing, isEmpty } = token;
    if (isClosing) {
      if (open.pop() !== name) return undefined;
      if (name === 'response') {
        const resource = toResource(fields);
        if (resource === undefined) return undefined;
        resources.push(resource);
      }
    } else {
      if (open.length === 0 && name !== 'multistatus') return undefined;
      if (name === 'response') fields = new Map();
      // XRootD repeats some properties: the last one counts.
      fields.delete(name);
      if (name === 'collection' && open.at(-1) === 'resourcetype') fields.set('collection', '1');
      if (!isEmpty && open.push(name) > maxDepth) return undefined;
    }
    isWhole = open.length === 0;
  }
  return isWhole && resources.length > 0 ? resources : undefined;
}

/** Undefined without a path: whatever else it is, an entry would be missing. */
function toResource(fields: Map<string, string>): DavResource | undefined {
  const field = (name: string): string => fields.get(name)?.trim() ?? '';
  const path = hrefPath(field('href'));
  if (path === undefined) return undefined;
  const isCollection = fields.has('collection') || field('iscollection') === '1';
  const length = field('getcontentlength');
  const modified = Date.parse(field('getlastmodified'));
  const etag = field('getetag');
  return {
    path,
    isCollection,
    ...(/^\d+$/.test(length) && !isCollection ? { size: Number(length) } : {}),
    ...(etag === '' ? {} : { etag }),
    ...(Number.isNaN(modified) ? {} : { modified }),
  };
}

/** A path or a whole URL, escaped or not. */
function hrefPath(href: string): string | undefined {
  const pathname = href.replace(/^https?:\/\/[^/]*/i, '');
  return pathname.startsWith('/')
    ? escapePath(pathname)
        .replace(/\/{2,}/g, '/')
        .replace(/(.)\/$/, '$1')
    : undefined;
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return entities[name] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
