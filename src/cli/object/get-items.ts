import { lstat, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Env } from '@updraft/base';
import { usageFault } from '@updraft/account/fault';
import {
  type CollectionEntry,
  type FederationLocator,
  type PackKind,
  parseObjectUrl,
  walkCollection,
} from '@updraft/pelican/federation';
import type { Cli } from '../cli.ts';
import { hasScheme } from '../../preflight/object-proof.ts';
import { objectName } from './access.ts';

/** One object to fetch and the file it becomes. */
export interface GetItem {
  url: string;
  target: string;
  /** What the listing says about it, if it was found in one. */
  listed?: Pick<CollectionEntry, 'size' | 'modified'>;
  /** Throws if a link has taken the place of a folder above the target since the listing. */
  checkFolder?: () => Promise<void>;
}

export interface GetRequest {
  urls: string[];
  /** Where to: a folder, or the name of the one file. */
  target: string | undefined;
}

/** Separates the URLs from the target, which is the last argument if it is not a URL. */
export function parseGetArguments(words: readonly string[]): GetRequest {
  const last = words.at(-1) ?? '';
  const target = words.length > 1 && !hasScheme(last) ? last : undefined;
  const urls = target === undefined ? [...words] : words.slice(0, -1);
  const stray = words.length > 1 ? urls.find((word) => !hasScheme(word)) : undefined;
  if (stray !== undefined)
    throw usageFault(
      `"${stray}" is not a URL`,
      'write URLs first, then the file or folder to write to',
      stray,
    );
  return { urls, target };
}

/** Every object to fetch and its file; no two objects share one. */
export async function listItems(
  cli: Cli,
  { urls, target }: GetRequest,
  {
    recursive,
    into,
    ...access
  }: { recursive: boolean; into?: string; tokenFile?: string; federation: FederationLocator },
): Promise<GetItem[]> {
  const folder = await targetFolder(cli, { urls, target }, into);
  const items: GetItem[] = [];
  for (const url of urls) {
    if (recursive || isRecursive(url, cli)) {
      const isWhole =
        urls.length === 1 && target !== undefined && !target.endsWith('/') && into === undefined;
      const root = isWhole
        ? path.resolve(cli.cwd, target)
        : path.join(folder ?? cli.cwd, objectName(url, cli.env));
      const listed = await walkCollection(url, { ...access, signal: cli.signal });
      // What the user names may be a link.
      const top = isWhole ? root : path.dirname(root);
      for (const folder of new Set(listed.map(({ name }) => path.dirname(path.join(root, name)))))
        await refuseLinks(folder, top);
      for (const entry of listed) {
        const target = path.join(root, entry.name);
        const checkFolder = (): Promise<void> => refuseLinks(path.dirname(target), top);
        items.push({ url: entry.url, target, listed: entry, checkFolder });
      }
    } else
      items.push({
        url,
        target:
          folder === undefined
            ? path.resolve(cli.cwd, target ?? objectName(url, cli.env))
            : path.join(folder, objectName(url, cli.env)),
      });
  }
  return withoutClashes(items);
}

/** A folder below `top` that is a link leads to a place that the user did not name. */
async function refuseLinks(folder: string, top: string): Promise<void> {
  if (folder.length <= top.length) return;
  await refuseLinks(path.dirname(folder), top);
  const found = await lstat(folder).catch(() => undefined);
  if (found?.isSymbolicLink() !== true) return;
  const to = await realpath(folder).catch(() => 'nowhere');
  throw usageFault(
    `${folder} is a link to ${to}: nothing is written through it`,
    'remove the link, or name the folder that it leads to as the target',
    folder,
  );
}

function isRecursive(url: string, cli: Cli): boolean {
  const parsed = parseObjectUrl(url, cli.env);
  return parsed.kind === 'federated' && parsed.recursive;
}

/** The folder to write files into; undefined when the target is the file itself. */
async function targetFolder(
  cli: Cli,
  { urls, target }: GetRequest,
  into: string | undefined,
): Promise<string | undefined> {
  if (into !== undefined && target !== undefined)
    throw usageFault(`both "${target}" and --into name the target`, 'keep one of them');
  const named = into ?? target;
  if (named === undefined) return cli.cwd;
  const folder = path.resolve(cli.cwd, named);
  const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory() === true;
  return into !== undefined || urls.length > 1 || named.endsWith('/') || isFolder ? folder : undefined;
}

/** Duplicates are fetched once. */
function withoutClashes(items: readonly GetItem[]): GetItem[] {
  const seen = new Map<string, GetItem>();
  for (const item of items) {
    const { url, target } = item;
    const other = seen.get(target);
    if (other !== undefined && other.url !== url)
      throw usageFault(
        `${other.url} and ${url} would both become ${target}`,
        'fetch them into different folders',
        target,
      );
    seen.set(target, item);
  }
  return [...seen.values()];
}

/** How a URL asks to be unpacked: `?pack=auto`. */
export function packOf(url: string, env: Env): PackKind | undefined {
  const parsed = hasScheme(url) ? parseObjectUrl(url, env) : undefined;
  return parsed?.kind === 'federated' ? parsed.pack : undefined;
}
