import path from 'node:path';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  futimesSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { tried } from '@updraft/base';
import { Fault } from './fault.ts';
import { type Budget, type UnpackLimits, diskFault, errorCode, lstatIfExists } from './budget.ts';
import {
  type EntrySink,
  type FileEntry,
  type FolderEntry,
  type HardlinkEntry,
  type SymlinkEntry,
  parentOf,
  quoted,
  type SafePath,
} from './entry.ts';

const createNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** The bits of a mode that hold the file type, and their value for a symbolic link. */
const fileType = 0o170000;
const linkType = 0o120000;
export const isLinkMode = (mode: number): boolean => (mode & fileType) === linkType;
const maxLinkBytes = 4096;
/** Links to process before yielding to the event loop. */
const batchSize = 500;
/** Errors of file systems without hard links; the file is copied instead. */
const cannotLink = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EMLINK', 'ENOSYS']);

interface WriterOptions {
  root: string;
  archive: string;
  budget: Budget;
  limits: UnpackLimits;
  /** The target folder, where everything appears at the end. */
  into: string;
  /** Complete files are moved there before the end. */
  isPublishing: boolean;
}

/**
 * Writes entries to a private folder. Symbolic links are made last: while files are written, the folder has no link to
 * write through. Calls are synchronous on purpose: for files of ordinary size they cost a fraction of asynchronous
 * ones.
 */
export class FileWriter implements EntrySink {
  readonly #root: string;
  readonly #archive: string;
  readonly #budget: Budget;
  readonly #limits: UnpackLimits;
  readonly #into: string;
  readonly #published: string | undefined;
  readonly #folders = new Set<string>(['']);
  readonly #folderTimes = new Map<SafePath, number>();
  readonly #links = new Map<SafePath, string>();
  #fd: number | undefined;
  /** Offset of the next byte in the file. */
  #at = 0;
  #mtime = 0;
  #abandoned = false;

  constructor({ root, archive, budget, limits, into, isPublishing }: WriterOptions) {
    this.#root = root;
    this.#archive = archive;
    this.#budget = budget;
    this.#limits = limits;
    this.#into = into;
    this.#published = isPublishing ? into : undefined;
  }

