import { Fault } from '../fault/fault.ts';
import { unescapePath } from './escape-path.ts';
import type { Resource } from './multistatus.ts';
import type { ObjectOptions } from './object-request.ts';
import { propfind } from './propfind.ts';

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
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Deeper than any data set, and far from what would take for ever. */
const mostDepth = 100;

/** All objects below a collection, folder by folder; collections themselves are not told. */
export async function* walkCollection(
  url: string,
  options: ObjectOptions,
  below = '',
): AsyncGenerator<CollectionEntry> {
  if (below.split('/').length > mostDepth)
    throw new Fault('data-wrong', `${url}: more than ${mostDepth} folders inside each other`, {
      about: url,
      fix: 'a link at the origin most likely leads back to a folder above it; name the folders that are meant',
    });
  for (const entry of await listCollection(url, options)) {
    const name = below + entry.name;
    if (entry.isCollection) yield* walkCollection(entry.url, options, `${name}/`);
    else yield { ...entry, name };
  }
}

function facts({ isCollection, size, etag, modified }: Resource): Omit<CollectionEntry, 'url' | 'name'> {
  return {
    isCollection,
    ...(size === undefined ? {} : { size }),
    ...(etag === undefined ? {} : { etag }),
    ...(modified === undefined ? {} : { modified }),
  };
}

/** Names become file names: one that could climb out of its folder is nobody's mistake. */
function nameOf({ path }: Resource, url: string): string {
  const name = unescapePath(path.slice(path.lastIndexOf('/') + 1));
  if (name === '' || name === '.' || name === '..' || name.includes('\0'))
    throw new Fault('data-wrong', `${url}: its listing has the name ${JSON.stringify(name)}`, { about: url });
  return name;
}
