import { quoted } from './safe-path.ts';

/** Targets of links by their path. */
export type Links = ReadonlyMap<string, string>;

/** As Linux. */
const maxHops = 40;
/** More than any real link needs. */
const maxSteps = 1000;
/** Characters of paths compared: a base, and more per link. Unlimited, links to links could take hours to follow. */
const maxWork = { base: 20_000_000, perLink: 4000 };
/** Cost of looking up a folder on disk, in characters. */
const folderWork = 1000;

/** Where a link ends after all links on its way are followed, and how many those were. */
interface ResolvedLink {
  end: string;
  hops: number;
}

/**
 * Checks symbolic links. Links on the way are followed, since `a/..` is elsewhere if `a` is itself a link; each one is
 * resolved once. For the same reason `a/..` needs an existing folder `a`: otherwise a later archive could add a link of
 * that name.
 */
export class LinkCheck {
  readonly #links: Links;
  readonly #isFolder: (path: string) => boolean;
  readonly #known = new Map<string, ResolvedLink | string>();
  #workLeft: number;

  /** `isFolder` says whether a path is a folder and not a link. */
  constructor(links: Links, isFolder: (path: string) => boolean) {
    this.#links = links;
    this.#isFolder = isFolder;
    this.#workLeft = maxWork.base + maxWork.perLink * links.size;
  }

  /** What is wrong with the link at this path; undefined if it stays inside. */
  problemWith(path: string): string | undefined {
    const target = this.#links.get(path);
    if (target === undefined) return undefined;
    const followed = this.#follow(path, target, 0);
    return typeof followed === 'string' ? followed : undefined;
  }

  /** Where a link ends, or what is wrong with it. */
  #follow(path: string, target: string, depth: number): ResolvedLink | string {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const followed = depth > maxHops ? linkLoop : this.#walk(path, target, depth);
    this.#known.set(path, followed);
    return followed;
  }

  #walk(path: string, target: string, depth: number): ResolvedLink | string {
    if (target === '') return 'leads nowhere';
    if (target.includes('\0')) return 'has a zero byte in its target';
    if (target.startsWith('/')) return 'leads to an absolute path';
    let reached = parent(path);
    let hops = 1;
    let steps = 0;
    let isDown = false;
    for (const part of target.split('/')) {
      if (part === '' || part === '.') continue;
      if (++steps > maxSteps) return `has more than ${maxSteps} parts in its target`;
      if (part === '..') {
        if (reached === '') return 'leads out of the folder';
        if (isDown && (this.#workLeft -= folderWork) < 0) return linkTooDeep;
        if (isDown && !this.#isFolder(reached))
          return `leads through ${quoted(reached)}, which is not a folder in the archive`;
        reached = parent(reached);
        continue;
      }
      isDown = true;
      reached = reached === '' ? part : `${reached}/${part}`;
      if ((this.#workLeft -= reached.length) < 0) return linkTooDeep;
      const next = this.#links.get(reached);
      if (next === undefined) continue;
      const through = this.#follow(reached, next, depth + 1);
      if (typeof through === 'string') return through;
      reached = through.end;
      hops += through.hops;
      if (hops > maxHops) return linkLoop;
    }
    return { end: reached, hops };
  }
}

const linkTooDeep = 'and the other links have targets too long to check';
const linkLoop = 'leads in a circle';

function parent(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash === -1 ? '' : path.slice(0, slash);
}
