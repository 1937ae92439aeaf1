/** A cache as people name it. */
export interface CacheName {
  hostname: string;
  /** Undefined where any port of the host is meant. */
  port: string | undefined;
  /** What the path of an object is added to. */
  base: string;
}

/** The forms a name may have, for messages. */
export const cacheNameForms = 'HOST, HOST:PORT or https://HOST:PORT';

const bareName = /^(?:\[[0-9a-f:.]+\]|[a-z0-9][a-z0-9._-]*)(:\d{1,5})?\/?$/i;

/** Reads the name of a cache; undefined for what is none. */
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

/** Whether a URL is at the host that a name means. */
export function isAtCache(url: string, { hostname, port }: CacheName): boolean {
  const parsed = new URL(url);
  return parsed.hostname === hostname && (port === undefined || portOf(parsed) === port);
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'http:' ? '80' : '443');
