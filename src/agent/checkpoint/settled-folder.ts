import { lookAt, type FolderLook } from './folder-look.ts';

/** A file that somebody writes to for so long is a log: nobody waits for it, and it alone is no news. */
const logMs = 60_000;

/**
 * Finds the moments in which a folder holds something new and stands still: nothing in it differs from the look
 * before, and nobody has a file in it open for writing.
 */
export class SettledFolder {
  readonly #folder: string;
  readonly #beingWritten: () => Set<string>;
  /** Files that are written to, and since when. */
  readonly #restless = new Map<string, number>();
  #logs = new Set<string>();
  #last: FolderLook;
  #kept: FolderLook;
  #isMoving = false;

  /** What the folder holds now counts as kept. `beingWritten` tells the files that somebody has open for writing. */
  constructor(folder: string, beingWritten: () => Set<string>) {
    this.#folder = folder;
    this.#beingWritten = beingWritten;
    this.#last = lookAt(folder);
    this.#kept = this.#last;
  }

  /** Whether the last look found something else than the one before it. */
  get isMoving(): boolean {
    return this.#isMoving;
  }

  /** What the folder holds, when it stands still and is not what was kept; `now` in milliseconds. */
  look(now: number): FolderLook | undefined {
    const { look, changed } = this.#next();
    const news = this.#newsIn(look);
    if (news.size === 0) return undefined;
    const restless = changed.union(this.#beingWritten());
    for (const name of this.#restless.keys()) if (!restless.has(name)) this.#restless.delete(name);
    for (const name of restless) if (!this.#restless.has(name)) this.#restless.set(name, now);
    const isLog = (name: string): boolean => now - (this.#restless.get(name) ?? now) >= logMs;
    this.#logs = new Set([...restless].filter(isLog));
    return this.#logs.size === restless.size && news.difference(this.#logs).size > 0 ? look : undefined;
  }

  /** What the folder holds, when that is not what was kept: for when nobody writes any more. */
  news(): FolderLook | undefined {
    const { look } = this.#next();
    return this.#newsIn(look).size === 0 ? undefined : look;
  }

  /** Whether the folder still is as it was seen, but for its logs. */
  isStill(look: FolderLook): boolean {
    return changes(look, lookAt(this.#folder)).difference(this.#logs).size === 0;
  }

  keep(look: FolderLook): void {
    this.#kept = look;
  }

  /** A folder that was emptied is nothing to keep. */
  #newsIn(look: FolderLook): Set<string> {
    return look.files.size === 0 ? new Set() : changes(this.#kept, look);
  }

  #next(): { look: FolderLook; changed: Set<string> } {
    const look = lookAt(this.#folder);
    const changed = changes(this.#last, look);
    this.#last = look;
    this.#isMoving = changed.size > 0;
    return { look, changed };
  }
}

/** The paths at which two looks differ. */
function changes(before: FolderLook, after: FolderLook): Set<string> {
  const names = new Set([before, after].flatMap(({ files, links }) => [...files.keys(), ...links.keys()]));
  const at = ({ files, links }: FolderLook, name: string): string | undefined =>
    files.get(name)?.print ?? links.get(name);
  return new Set([...names].filter((name) => at(before, name) !== at(after, name)));
}
