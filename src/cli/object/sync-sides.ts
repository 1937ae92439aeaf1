import { rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { Fault } from '../../fault/fault.ts';
import { deleteObject } from '../../federation/delete-object.ts';
import type { OriginFacts } from '../../federation/origin-facts.ts';
import { type CollectionEntry, walkCollection } from '../../federation/list-collection.ts';
import type { ObjectOptions } from '../../federation/object-request.ts';
import type { Cli } from '../cli.ts';
import { below, hasScheme, statUrl } from './access.ts';
import { listItems } from './get-items.ts';
import { listUploads, walkFolder } from './put-items.ts';
import type { Direction, Side, SyncItem } from './sync-plan.ts';

/** Both sides of a synchronisation, item by item. */
export interface Sides {
  direction: Direction;
  /** Everything in the source. */
  items: SyncItem[];
  /** What only the target has, and how it is deleted. */
  extras: { name: string; remove: () => Promise<void> }[];
}

/** Lists the source and the target of a synchronisation; reads no content. */
export async function readSides(
  cli: Cli,
  { source, target }: { source: string; target: string },
  how: ObjectOptions,
): Promise<Sides> {
  const [from, to] = [hasScheme(source), hasScheme(target)];
  if (from === to)
    throw new Fault(
      'usage',
      `${source || '""'} and ${target || '""'} are both ${from ? 'URLs' : 'on this machine'}`,
      { fix: from ? 'copy through a folder on this machine' : 'one of them must be a URL: osdf:///PATH' },
    );
  if (from && ['', '/'].includes(target.trim()))
    throw new Fault('usage', `${JSON.stringify(target)} is not a folder to synchronise`, {
      fix: 'name a folder; "." is the current one',
    });
  return from ? await readDown(cli, source, target, how) : await readUp(cli, source, target, how);
}

async function readDown(cli: Cli, url: string, target: string, how: ObjectOptions): Promise<Sides> {
  const known = await statUrl(url, how);
  const isFolder = known?.isCollection === true;
  // A folder's copy is the target itself, with or without a trailing slash.
  const wanted = { urls: [url], target: isFolder ? target.replace(/(.)\/+$/, '$1') : target };
  const listed = await listItems(cli, wanted, { ...how, recursive: isFolder });
  const items = await Promise.all(
    listed.map(async ({ url: object, target: file, listed: remote = said(known) }): Promise<SyncItem> => {
      const local = await sideOf(file);
      return { url: object, file, remote, ...(local !== undefined && { local }) };
    }),
  );
  const root = path.resolve(cli.cwd, target);
  const extras = isFolder ? await localExtras(root, items) : [];
  return { direction: 'down', items, extras };
}

async function readUp(cli: Cli, source: string, url: string, how: ObjectOptions): Promise<Sides> {
  const file = path.resolve(cli.cwd, source);
  const isFolder = (await stat(file).catch(() => undefined))?.isDirectory() === true;
  const there = await orMissing(statUrl(url, how));
  if (isFolder && there === undefined)
    throw new Fault('servers-unreachable', `${url}: its origin does not say whether it exists`, {
      about: url,
      fix: 'wait and run it again; if the namespace cannot be listed, use `updraft put --recursive`',
    });
  const isCollection = typeof there === 'object' && there.isCollection;
  const base = url.replace(/\/+$/, '');
  const isInto = !isFolder && (isCollection || base !== url);
  const to = isInto ? below(url, path.basename(file)) : base;
  const uploads = await listUploads(cli, [source, to], isFolder);
  const entries = isFolder && isCollection ? await Array.fromAsync(walkCollection(base, how)) : [];
  const remotes = new Map(entries.map((entry) => [below(base, entry.name), entry]));
  const items = await Promise.all(
    uploads.map(async (upload): Promise<SyncItem> => {
      const one = isFolder ? undefined : await orMissing(statUrl(upload.url, how));
      const remote = isFolder ? remotes.get(upload.url) : one === 'missing' ? undefined : said(one);
      return { ...upload, local: (await sideOf(upload.file)) ?? {}, ...(remote !== undefined && { remote }) };
    }),
  );
  const sent = new Set(items.map((item) => item.url));
  const extras = [...remotes]
    .filter(([object]) => !sent.has(object))
    .map(([, entry]) => remoteExtra(entry, how));
  return { direction: 'up', items, extras };
}

async function sideOf(file: string): Promise<Side | undefined> {
  const info = await stat(file).catch(() => undefined);
  return info?.isFile() === true ? { size: info.size, modified: info.mtimeMs } : undefined;
}

/** What the origin says about an object; the times of caches mean nothing. */
const said = ({ size, modified, kind }: Partial<OriginFacts> = {}): Side =>
  defined({ size, modified: kind === 'origin' ? modified : undefined });

async function orMissing<T>(asked: Promise<T>): Promise<T | 'missing'> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Fault && error.kind === 'object-missing') return 'missing';
    throw error;
  }
}

const remoteExtra = ({ url }: CollectionEntry, how: ObjectOptions): Sides['extras'][number] => ({
  name: url,
  remove: async () => {
    await deleteObject(url, how);
  },
});

/** Links are not followed, so nothing outside the folder is found, and deleting a link deletes only the link. */
async function localExtras(root: string, items: readonly SyncItem[]): Promise<Sides['extras']> {
  const names = await walkFolder(root).catch(() => []);
  const needed = new Set<string>();
  for (const { file } of items) {
    // Part files that a later download may resume from.
    for (const name of [file, `${file}.part`, `${file}.part.json`]) needed.add(name);
    for (
      let folder = path.dirname(file);
      !needed.has(folder) && folder !== root;
      folder = path.dirname(folder)
    )
      needed.add(folder);
  }
  return names
    .map((name) => path.join(root, name))
    .filter((file) => !needed.has(file))
    .map((file) => ({ name: file, remove: () => removeFile(file, root) }));
}

/** Removes the folders that it leaves empty, too. */
async function removeFile(file: string, root: string): Promise<void> {
  await rm(file);
  try {
    for (let folder = path.dirname(file); folder !== root; folder = path.dirname(folder)) await rmdir(folder);
  } catch {
    // Something else is in it.
  }
}
