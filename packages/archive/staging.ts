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
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { identifySelf, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { removeTree } from '@updraft/base/disk';
import { Fault } from './fault.ts';
import { diskFault, lstatIfExists } from './disk-fault.ts';

/**
 * The hidden folder in which an archive is unpacked. It is in the nearest existing folder on the way to the target:
 * publishing is a rename on one file system, and undoing it leaves no trace. Leftovers of killed processes in the same
 * place are removed, too.
 */
export class Staging {
  /** Where the archive is unpacked: an ordinary folder in a private one. */
  readonly folder: string;
  readonly #hidden: string;
  readonly #into: string;

  /** `under` overrides the place of the hidden folder; it must be on the target's file system. */
  constructor(into: string, under?: string) {
    try {
      this.#into = path.resolve(into);
      let nearest = under ?? this.#into;
      while (!existsSync(nearest)) nearest = path.dirname(nearest);
      if (nearest === this.#into) this.#into = nearest = realpathSync(nearest);
      this.#hidden = mkdtempSync(path.join(nearest, stagingPrefix));
      markOwner(this.#hidden);
      removeLeftovers(nearest, this.#hidden);
      this.folder = path.join(this.#hidden, 'tree');
      mkdirSync(this.folder);
    } catch (error) {
      throw diskFault(error, into, 0);
    }
  }

  /**
   * Moves everything to the target folder; existing files are kept and never overwritten. Yields to the event loop
   * between batches; if `check` throws there, all moves are undone.
   */
  async publish(check: () => void): Promise<void> {
    const moves = this.#move(this.folder, this.#into);
    for (let step = 1; !moves.next().done; step++)
      if (step % batchSize === 0) {
        await nextTurn();
        try {
          check();
        } catch (error) {
          moves.throw(error);
        }
      }
  }

  /** Moves one file or folder to the target folder ahead of the rest. */
  publishPart(part: string): void {
    this.#checkWay(path.dirname(part));
    const moves = this.#move(path.join(this.folder, part), path.join(this.#into, part));
    while (!moves.next().done);
  }

  /** An existing parent may be a link, and a part must not be moved through it. */
  #checkWay(folder: string): void {
    if (folder === '.') return;
    this.#checkWay(path.dirname(folder));
    const full = path.join(this.#into, folder);
    if (lstatIfExists(full)?.isDirectory() === false) throw alreadyExists(full);
  }

  /** One name per step. Nothing is moved before every name is known to be free. */
  *#move(tree: string, target: string): Generator<string> {
    const moved: string[] = [];
    try {
      mkdirSync(path.dirname(target), { recursive: true });
      yield* free(tree, target, '');
      for (const name of free(tree, target, '')) {
        renameSync(path.join(tree, name), path.join(target, name));
        moved.push(name);
        yield name;
      }
    } catch (error) {
      for (const name of moved.reverse()) renameSync(path.join(target, name), path.join(tree, name));
      throw diskFault(error, this.#into, 0);
    }
  }

  async remove(): Promise<void> {
    await removeTree(this.#hidden);
  }
}

/** Steps before yielding to the event loop. */
const batchSize = 500;

/** The names that can be moved as a whole; folders that exist on both sides are merged. */
function* free(tree: string, target: string, name: string): Generator<string> {
  const [from, to] = [path.join(tree, name), path.join(target, name)];
  const there = lstatIfExists(to);
  if (there === undefined) {
    yield name;
    return;
  }
  if (!there.isDirectory() || !lstatSync(from).isDirectory()) throw alreadyExists(to);
  for (const inner of readdirSync(from)) yield* free(tree, target, path.join(name, inner));
}

function alreadyExists(file: string): Fault {
  return new Fault('scratch-unusable', `${file} already exists and would be overwritten`, {
    about: file,
    fix: 'remove it, or unpack into another folder',
  });
}

const stagingPrefix = '.updraft-unpack-';
const ownerFile = 'owner.json';

/** Records which process unpacks in the hidden folder. */
function markOwner(hidden: string): void {
  writeFileSync(path.join(hidden, ownerFile), JSON.stringify(identifySelf() ?? {}));
}

/** Removes the hidden folders that processes of the same user left in `folder` when they were killed. */
function removeLeftovers(folder: string, mine: string): void {
  const { uid } = lstatSync(mine);
  const others = readdirSync(folder).filter((name) => name.startsWith(stagingPrefix));
  for (const hidden of others.map((name) => path.join(folder, name)))
    if (hidden !== mine && isLeftover(hidden, uid)) rmSync(hidden, { recursive: true, force: true });
}

/** Only if the folder names its process, and that process is known to have ended. */
function isLeftover(hidden: string, uid: number): boolean {
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

/** Containers on one machine may share its name and this folder, but cannot see each other's processes. */
function inContainer(start: string): boolean {
  const [boot, space] = start.split('/');
  const [ourBoot, ourSpace] = (identifySelf()?.start ?? '').split('/');
  return boot === ourBoot && space !== ourSpace;
}
