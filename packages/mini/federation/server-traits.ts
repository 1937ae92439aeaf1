/** Which real servers the federation imitates; if none, it follows the protocol cleanly. */
export const serverModels = ['pelican-go', 'xrootd'] as const;

export type ServerModel = (typeof serverModels)[number];

/** How real servers differ from each other and from the protocol. */
export interface Traits {
  /** The Server header of origin and caches. */
  server: string;
  /** Error bodies: JSON; JSON at caches and the status text at the origin; plain text. */
  errors: 'json' | 'mixed' | 'text';
  /** ETag and Last-Modified: the same everywhere; another ETag on the origin's GET than on HEAD and PROPFIND; none. */
  validators: 'equal' | 'get-differs' | 'none';
  /** How Content-Type is chosen. Sniffing takes any object that begins like HTML for HTML. */
  contentType: 'octets' | 'sniffed' | 'none';
  /** Which answers of a cache have an Age: all (0 is a miss), those of a complete object, full GETs of one. */
  age: 'all' | 'complete' | 'whole';
  /** How a cache asks about an object; PROPFIND stands in for XRootD's own protocol. */
  learnBy: 'HEAD' | 'PROPFIND';
  /** How a Range fetches an uncached object: as one stream, or with one request to the origin per block. */
  rangeOfMiss: 'stream' | 'blocks';
  /** Size of such a block. */
  blockBytes: number;
  /** Objects up to this size are fetched completely before the first answer, which therefore has an Age. */
  inlineBytes: number;
  /** A Range past the end: 416 with or without Content-Range; Go sends an empty object with 200. */
  beyond: 'range' | 'empty-whole' | 'bare';
  /** GET of a folder: 405, or 200 with an HTML page. */
  folder: 'refused' | 'page';
  /**
   * Which answers have a Digest: those that ask for it; those about a complete object at a cache, and the origin's
   * HEAD; HEAD that asks, and then only one.
   */
  digest: 'asked' | 'complete' | 'head';
  /** HEAD of an uncached object has the origin compute all digests first. */
  headComputes: boolean;
  /** From this size on, computing digests takes longer than a cache waits, so it has none either. */
  bigBytes: number;
  headWaitMs: number;
  /** How long after an object is complete the cache's scan adds a SHA-256. */
  scanAfterMs: number;
  /** A folder at a cache: 409; 307 to the origin; as at the origin for odd caches, 409 for even ones. */
  folderAtCache: 'refused' | 'redirected' | 'mixed';
  /** When only-if-cached treats an object as cached, or that it is ignored. */
  onlyIfCached: 'complete' | 'known' | 'ignored';
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
  onlyIfCached: 'complete',
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
    onlyIfCached: 'ignored',
  },
};

/** The traits of a model, with a test's overrides. */
export function traitsOf(like: ServerModel | undefined, overrides: Partial<Traits> = {}): Traits {
  return { ...plain, ...(like === undefined ? {} : modes[like]), ...overrides };
}
