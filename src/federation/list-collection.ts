import { defined } from '../base/defined.ts';
import { Fault } from '../fault/fault.ts';
import type { ControlAnswer } from '../http/request.ts';
import { escapePath, unescapePath } from './escape-path.ts';
import type { Located, ObjectServer } from './located.ts';
import { requestObject, requestWithRetries, statusFault, type ObjectOptions } from './object-request.ts';

/** Something in a collection. */
export interface CollectionEntry {
  /** URL to use for it, in the spelling of the collection's own. */
  url: string;
  /** Path below the collection that was asked for, readable; never leaves it. */
  name: string;
  isCollection: boolean;
  size?: number;
  etag?: string;
  /** Milliseconds since the epoch. */
  modified?: number;
}

/** What is in a collection, by name; an object lists as itself. */
export async function listCollection(url: string, options: ObjectOptions): Promise<CollectionEntry[]> {
  const located = await options.federation.locate(url, options);
  const { self, children } = await propfind(located, options, '1');
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

/** Deeper than any data set, and far from what would take for ever. */
const maxDepth = 100;

/** All objects below a collection; collections themselves are left out. */
export async function* walkCollection(url: string, options: ObjectOptions): AsyncGenerator<CollectionEntry> {
  yield* walk(url, options, await listTree(url, options), '');
}

/** What is in each folder, by its path below the one that was asked about: `` itself, `a/`, `a/b/`. */
type Tree = Map<string, CollectionEntry[]>;

/** Folders of which the tree knows nothing are listed one by one. */
async function* walk(
  url: string,
  options: ObjectOptions,
  tree: Tree,
  below: string,
): AsyncGenerator<CollectionEntry> {
  if (below.split('/').length > maxDepth)
    throw new Fault('data-wrong', `${url}: more than ${maxDepth} folders inside each other`, {
      about: url,
      fix: 'a link at the origin most likely leads back to a folder above it; name the folders that are meant',
    });
  for (const entry of tree.get(below) ?? (await listCollection(url, options))) {
    const name = below + entry.name;
    if (entry.isCollection) yield* walk(entry.url, options, tree, `${name}/`);
    else yield { ...entry, name };
  }
}

/**
 * Asks for all below a collection at once. Pelican's origins answer that; XRootD names the folder alone, as if it were
 * empty, and others refuse: an empty tree, and the walk asks for each folder.
 */
async function listTree(url: string, options: ObjectOptions): Promise<Tree> {
  const located = await options.federation.locate(url, options);
  const server = listingServer(located);
  const request = {
    method: 'PROPFIND' as const,
    server,
    headers: { Depth: 'infinity' },
    maxBody: maxListingBytes,
  };
  const answer = await requestObject(located, request, options).catch(() => undefined);
  options.signal?.throwIfAborted();
  if (answer?.status !== 207) return new Map();
  const resources = parseMultistatus(answer.body) ?? [];
  const { self, children } = split(resources, new URL(answer.url).pathname);
  return treeOf(url, self, children);
}

function treeOf(url: string, self: DavResource | undefined, children: DavResource[]): Tree {
  const tree: Tree = new Map();
  const [base = ''] = url.split('?');
  for (const child of children) {
    // A server that names its own paths is asked folder by folder.
    if (self === undefined || !child.path.startsWith(`${self.path}/`)) return new Map();
    const below = child.path.slice(self.path.length);
    const folders = below.split('/').slice(1, -1);
    const key = folders.map((path) => `${nameOf({ path: `/${path}` }, url)}/`).join('');
    const entry = { ...facts(child), url: base.replace(/\/+$/, '') + below, name: nameOf(child, url) };
    const entries = tree.get(key);
    if (entries === undefined) tree.set(key, [entry]);
    else entries.push(entry);
  }
  for (const entries of tree.values()) entries.sort(byName);
  return tree;
}

const byName = (one: CollectionEntry, other: CollectionEntry): number => (one.name < other.name ? -1 : 1);

function facts({ isCollection, size, etag, modified }: DavResource): Omit<CollectionEntry, 'url' | 'name'> {
  return defined({ isCollection, size, etag, modified });
}

/** Names become file names: one that could climb out of its folder is nobody's mistake. */
function nameOf({ path }: Pick<DavResource, 'path'>, url: string): string {
  const name = unescapePath(path.slice(path.lastIndexOf('/') + 1));
  if (name === '' || name === '.' || name === '..' || name.includes('\0'))
    throw new Fault('data-wrong', `${url}: its listing has the name ${JSON.stringify(name)}`, { about: url });
  return name;
}

interface Listing {
  /** What the URL itself names. */
  self: DavResource | undefined;
  /** What is in it, where it is a collection. */
  children: DavResource[];
  /** `host:port` that answered. */
  host: string;
}

/** A hundred thousand names of a folder take some fifty megabytes. */
const maxListingBytes = 128 << 20;

/** Asks the server that lists about a path: only itself, or what is in it too. */
async function propfind(located: Located, options: ObjectOptions, depth: '1'): Promise<Listing> {
  const server = listingServer(located);
  const request = {
    method: 'PROPFIND' as const,
    server,
    headers: { Depth: depth },
    maxBody: maxListingBytes,
  };
  const answer = await requestWithRetries(located, request, options);
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

/** What an answer to a question of depth 0 describes. */
export function describedBy({ body, url }: ControlAnswer): DavResource | undefined {
  return split(parseMultistatus(body) ?? [], new URL(url).pathname).self;
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
 * Tells what was asked about from what is in it. Servers behind a prefix may name paths of their own: then the
 * shortest is the collection itself.
 */
function split(resources: DavResource[], pathname: string): Pick<Listing, 'self' | 'children'> {
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

/** One resource of a WebDAV listing. */
export interface DavResource {
  /** Escaped path at the server, without a slash at its end. */
  path: string;
  isCollection: boolean;
  size?: number;
  etag?: string;
  /** Milliseconds since the epoch. */
  modified?: number;
}

/** A tag, or text between tags; undefined where the markup is broken. */
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
/** What ends only by its own mark. */
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
 * Reads the part of a 207 answer that clients need, from whatever prefixes and order the server writes it in:
 * XRootD, Pelican and Apache differ in all of them. Undefined when the text is no multistatus at all, or broken.
 */
export function parseMultistatus(xml: string): DavResource[] | undefined {
  const resources: DavResource[] = [];
  const open: string[] = [];
  let fields = new Map<string, string>();
  let isMultistatus = false;
  for (const token of tokens(xml)) {
    if (token === undefined) return undefined;
    if ('text' in token) {
      const field = open.at(-1) ?? '';
      fields.set(field, (fields.get(field) ?? '') + token.text);
      continue;
    }
    const { name, isClosing, isEmpty } = token;
    if (isClosing) {
      if (name === 'response') resources.push(...toResource(fields));
      open.splice(Math.max(0, open.lastIndexOf(name)));
    } else {
      if (name === 'multistatus') isMultistatus = true;
      if (name === 'response') fields = new Map();
      // XRootD says some things twice: the last word counts.
      fields.delete(name);
      if (name === 'collection' && open.at(-1) === 'resourcetype') fields.set('collection', '1');
      if (!isEmpty && open.push(name) > maxDepth) return undefined;
    }
  }
  return isMultistatus ? resources : undefined;
}

function toResource(fields: Map<string, string>): DavResource[] {
  const field = (name: string): string => fields.get(name)?.trim() ?? '';
  const path = hrefPath(field('href'));
  if (path === undefined) return [];
  const isCollection = fields.has('collection') || field('iscollection') === '1';
  const length = field('getcontentlength');
  const modified = Date.parse(field('getlastmodified'));
  const etag = field('getetag');
  return [
    {
      path,
      isCollection,
      ...(/^\d+$/.test(length) && !isCollection ? { size: Number(length) } : {}),
      ...(etag === '' ? {} : { etag }),
      ...(Number.isNaN(modified) ? {} : { modified }),
    },
  ];
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
