/** A cache as users name it. */
export interface CacheName {
  hostname: string;
  /** Undefined means any port. */
  port: string | undefined;
  /** The URL to which an object's path is added. */
  base: string;
}

/** The forms a name may have, for messages. */
export const cacheNameForms = 'HOST, HOST:PORT or https://HOST:PORT';

const bareName = /^(?:\[[0-9a-f:.]+\]|[a-z0-9][a-z0-9._-]*)(:\d{1,5})?\/?$/i;

/** Reads the name of a cache; undefined if it is invalid. */
export function parseCacheName(text: string): CacheName | undefined {
  const isUrl = /^https?:\/\//i.test(text);
  const bare = bareName.exec(text);
  const url = isUrl || bare !== null ? URL.parse(isUrl ? text : `https://${text}`) : null;
  if (url === null || url.hostname === '') return undefined;
  if (url.username + url.password + url.search + url.hash !== '') return undefined;
  const hasPort = isUrl || bare?.[1] !== undefined;
  const base = (url.origin + url.pathname).replace(/\/+$/, '');
  return { hostname: url.hostname, port: hasPort ? portOf(url) : undefined, base };
}

export function isAtCache(url: string, { hostname, port }: CacheName): boolean {
  const parsed = new URL(url);
  return parsed.hostname === hostname && (port === undefined || portOf(parsed) === port);
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'http:' ? '80' : '443');
