import { chmod, constants, copyFile, link, mkdir, rename, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { ensureFolder, removeTree, sha256Of, syncPath } from '@updraft/base/disk';
import { fileSize, formatSize, freeBytes, isGone, succeeds } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { copyAndHash } from '../results/copy-tree.ts';
import {
  checkpointBytes,
  findGenerations,
  isIntact,
  fileName,
  makeRecord,
  writeRecord,
  type RecordDetails,
  type CheckpointRecord,
  type Generation,
  type CheckpointFile,
  type IntactGeneration,
} from './record.ts';
import type { FolderSnapshot } from './settled-folder.ts';

/** How many checkpoints are kept. */
export interface Retention {
  generations: number;
  /** Older ones are removed while all together are bigger than this. */
  bytes: number;
  /** They are lost with the machine, in a sandbox, and need not wait for its disk. */
  isVolatile?: boolean;
}

/** Unless the user sets a number; the size counts only where checkpoints travel with the job. */
export const defaultRetention: Retention = { generations: 3, bytes: 1e9 };

interface SaveOptions {
  signal: AbortSignal;
  /** The folder will not be written to again: its files may be hard-linked instead of copied. */
  isLast: boolean;
  /** Whether the folder still matches the snapshot; a checkpoint that changed meanwhile is not saved. */
  isUnchanged: () => boolean;
}

const draftName = '.draft';

/**
 * The last few checkpoints of one job. Each is in one of `generations + 1` numbered folders, and appears there
 * complete or not at all. The numbers wrap around, because a pool that transfers the folder never deletes from it.
 */
export class CheckpointStore {
  readonly folder: string;
  readonly #retention: Retention;
  readonly #sync: typeof syncPath;
  /** Where the latest checkpoint has the files of the training's folder, by fingerprint. */
  #copies = new Map<string, { file: string; sha256: string }>();
  /** The SHA-256 of files that were read while the training ended, by fingerprint. */
  readonly #read = new Map<string, string>();
  readonly #unusable = new Set<string>();

  constructor(folder: string, retention: Retention) {
    this.folder = folder;
    this.#retention = retention;
    this.#sync = retention.isVolatile === true ? () => Promise.resolve() : syncPath;
  }

  generations(): Promise<Generation[]> {
    return findGenerations(this.folder);
  }

  /** Saves what a folder holds; undefined if it changed meanwhile. If it throws, everything saved is still there. */
  async save(
    from: string,
    snapshot: FolderSnapshot,
    about: RecordDetails,
    options: SaveOptions,
  ): Promise<CheckpointRecord | undefined> {
    const intact = (await this.generations()).filter(isIntact);
    const usable = intact.filter(({ folder }) => !this.#unusable.has(folder));
    await ensureFolder(this.folder);
    const fresh = [...snapshot.files.values()].filter(({ fingerprint }) => !this.#copies.has(fingerprint));
    const isLinked = options.isLast && (await isSameDisk(this.folder, from));
    if (!isLinked)
      await makeRoom(
        this.folder,
        fresh.reduce((sum, { bytes }) => sum + bytes, 0),
        usable,
      );
    const draft = path.join(this.folder, draftName);
    try {
      const files = await this.#fill(draft, from, snapshot, options);
      if (files === undefined || !options.isUnchanged()) return undefined;
      const number = Math.max(0, ...intact.map(({ record }) => record.number)) + 1;
      const record = makeRecord(number, about, files, snapshot.links);
      await this.#publish(draft, record, snapshot);
      return record;
    } finally {
      await removeTree(draft);
    }
  }

  /** Reads settled files. One with the same fingerprint at the end is what was read: nobody had it open for writing. */
  async readAhead(from: string, { files }: FolderSnapshot, signal: AbortSignal): Promise<void> {
    await ensureFolder(this.folder);
    if (!(await isSameDisk(this.folder, from))) return;
    for (const [name, { fingerprint }] of files)
      if (!this.#copies.has(fingerprint) && !this.#read.has(fingerprint) && !hasCoarseTimes(fingerprint))
        this.#read.set(fingerprint, await this.#hash(path.join(from, name), signal));
  }

  /** Notes which files of a folder a saved checkpoint has already; the next save links instead of copying them. */
  adopt({ folder, record }: IntactGeneration, snapshot: FolderSnapshot): void {
    this.#copies = new Map(
      record.files.flatMap(({ path: name, sha256 }, index) => {
        const print = snapshot.files.get(name)?.fingerprint;
        return print === undefined ? [] : [[print, { file: path.join(folder, fileName(index)), sha256 }]];
      }),
    );
  }

  /** A checkpoint that cannot be used stays until there is a better one. */
  refuse({ folder }: Generation): void {
    this.#unusable.add(folder);
  }

  /** Removes all checkpoints. */
  async clear(): Promise<void> {
    await removeTree(this.folder);
  }

  /** Copies or links the files; undefined if one vanished. */
  async #fill(
    draft: string,
    from: string,
    snapshot: FolderSnapshot,
    options: SaveOptions,
  ): Promise<CheckpointFile[] | undefined> {
    await removeTree(draft);
    await mkdir(path.join(draft, path.dirname(fileName(0))), { recursive: true });
    const files: CheckpointFile[] = [];
    try {
      for (const [name, { fingerprint, bytes }] of snapshot.files) {
        const target = path.join(draft, fileName(files.length));
        const sha256 = await this.#keepFile(path.join(from, name), fingerprint, target, options);
        files.push({ path: name, bytes, sha256 });
      }
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
    return files;
  }

  async #keepFile(source: string, print: string, target: string, options: SaveOptions): Promise<string> {
    const copy = this.#copies.get(print);
    if (copy !== undefined && (await linkFile(copy.file, target))) return copy.sha256;
    if (options.isLast && (await linkFile(source, target)))
      return this.#read.get(print) ?? (await this.#hash(target, options.signal));
    const sha256 = await copyAndHash(source, target, options.signal);
    await this.#sync(target);
    return sha256;
  }

  /** The SHA-256 of a file that is on disk when this returns. */
  async #hash(file: string, signal: AbortSignal): Promise<string> {
    const [sha256] = await Promise.all([sha256Of(file, signal), this.#sync(file)]);
    return sha256;
  }

  async #publish(draft: string, record: CheckpointRecord, snapshot: FolderSnapshot): Promise<void> {
    await writeRecord(draft, record, this.#sync);
    const folder = path.join(this.folder, String(record.number % (this.#retention.generations + 1)));
    await removeTree(folder);
    await rename(draft, folder);
    await this.#sync(this.folder);
    this.#unusable.delete(folder);
    this.adopt({ folder, record }, snapshot);
    await this.#prune();
  }

  async #prune(): Promise<void> {
    const all = await this.generations();
    const usable = all.filter(isIntact).filter(({ folder }) => !this.#unusable.has(folder));
    let bytes = 0;
    const kept = usable.filter(({ record }, age) => {
      bytes += checkpointBytes(record);
      return age < this.#retention.generations && (age === 0 || bytes <= this.#retention.bytes);
    });
    for (const { folder } of all) if (!kept.some((one) => one.folder === folder)) await removeTree(folder);
    this.#unusable.clear();
  }
}

/** Removes older checkpoints, but never the latest, to make room; throws a Fault with the figures if there is none. */
async function makeRoom(store: string, need: number, kept: readonly IntactGeneration[]): Promise<void> {
  const older = kept.slice(1);
  while (need > freeIn(store) && older.length > 0) await removeTree(older.pop()?.folder ?? '');
  const free = freeIn(store);
  if (need > free) throw noRoom(store, need, free);
}

const freeIn = (folder: string): number => freeBytes(folder) ?? Infinity;

const isSameDisk = async (one: string, other: string): Promise<boolean> =>
  (await stat(one)).dev === (await stat(other)).dev;

/** Some file systems note whole seconds: a second change in the same one would go unseen. */
const hasCoarseTimes = (fingerprint: string): boolean => fingerprint.endsWith('000000000');

function noRoom(store: string, need: number, free: number): Fault {
  return new Fault(
    'disk-full',
    `the checkpoint needs ${formatSize(need)}, and the disk of ${store} ` +
      `has ${formatSize(free)} free; the previous checkpoint is kept`,
    { fix: 'ask for more `disk` in [resources], or save less in the training', about: store },
  );
}

/** Hard-links a file that will not change again; false if the file system cannot. */
const linkFile = (source: string, target: string): Promise<boolean> => succeeds(link(source, target));

/** Makes a copy that shares its blocks until one of them is written to; false if the file system cannot. */
const cloneFile = (source: string, target: string): Promise<boolean> =>
  succeeds(copyFile(source, target, constants.COPYFILE_FICLONE_FORCE).then(() => chmod(target, 0o600)));

/** Copies a checkpoint into the training's empty folder. Returns what is wrong; then the folder is empty again. */
export async function restoreGeneration(
  { folder, record }: IntactGeneration,
  into: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const [index, file] of record.files.entries()) {
    const problem = await restoreFile(path.join(folder, fileName(index)), file, into, signal);
    if (problem === undefined) continue;
    await removeTree(into);
    await mkdir(into, { recursive: true });
    return `${file.path} ${problem}`;
  }
  for (const [name, target] of Object.entries(record.links)) {
    await mkdir(path.dirname(path.join(into, name)), { recursive: true });
    await symlink(target, path.join(into, name));
  }
  return undefined;
}

async function restoreFile(
  kept: string,
  file: IntactGeneration['record']['files'][number],
  into: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bytes = await fileSize(kept);
  if (bytes === undefined) return 'is missing';
  if (bytes !== file.bytes) return `has ${bytes} bytes instead of ${file.bytes}`;
  const target = path.join(into, file.path);
  signal.throwIfAborted();
  await mkdir(path.dirname(target), { recursive: true });
  // If the machine stops, this copy is lost with the training: it need not wait for the disk.
  const sha256 = (await cloneFile(kept, target))
    ? await sha256Of(target, signal)
    : await copyAndHash(kept, target, signal);
  return sha256 === file.sha256 ? undefined : 'is damaged: its SHA-256 differs';
}