  begin(entry: FileEntry): void {
    this.#guarded(() => {
      this.#links.delete(entry.path);
      this.#makeFolder(parentOf(entry.path));
      this.#fd = this.#create(entry.path, (entry.mode & 0o777) | 0o600);
      this.#mtime = saneTime(entry.mtime);
      this.#at = 0;
    });
    this.#budget.addFile(entry.size);
  }

  data(piece: Buffer): void {
    const fd = this.#fd;
    if (fd === undefined) return;
    this.#guarded(() => {
      for (let at = 0; at < piece.length;) at += writeSync(fd, piece, at, piece.length - at, this.#at + at);
    });
    this.#at += piece.length;
    this.#budget.addBytes(piece.length);
  }

  end(): void {
    const fd = this.#fd;
    if (fd === undefined) return;
    this.#guarded(() => {
      futimesSync(fd, this.#mtime, this.#mtime);
    });
    this.#close();
  }

  place(entry: FolderEntry | SymlinkEntry | HardlinkEntry): void {
    this.#guarded(() => {
      switch (entry.type) {
        case 'folder':
          this.#makeFolder(entry.path, (entry.mode & 0o777) | 0o700);
          if (this.#folderTimes.size >= this.#limits.foldersHeld) this.#setTimes();
          this.#folderTimes.set(entry.path, saneTime(entry.mtime));
          return;
        case 'symlink': {
          this.#keepLink(entry);
          return;
        }
        case 'hardlink': {
          this.#hardlink(entry);
          return;
        }
      }
    });
  }

  amend(file: SafePath, mode: number): void {
    this.#guarded(() => {
      const full = this.#full(file);
      const stat = lstatIfExists(full);
      if (!stat?.isFile()) return;
      if (isLinkMode(mode)) {
        if (stat.size > maxLinkBytes) throw this.#unsafe(`the link ${quoted(file)} has too long a target`);
        this.#keepLink({ type: 'symlink', path: file, target: readFileSync(full, 'utf8') });
      } else if ((mode & 0o100) !== 0) chmodSync(full, stat.mode | ((stat.mode & 0o444) >> 2));
    });
  }

  /** The folder has been published: later entries below it make a new one. */
  release(folder: SafePath): void {
    if (!this.#folders.has(folder)) return;
    const isGone = (one: string): boolean => one === folder || one.startsWith(`${folder}/`);
    for (const one of [...this.#folders].filter(isGone)) this.#folders.delete(one);
    for (const one of [...this.#folderTimes.keys()].filter(isGone)) this.#folderTimes.delete(one);
  }

  /** Completes the tree: makes the links and sets the folders' times. */
  async finish(): Promise<void> {
    const check = new LinkCheck(this.#links, (folder) => this.#isFolder(folder));
    await this.#forEachLink((link, target) => {
      const wrong = check.problemWith(link);
      if (wrong !== undefined) throw this.#unsafe(`the link ${quoted(link)} to ${quoted(target)} ${wrong}`);
    });
    await this.#forEachLink((link, target) => {
      this.#makeFolder(parentOf(link));
      symlinkSync(target, this.#full(link));
    });
    this.#guarded(() => this.#setTimes());
  }

  /** There may be many: yields to the event loop in between. */
  async #forEachLink(act: (link: SafePath, target: string) => void): Promise<void> {
    let done = 0;
    for (const [link, target] of this.#links) {
      this.#guarded(() => act(link, target));
      if (++done % batchSize === 0) await nextTurn();
    }
  }

  /** Whether this archive or the target folder has a folder at that path, with no link on the way. */
  #isFolder(relative: string): boolean {
    return [this.#root, this.#into].some((root) => {
      const full = tried(() => path.join(realpathSync(root), relative));
      return tried(() => full === realpathSync(full ?? '') && lstatSync(full).isDirectory()) === true;
    });
  }

  /** Closes the file being written; nothing is written after this. */
  abandon(): void {
    this.#close();
    this.#abandoned = true;
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) this.#guarded(() => closeSync(fd));
  }

  #full(relative: SafePath): string {
    return relative === '' ? this.#root : `${this.#root}/${relative}`;
  }

  #create(file: SafePath, mode: number): number {
    try {
      return openSync(this.#full(file), createNew, mode);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      this.#removeEarlier(file);
      return openSync(this.#full(file), createNew, mode);
    }
  }

  /** A later entry of the same name replaces the earlier one, as with tar; its hard links keep the old content. */
  #removeEarlier(file: SafePath): void {
    const full = this.#full(file);
    const stat = lstatIfExists(full);
    if (stat === undefined) return;
    if (stat.isDirectory()) throw this.#unsafe(`${quoted(file)} is both a folder and a file`);
    // A file system that ignores case finds an entry of a different name.
    if (path.basename(realpathSync.native(full)) !== path.posix.basename(file))
      throw this.#unsafe(
        `${quoted(file)} and another entry differ only in case, and this file system ignores case`,
      );
    unlinkSync(full);
    this.#budget.removeFile(stat.size, stat.blocks * 512);
  }

  #makeFolder(folder: SafePath, mode = 0o777): void {
    if (this.#folders.has(folder)) return;
    if (this.#links.has(folder))
      throw this.#unsafe(`an entry would be written through the link ${quoted(folder)}`);
    this.#makeFolder(parentOf(folder));
    try {
      mkdirSync(this.#full(folder), mode);
      this.#budget.addEntry();
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      if (!lstatSync(this.#full(folder)).isDirectory())
        throw this.#unsafe(`${quoted(folder)} is both a file and a folder`);
    }
    if (this.#folders.size >= this.#limits.foldersHeld) {
      this.#folders.clear();
      this.#folders.add('');
    }
    this.#folders.add(folder);
  }

  #setTimes(): void {
    for (const [folder, mtime] of this.#folderTimes) utimesSync(this.#full(folder), mtime, mtime);
    this.#folderTimes.clear();
  }

  #keepLink({ path: link, target }: SymlinkEntry): void {
    this.#budget.addEntry();
    if (this.#links.size >= this.#limits.links)
      throw this.#unsafe(`holds more than ${this.#limits.links.toLocaleString('en-US')} symbolic links`);
    if (target.length > maxLinkBytes) throw this.#unsafe(`the link ${quoted(link)} has too long a target`);
    this.#makeFolder(parentOf(link));
    this.#removeEarlier(link);
    this.#links.set(link, target);
  }

  #hardlink({ path: link, target }: HardlinkEntry): void {
    // A hard link to a symbolic link becomes a second symbolic link.
    const followed = this.#links.get(target);
    if (followed !== undefined) {
      this.#keepLink({ type: 'symlink', path: link, target: followed });
      return;
    }
    if (link === target) return;
    const roots = this.#published === undefined ? [this.#root] : [this.#root, this.#published];
    const file = roots.map((root) => path.join(root, target)).find((one) => lstatIfExists(one)?.isFile());
    if (file === undefined)
      throw new Fault(
        'archive-damaged',
        `${this.#archive}: the entry ${quoted(link)} is a hard ` +
          `link to ${quoted(target)}, but no such file comes before it`,
        { about: this.#archive },
      );
    this.#makeFolder(parentOf(link));
    this.#links.delete(link);
    this.#removeEarlier(link);
    try {
      linkSync(file, this.#full(link));
    } catch (error) {
      if (!cannotLink.has(errorCode(error) ?? '')) throw error;
      copyFileSync(file, this.#full(link), constants.COPYFILE_EXCL);
    }
    this.#budget.addHardlink(lstatSync(file).size);
  }

  #guarded(act: () => void): void {
    if (this.#abandoned) return;
    try {
      act();
    } catch (error) {
      throw diskFault(error, this.#root, this.#budget.bytes);
    }
  }

  #unsafe(what: string): Fault {
    return new Fault('archive-unsafe', `${this.#archive}: ${what}`, { about: this.#archive });
  }
}

/** Some file systems refuse extreme times; these limits work on the common ones. */
const saneTime = (seconds: number): number => Math.min(Math.max(seconds, -(2 ** 31)), 2 ** 33);

/** Targets of links by their path. */
type Links = ReadonlyMap<string, string>;

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
