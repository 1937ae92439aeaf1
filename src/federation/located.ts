/** One server that the director (or the URL itself) names for an object. */
export interface ObjectServer {
  /** Full URL of the object at this server; its path need not equal the object's path. */
  url: string;
  /** `host:port`, for journals and messages. */
  host: string;
  kind: 'cache' | 'origin' | 'plain';
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

/** What is to be done with an object: reading goes through caches, the rest to its origin. */
export type Verb = 'GET' | 'PUT' | 'DELETE';

export interface LocateOptions {
  verb?: Verb;
  /** Ask the director again instead of using what it said a while ago. */
  fresh?: boolean;
  /** Ask for the origin instead of caches. */
  direct?: boolean;
  /** File with the bearer token to use instead of the usual search order. */
  tokenFile?: string;
  signal?: AbortSignal;
}

/** Finds objects: the one thing `transfer` needs to know of a federation. */
export interface Locator {
  locate(url: string, options?: LocateOptions): Promise<Located>;
  /** Certificate authorities to trust, for raw connections; undefined means the built-in ones. */
  readonly ca: string[] | undefined;
}
