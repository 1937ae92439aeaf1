import type { OnWait } from './back-off.ts';
import type { CacheName } from '@updraft/base';

/** One server that the director (or the URL itself) names for an object. */
export interface ObjectServer {
  /** Full URL of the object at this server; its path need not equal the object's path. */
  url: string;
  /** `host:port`, for journals and messages. */
  host: string;
  kind: 'cache' | 'origin' | 'plain';
  /** Whose preference put it first. */
  preferredBy?: string;
}

/** A server that was not asked, and why: it is to be avoided, or is preferred but must not get the token it needs. */
export interface LeftOut {
  server: string;
  by: string;
  why: 'avoided' | 'no-token';
}

/** Which caches to try first, and which to avoid. */
export interface CacheChoice {
  preferred: readonly ChosenCache[];
  /** No other server is asked: a list in Pelican's form that does not end with `+`. */
  only: boolean;
  avoided: readonly ChosenCache[];
}

export interface ChosenCache extends CacheName {
  /** The source of the choice: an option, a variable, a line of a file. */
  by: string;
  /** It was named for this very object, so that the object's token may go there. */
  isForObject: boolean;
}

/** The issuer that offers logins for a namespace, according to the federation's director. */
export interface Issuance {
  /** Where the federation was discovered. */
  federation: string;
  namespace: string;
  /** The namespace as a user would write it. */
  url: string;
  issuer: string;
  /** Base of the paths in scopes; the namespace by default. */
  basePath?: string;
  /** How many components the path of a scope may have; unlimited by default. */
  maxScopeDepth?: number;
}

/** An object and its servers. */
export interface Located {
  /** The URL as the user wrote it, without credentials. */
  url: string;
  /** In the order to try them. */
  servers: ObjectServer[];
  leftOut?: LeftOut[];
  /** The source of the choice that allows only the preferred caches. */
  onlyBy?: string;
  namespace?: string;
  requireToken: boolean;
  /** How to get a token for this use, if the federation names an issuer. */
  tokenFix?: string;
  /** The issuer that offers logins for it. */
  issuance?: Issuance;
  /** URL of the object at the server that lists collections (WebDAV), if there is one. */
  collectionsUrl?: string;
  /**
   * Request headers for this server, computed before every request: the token is re-read when its file has changed, and
   * is sent only to the federation's own servers, over https, if the namespace requires one. With `refused`, the
   * `Authorization` that the server just refused, a login's token is renewed.
   */
  headers(server: ObjectServer, refused?: string): Promise<Record<string, string>>;
}

/** The action on an object: reads go through caches, everything else, including PROPFIND, to the origin. */
export type Verb = 'GET' | 'PUT' | 'DELETE' | 'PROPFIND';

export interface LocateOptions {
  verb?: Verb;
  /** Ask the director again instead of using its earlier answer. */
  fresh?: boolean;
  /** Ask for the origin instead of caches. */
  direct?: boolean;
  /** File with the bearer token to use instead of the usual search order. */
  tokenFile?: string;
  /** The cache preferences for this object; see `preferCaches`. */
  cacheChoice?: CacheChoice;
  signal?: AbortSignal;
  /** Called for waits for a federation's host or its director. */
  onWait?: OnWait;
}

/** Finds objects: all that `transfer` needs to know about a federation. */
export interface Locator {
  locate(url: string, options?: LocateOptions): Promise<Located>;
  /** Certificate authorities to trust, for raw connections; undefined means the built-in ones. */
  readonly ca: string[] | undefined;
}
