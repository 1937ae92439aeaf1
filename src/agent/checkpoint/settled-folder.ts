import { lookAt, type FolderLook } from './folder-look.ts';

/** A folder may never stand still. What is only ever replaced as a whole is then taken after this time … */
const replacedMs = 5000;
/** … and what is written to without end, such as a log, after this. */
const writtenMs = 60_000;

/**
 * Finds the moments in which a folder holds something new and stands still: nothing in it differs from the look
 * before, and nobody has a file in it open for writing. Nobody who writes under another name and renames is caught in
 * the middle.
 */
export class SettledFolder {
  readonly #folder: string;
  readonly #beingWritten: () => Set<string>;
  /** What does not stand still, and since when. */
  readonly #restless = new Map<string, number>();
  /** Of these, what nobody waits for any longer. */
  #takenAsIs = new Set<string>();
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
    const before = this.#last;
    const look = this.#next();
    if (this.#newsIn(look).size === 0) return undefined;
    const written = this.#beingWritten();
    const restless = changes(before, look).union(written);
    for (const name of this.#restless.keys()) if (!restless.has(name)) this.#restless.delete(name);
    for (const name of restless) if (!this.#restless.has(name)) this.#restless.set(name, now);
    const patience = (name: string): number =>
      written.has(name) || !isReplaced(before, look, name) ? writtenMs : replacedMs;
    const isLate = (name: string): boolean => now - (this.#restless.get(name) ?? now) >= patience(name);
    this.#takenAsIs = new Set([...restless].filter(isLate));
    return this.#takenAsIs.size === restless.size ? look : undefined;
  }

  /** What the folder holds, when that is not what was kept: for when nobody writes any more. */
  news(): FolderLook | undefined {
    const look = this.#next();
    return this.#newsIn(look).size === 0 ? undefined : look;
  }

  /** Whether the folder still is as it was seen, but for what never stands still. */
  isStill(look: FolderLook): boolean {
    return changes(look, lookAt(this.#folder)).difference(this.#takenAsIs).size === 0;
  }

  keep(look: FolderLook): void {
    this.#kept = look;
    this.#restless.clear();
  }

  /** A folder that was emptied is nothing to keep. */
  #newsIn(look: FolderLook): Set<string> {
    return look.files.size === 0 ? new Set() : changes(this.#kept, look);
  }

  #next(): FolderLook {
    const look = lookAt(this.#folder);
    this.#isMoving = changes(this.#last, look).size > 0;
    this.#last = look;
    return look;
  }
}

/** Whether a path lost its file or got another one: a rename does so at once, and whole. */
function isReplaced(before: FolderLook, after: FolderLook, name: string): boolean {
  const [old, now] = [before.files.get(name), after.files.get(name)];
  return now === undefined || (old !== undefined && old.inode !== now.inode);
}

/** The paths at which two looks differ. */
function changes(before: FolderLook, after: FolderLook): Set<string> {
  const names = new Set([before, after].flatMap(({ files, links }) => [...files.keys(), ...links.keys()]));
  const at = ({ files, links }: FolderLook, name: string): string | undefined =>
    files.get(name)?.print ?? links.get(name);
  return new Set([...names].filter((name) => at(before, name) !== at(after, name)));
}
