import { open, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { isGone, unlessGone } from '@updraft/base';
import { runFiles } from '../../job/layout.ts';

/** What became of a run's folder: no longer at its path, or deleted. */
export type Loss = 'moved' | 'removed';

/** Knows a run's folder by its journal, to notice that someone removed it or moved it away while the run goes on. */
export class RunPlace {
  readonly #file: string;
  readonly #handle: FileHandle;
  readonly #inode: number;

  private constructor(file: string, handle: FileHandle, inode: number) {
    this.#file = file;
    this.#handle = handle;
    this.#inode = inode;
  }

  /** Undefined if the folder has no journal. */
  static async open(runFolder: string): Promise<RunPlace | undefined> {
    const file = path.join(runFolder, runFiles.journal);
    const handle = await unlessGone(open(file, 'r'));
    return handle && new RunPlace(file, handle, (await handle.stat()).ino);
  }

  /** Undefined while it is in its place. A path that cannot be read, as on a network disk that is away, is no loss. */
  async loss(): Promise<Loss | undefined> {
    const isHere = await stat(this.#file).then(
      ({ ino }) => ino === this.#inode,
      (error: unknown) => !isGone(error),
    );
    if (isHere) return undefined;
    // On a network disk, a file that was removed elsewhere has no stat.
    const links = (await this.#handle.stat().catch(() => undefined))?.nlink ?? 0;
    return links > 0 ? 'moved' : 'removed';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
