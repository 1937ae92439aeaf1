/** Whose servers the federation behaves like; if none's, it keeps to the protocol as cleanly as one can. */
export const likes = ['pelican-go', 'xrootd'] as const;

export type Like = (typeof likes)[number];

/** Where real servers differ from each other, and from what one would expect of them. */
export interface Traits {
  /** What origin and caches call themselves. */
  server: string;
  errors: 'json' | 'text';
  /** ETag and Last-Modified: equal everywhere; another ETag on the origin's GET than on its HEAD and PROPFIND; none. */
  validators: 'equal' | 'get-differs' | 'none';
  /** By what Content-Type is chosen. Sniffing takes any object that begins like HTML for HTML. */
  contentType: 'octets' | 'sniffed' | 'none';
  /** Which answers of a cache have an Age: all (0 is a miss), those of a complete object, whole GETs of one. */
  age: 'all' | 'complete' | 'whole';
  /** By which request a cache learns of an object; XRootD's own protocol is nearest to PROPFIND. */
  learnBy: 'HEAD' | 'PROPFIND';
  /** What a Range makes of an object that is not in the cache: one stream, or a request to the origin per block. */
  rangeOfMiss: 'stream' | 'blocks';
  /** Bytes of such a block. */
  blockBytes: number;
  /** A Range of which nothing exists: 416 with or without Content-Range; Go sends an empty object whole. */
  beyond: 'range' | 'empty-whole' | 'bare';
  /** GET of a folder: 405, or 200 with an HTML page. */
  folder: 'refused' | 'page';
  /** When there is a Digest: where asked for; on HEAD, at a cache after its scan; on HEAD where asked for, one only. */
  digest: 'asked' | 'scanned' | 'head';
  /** HEAD of an object that is not in the cache has the origin compute all digests first. */
  headComputes: boolean;
  /** From this size on that takes longer than the cache waits. */
  bigBytes: number;
  headWaitMs: number;
  /** How long after an object is complete the cache's scan has been there. */
  scanAfterMs: number;
  /** PROPFIND of a folder at a cache: 409; as the origin answers; that at odd caches, 409 at even ones. */
  folderAtCache: 'refused' | 'proxied' | 'mixed';
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

const modes: Record<Like, Partial<Traits>> = {
  'pelican-go': {
    server: 'pelican/7.28.0',
    validators: 'get-differs',
    contentType: 'sniffed',
    age: 'complete',
    rangeOfMiss: 'blocks',
    beyond: 'empty-whole',
    digest: 'scanned',
    headComputes: true,
    folderAtCache: 'proxied',
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
export function traitsOf(like: Like | undefined, otherwise: Partial<Traits> = {}): Traits {
  return { ...plain, ...(like === undefined ? {} : modes[like]), ...otherwise };
}
