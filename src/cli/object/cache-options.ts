import { type Command, InvalidArgumentError } from 'commander';
import { cacheNameForms, parseCacheName } from '@updraft/base';
import { usageFault } from '@updraft/account/fault';
import { type Locator, preferCaches } from '@updraft/pelican/federation';

export interface CacheOptions {
  cache?: string[];
  avoidCache?: string[];
}

/** The options of commands that fetch objects of a federation. */
export const cacheOptions = (command: Command): Command =>
  command
    .option('--cache <host>', 'try this cache first (repeatable)', cacheName)
    .option('--avoid-cache <host>', 'never use this cache (repeatable)', cacheName);

function cacheName(text: string, before: string[] = []): string[] {
  if (parseCacheName(text) !== undefined) return [...before, text];
  const again = /[,+]/.test(text) ? ' Repeat the option for each cache; the other caches always follow.' : '';
  throw new InvalidArgumentError(`it must be ${cacheNameForms}.${again}`);
}

/** A locator that follows the options. */
export function withCacheOptions<L extends Locator>(
  locator: L,
  { cache: caches = [], avoidCache: avoidCaches = [] }: CacheOptions,
): L {
  const both = caches.find((cache) => avoidCaches.includes(cache));
  if (both !== undefined)
    throw usageFault(`${both} is given to both --cache and --avoid-cache`, 'leave out one of them');
  const names = { caches, avoidCaches, isForObject: true };
  const preferring = preferCaches(locator, names, { caches: '--cache', avoidCaches: '--avoid-cache' });
  if (caches.length === 0) return preferring;
  return {
    ...preferring,
    async locate(url, options) {
      const located = await preferring.locate(url, options);
      if (!located.servers.some(({ kind }) => kind === 'plain')) return located;
      throw usageFault(
        `${url} has no caches: --cache ${caches[0] ?? ''} is for objects of a federation`,
        'leave out --cache, or use an osdf: or pelican: URL',
        url,
      );
    },
  };
}
