import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import { diskFault, statIfThere } from './disk-fault.ts';
import { markOwner, removeLeftOver, stagingPrefix } from './staging-owner.ts';

/**
 * The hidden folder in which an archive is unpacked. It lies in the nearest existing folder on the way to the
 * target, so that publishing is a rename on one file system and taking it back leaves no trace. What a killed process
 * left in the same place goes, too.
 */
export class Staging {
  /** Where the archive's tree grows: an ordinary folder in a private one. */
  readonly folder: string;
  readonly #hidden: string;
  readonly #into: string;

  /** `under` is another place for the hidden folder, on the target's file system. */
  constructor(into: string, under?: string) {
    try {
      this.#into = path.resolve(into);
      let nearest = under ?? this.#into;
      while (!existsSync(nearest)) nearest = path.dirname(nearest);
      if (nearest === this.#into) this.#into = nearest = realpathSync(nearest);
      this.#hidden = mkdtempSync(path.join(nearest, stagingPrefix));
      markOwner(this.#hidden);
      removeLeftOver(nearest, this.#hidden);
      this.folder = path.join(this.#hidden, 'tree');
      mkdirSync(this.folder);
    } catch (error) {
      throw diskFault(error, into, 0);
    }
  }

  /** Everything appears in the target folder; what is there already stays, and is never overwritten. */
  publish(): void {
    this.#move(this.folder, this.#into);
  }

  /** One file or folder of the tree appears in the target folder ahead of the rest. */
  publishPart(part: string): void {
    this.#checkWay(path.dirname(part));
    this.#move(path.join(this.folder, part), path.join(this.#into, part));
  }

  /** What was there before may be a link, and a part must not appear where that leads. */
  #checkWay(folder: string): void {
    if (folder === '.') return;
    this.#checkWay(path.dirname(folder));
    const full = path.join(this.#into, folder);
    if (statIfThere(full)?.isDirectory() === false) throw inTheWay(full);
  }

  #move(tree: string, target: string): void {
    const moved: [from: string, to: string][] = [];
    try {
      mkdirSync(path.dirname(target), { recursive: true });
      const moves = this.#plan(tree, target);
      for (const [from, to] of moves) {
        renameSync(from, to);
        moved.push([from, to]);
      }
    } catch (error) {
      for (const [from, to] of moved.reverse()) renameSync(to, from);
      throw diskFault(error, this.#into, 0);
    }
  }

  async remove(): Promise<void> {
    await rm(this.#hidden, { recursive: true, force: true });
  }

  /** Folders that exist on both sides are merged; nothing is moved before every name is known to be free. */
  #plan(from: string, to: string): [from: string, to: string][] {
    const there = statIfThere(to);
    if (there === undefined) return [[from, to]];
    if (!there.isDirectory() || !lstatSync(from).isDirectory()) throw inTheWay(to);
    return readdirSync(from).flatMap((name) => this.#plan(path.join(from, name), path.join(to, name)));
  }
}

function inTheWay(file: string): Fault {
  return new Fault('scratch-unusable', `${file} exists already and would be overwritten`, {
    about: file,
    fix: `Remove it, or unpack into another folder.`,
  });
}
