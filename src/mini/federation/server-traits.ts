/** Whose servers the federation behaves like; if none's, it keeps to the protocol as cleanly as one can. */
export const serverModels = ['pelican-go', 'xrootd'] as const;

export type ServerModel = (typeof serverModels)[number];

/** Where real servers differ from each other, and from what one would expect of them. */
export interface Traits {
  /** What origin and caches call themselves. */
  server: string;
  /** What the body of an error is; at Go's servers, JSON at caches and the status in words at the origin. */
  errors: 'json' | 'mixed' | 'text';
  /** ETag and Last-Modified: equal everywhere; another ETag on the origin's GET than on its HEAD and PROPFIND; none. */
  validators: 'equal' | 'get-differs' | 'none';
  /** By what Content-Type is chosen. Sniffing takes any object that begins like HTML for HTML. */
  contentType: 'octets' | 'sniffed' | 'none';
  /** Which answers of a cache have an Age: all (0 is a miss), those of a complete object, whole GETs of one. */
  age: 'all' | 'complete' | 'whole';
  /** By which request a cache learns of an object; for XRootD's own protocol PROPFIND stands in. */
  learnBy: 'HEAD' | 'PROPFIND';
  /** What a Range makes of an object that is not in the cache: one stream, or a request to the origin per block. */
  rangeOfMiss: 'stream' | 'blocks';
  /** Bytes of such a block. */
  blockBytes: number;
  /** What is not bigger has arrived before its first answer begins, which has an Age therefore. */
  inlineBytes: number;
  /** A Range of which nothing exists: 416 with or without Content-Range; Go sends an empty object whole. */
  beyond: 'range' | 'empty-whole' | 'bare';
  /** GET of a folder: 405, or 200 with an HTML page. */
  folder: 'refused' | 'page';
  /**
   * When there is a Digest: where asked for; of a complete object at a cache, and on the origin's HEAD; on HEAD where
   * asked for, one only.
   */
  digest: 'asked' | 'complete' | 'head';
  /** HEAD of an object that is not in the cache has the origin compute all digests first. */
  headComputes: boolean;
  /** From this size on that takes the origin longer than a cache waits, so that the cache has no digest of it either. */
  bigBytes: number;
  headWaitMs: number;
  /** How long after an object is complete the cache's scan has been there and left a SHA-256. */
  scanAfterMs: number;
  /** A folder at a cache: PROPFIND 409; 307 to the origin; at odd caches as at the origin, at even ones 409. */
  folderAtCache: 'refused' | 'redirected' | 'mixed';
  /** PROPFIND with Depth infinity: 403, all that is below, or the folder alone. */
  infinity: 'refused' | 'all' | 'itself';
  /** Whether OPTIONS is answered by a cache. */
  optionsAtCache: boolean;
  /** Whether only-if-cached and X-Pelican-NoDownload are understood, and from when on an object counts as cached. */
  onlyIfCached: 'complete' | 'known' | 'ignored';
  prestage: boolean;
}

const plain: Traits = {
  server: 'pelican/7.27.0',
  errors: 'json',
  validators: 'equal',
  contentType: 'octets',
  age: 'all',
  learnBy: 'HEAD',
  rangeOfMiss: 'stream',
  blockBytes: 32 * 1024,
  inlineBytes: -1,
  beyond: 'range',
  folder: 'refused',
  digest: 'asked',
  headComputes: false,
  bigBytes: 1 << 30,
  headWaitMs: 10_000,
  scanAfterMs: 3_600_000,
  folderAtCache: 'refused',
  infinity: 'refused',
  optionsAtCache: true,
  onlyIfCached: 'complete',
  prestage: true,
};

const modes: Record<ServerModel, Partial<Traits>> = {
  'pelican-go': {
    server: 'pelican/7.28.0',
    errors: 'mixed',
    validators: 'get-differs',
    contentType: 'sniffed',
    age: 'complete',
    learnBy: 'PROPFIND',
    rangeOfMiss: 'blocks',
    inlineBytes: 4096,
    beyond: 'empty-whole',
    digest: 'complete',
    headComputes: true,
    folderAtCache: 'redirected',
    infinity: 'all',
    optionsAtCache: false,
    onlyIfCached: 'known',
  },
  xrootd: {
    server: 'XrootD/v5.8.1',
    errors: 'text',
    validators: 'none',
    contentType: 'none',
    age: 'whole',
    learnBy: 'PROPFIND',
    beyond: 'bare',
    folder: 'page',
    digest: 'head',
    folderAtCache: 'mixed',
    infinity: 'itself',
    onlyIfCached: 'ignored',
    prestage: false,
  },
};

/** The traits of a mode, with what a test wants otherwise. */
export function traitsOf(like: ServerModel | undefined, otherwise: Partial<Traits> = {}): Traits {
  return { ...plain, ...(like === undefined ? {} : modes[like]), ...otherwise };
}
