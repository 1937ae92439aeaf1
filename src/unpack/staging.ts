import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { identifySelf, livenessOf, type ProcessIdentity } from '../base/process-identity.ts';
import { Fault } from '../fault/fault.ts';
import { diskFault, statIfThere } from './disk-fault.ts';

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
    this.#move(path.join(this.folder, part), path.join(this.#into, part));
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
    if (!there.isDirectory() || !lstatSync(from).isDirectory())
      throw new Fault('scratch-unusable', `${to} exists already and would be overwritten`, {
        about: to,
        fix: `Remove it, or unpack into another folder.`,
      });
    return readdirSync(from).flatMap((name) => this.#plan(path.join(from, name), path.join(to, name)));
  }
}

const stagingPrefix = '.updraft-unpack-';
const ownerFile = 'owner.json';

/** Says in a hidden folder which process unpacks there. */
function markOwner(hidden: string): void {
  writeFileSync(path.join(hidden, ownerFile), JSON.stringify(identifySelf() ?? {}));
}

/** Removes the hidden folders that processes of the same user left in `folder` when they were killed. */
function removeLeftOver(folder: string, mine: string): void {
  const { uid } = lstatSync(mine);
  const others = readdirSync(folder).filter((name) => name.startsWith(stagingPrefix));
  for (const hidden of others.map((name) => path.join(folder, name)))
    if (hidden !== mine && isLeftOver(hidden, uid)) rmSync(hidden, { recursive: true, force: true });
}

/** A folder is left alone unless it says whose it is, and that one is known to have ended. */
function isLeftOver(hidden: string, uid: number): boolean {
  try {
    const stat = lstatSync(hidden);
    if (!stat.isDirectory() || stat.uid !== uid) return false;
    const owner = JSON.parse(readFileSync(path.join(hidden, ownerFile), 'utf8')) as Partial<ProcessIdentity>;
    const { pid, start, host } = owner;
    if (pid === undefined || start === undefined || host === undefined) return false;
    return !inContainer(start) && livenessOf({ pid, start, host }) === 'dead';
  } catch {
    // Made or removed by another process just now.
    return false;
  }
}

/** Containers of one machine may share its name and this folder, and cannot see each other's processes. */
function inContainer(start: string): boolean {
  const [boot, space] = start.split('/');
  const [ourBoot, ourSpace] = (identifySelf()?.start ?? '').split('/');
  return boot === ourBoot && space !== ourSpace;
}
