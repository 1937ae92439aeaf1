import type { OnWait } from './back-off.ts';
import type { CacheName } from '../base/cache-name.ts';

/** One server that the director (or the URL itself) names for an object. */
export interface ObjectServer {
  /** Full URL of the object at this server; its path need not equal the object's path. */
  url: string;
  /** `host:port`, for journals and messages. */
  host: string;
  kind: 'cache' | 'origin' | 'plain';
  /** Who asked for it to be tried first. */
  preferredBy?: string;
}

/** A server that was not asked, and who wanted it so: it is to be avoided, or was preferred where only a token helps. */
export interface LeftOut {
  server: string;
  by: string;
  why: 'avoided' | 'no-token';
}

/** Which caches somebody wants tried first, and which not at all. */
export interface CacheChoice {
  preferred: readonly ChosenCache[];
  /** Nobody else is asked: a list of Pelican's that does not end with `+`. */
  only: boolean;
  avoided: readonly ChosenCache[];
}

export interface ChosenCache extends CacheName {
  /** Who asked for it: an option, a variable, a line of a file. */
  by: string;
  /** It was named for this very object, so that the object's token may go there. */
  isForObject: boolean;
}

/** Who hands out tokens for a namespace by a login, as the federation's director says. */
export interface Issuance {
  /** Where the federation was discovered. */
  federation: string;
  namespace: string;
  /** The namespace as a user would write it. */
  url: string;
  issuer: string;
  /** What the paths of scopes are below; the namespace unless said. */
  basePath?: string;
  /** How many parts of a path a scope can have; any number unless said. */
  maxScopeDepth?: number;
}

/** An object and where it can be had. */
export interface Located {
  /** The URL as the user wrote it, without credentials. */
  url: string;
  /** In the order to try them. */
  servers: ObjectServer[];
  leftOut?: LeftOut[];
  /** Who said that nobody but the preferred caches is to be asked. */
  onlyBy?: string;
  namespace?: string;
  requireToken: boolean;
  /** How to get a token for this use, where a federation says who gives them out. */
  tokenFix?: string;
  /** Who hands out tokens for it by a login. */
  issuance?: Issuance;
  /** URL of the object at the server that lists collections (WebDAV), if there is one. */
  collectionsUrl?: string;
  /**
   * Request headers for this server, asked for before every request: the token is re-read when its file has
   * changed, and is given only to the federation's own servers, over https, where the namespace asks for one.
   */
  headers(server: ObjectServer): Promise<Record<string, string>>;
}

/** What is to be done with an object: reading goes through caches, the rest, asking what it is too, to its origin. */
export type Verb = 'GET' | 'PUT' | 'DELETE' | 'PROPFIND';

export interface LocateOptions {
  verb?: Verb;
  /** Ask the director again instead of using what it said a while ago. */
  fresh?: boolean;
  /** Ask for the origin instead of caches. */
  direct?: boolean;
  /** File with the bearer token to use instead of the usual search order. */
  tokenFile?: string;
  /** What was said of the caches of this object; see `preferCaches`. */
  cacheChoice?: CacheChoice;
  signal?: AbortSignal;
  /** Hears of waits for a federation's host or its director. */
  onWait?: OnWait;
}

/** Finds objects: the one thing `transfer` needs to know of a federation. */
export interface Locator {
  locate(url: string, options?: LocateOptions): Promise<Located>;
  /** Certificate authorities to trust, for raw connections; undefined means the built-in ones. */
  readonly ca: string[] | undefined;
}
