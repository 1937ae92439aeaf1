import { readdirSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { isGone, tried } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { textOf } from '../machine/machine.ts';
import { staysInside } from './record.ts';

/** A folder may never settle. Files that are only ever replaced by renaming are then taken after this time … */
const maxReplacingMs = 5000;
/** … and files that are written to without end, such as logs, after this. */
const maxWritingMs = 60_000;

/** Written by rank 0 when it has saved and leaves to be resumed, for launchers that lose its exit code; not saved. */
export const leftMark = '.left';

/** Finds when a folder has something new and has settled: unchanged since the last poll, nothing open for writing. */
export class SettledFolder {
  readonly #folder: string;
  readonly #beingWritten: () => Set<string>;
  /** What has not settled, and since when. */
  readonly #unsettled = new Map<string, number>();
  /** Of these, what is taken without waiting any longer. */
  #takenAsIs = new Set<string>();
  #last: FolderSnapshot;
  #kept: FolderSnapshot;
  /** Whether the last poll found changes. */
  isMoving = false;

  /** What the folder holds now counts as saved. `beingWritten` returns the files that are open for writing. */
  constructor(folder: string, beingWritten: () => Set<string>) {
    this.#folder = folder;
    this.#beingWritten = beingWritten;
    this.#last = snapshotFolder(folder);
    this.#kept = this.#last;
  }

  /** What the folder holds, if it has settled and differs from what was saved; `now` in milliseconds. */
  poll(now: number): FolderSnapshot | undefined {
    const before = this.#last;
    const snapshot = this.#next();
    if (this.#changedIn(snapshot).size === 0) return undefined;
    const written = this.#beingWritten();
    const unsettled = changes(before, snapshot).union(written);
    for (const name of this.#unsettled.keys()) if (!unsettled.has(name)) this.#unsettled.delete(name);
    for (const name of unsettled) if (!this.#unsettled.has(name)) this.#unsettled.set(name, now);
    const maxWaitMs = (name: string): number =>
      written.has(name) || !isReplaced(before, snapshot, name) ? maxWritingMs : maxReplacingMs;
    const isLate = (name: string): boolean => now - (this.#unsettled.get(name) ?? now) >= maxWaitMs(name);
    this.#takenAsIs = new Set([...unsettled].filter(isLate));
    return this.#takenAsIs.size === unsettled.size ? snapshot : undefined;
  }

  /** What the folder holds, if that differs from what was saved: for when the writers have ended. */
  unsavedSnapshot(): FolderSnapshot | undefined {
    const snapshot = this.#next();
    return this.#changedIn(snapshot).size === 0 ? undefined : snapshot;
  }

  /** Whether the folder still matches the snapshot, except for files that never settle. */
  isUnchanged(snapshot: FolderSnapshot): boolean {
    return changes(snapshot, snapshotFolder(this.#folder)).difference(this.#takenAsIs).size === 0;
  }

  markSaved(snapshot: FolderSnapshot): void {
    this.#kept = snapshot;
    this.#unsettled.clear();
  }

  /** An emptied folder is not worth saving. */
  #changedIn(snapshot: FolderSnapshot): Set<string> {
    return snapshot.files.size === 0 ? new Set() : changes(this.#kept, snapshot);
  }

  #next(): FolderSnapshot {
    const snapshot = snapshotFolder(this.#folder);
    this.isMoving = changes(this.#last, snapshot).size > 0;
    this.#last = snapshot;
    return snapshot;
  }
}

/** Whether a path lost its file or got another one, as a rename does atomically. */
function isReplaced(before: FolderSnapshot, after: FolderSnapshot, name: string): boolean {
  const [old, now] = [before.files.get(name), after.files.get(name)];
  return now === undefined || (old !== undefined && old.inode !== now.inode);
}

/** The paths that differ between two snapshots. */
function changes(before: FolderSnapshot, after: FolderSnapshot): Set<string> {
  const names = new Set([before, after].flatMap(({ files, links }) => [...files.keys(), ...links.keys()]));
  const at = ({ files, links }: FolderSnapshot, name: string): string | undefined =>
    files.get(name)?.fingerprint ?? links.get(name);
  return new Set([...names].filter((name) => at(before, name) !== at(after, name)));
}

/** The files in a folder that one of the processes has open for writing, or mapped, by their path in it. */
export function openForWriting(pids: readonly number[], folder: string): Set<string> {
  const found = new Set<string>();
  const isInFolder = (file: string): boolean => file.startsWith(folder + path.sep);
  for (const pid of pids) {
    for (const descriptor of tried(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const file = tried(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? '';
      if (isInFolder(file) && writes(pid, descriptor)) found.add(path.relative(folder, file));
    }
    // A write to mapped memory changes no time of the file.
    for (const [, file = ''] of textOf(`/proc/${pid}/maps`).matchAll(/^\S+ .w.s [^/\n]*(\/.*)$/gm))
      if (isInFolder(file)) found.add(path.relative(folder, file));
  }
  return found;
}

function writes(pid: number, descriptor: string): boolean {
  const info = textOf(`/proc/${pid}/fdinfo/${descriptor}`);
  const flags = Number.parseInt(/^flags:\s*([0-7]+)/m.exec(info)?.[1] ?? '0', 8);
  // The lowest two bits: 0 reads, 1 writes, 2 does both.
  return (flags & 3) !== 0;
}

interface FileState {
  bytes: number;
  inode: bigint;
  /** Changes whenever the file is written to, replaced or renamed. */
  fingerprint: string;
}

/** What a folder holds at one moment: its files and its links, by path. */
export interface FolderSnapshot {
  files: Map<string, FileState>;
  links: Map<string, string>;
}

/** Lists a folder; files that vanish meanwhile are left out, and a missing folder is empty. */
export function snapshotFolder(folder: string): FolderSnapshot {
  const snapshot: FolderSnapshot = { files: new Map(), links: new Map() };
  scan(folder, '', snapshot);
  return snapshot;
}

function scan(root: string, inside: string, snapshot: FolderSnapshot): void {
  for (const entry of entriesOf(path.join(root, inside))) {
    const name = path.join(inside, entry.name);
    if (name === leftMark) continue;
    if (entry.isDirectory()) scan(root, name, snapshot);
    else if (entry.isFile()) addFile(root, name, snapshot);
    else if (entry.isSymbolicLink()) addLink(root, name, snapshot);
  }
}

function addFile(root: string, name: string, { files }: FolderSnapshot): void {
  const info = statSync(path.join(root, name), { bigint: true, throwIfNoEntry: false });
  if (info === undefined) return;
  const { dev, ino, size, mtimeNs, ctimeNs } = info;
  files.set(name, {
    bytes: Number(size),
    inode: ino,
    fingerprint: [dev, ino, size, mtimeNs, ctimeNs].join(' '),
  });
}

function addLink(root: string, name: string, { links }: FolderSnapshot): void {
  const target = ignoreMissing(() => readlinkSync(path.join(root, name)));
  if (target === undefined) return;
  if (!staysInside(name, target))
    throw new Fault(
      'wrong-output',
      `${name} in the checkpoint folder is a link to ${target}, outside the folder`,
      { fix: 'put the file itself there', about: name },
    );
  links.set(name, target);
}

const entriesOf = (folder: string) =>
  ignoreMissing(() => readdirSync(folder, { withFileTypes: true }))?.sort((a, b) =>
    a.name < b.name ? -1 : 1,
  ) ?? [];

function ignoreMissing<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
