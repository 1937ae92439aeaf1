import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { identifyProcess } from '../../base/process-identity.ts';
import { type Field, field, listOf, Mismatch, optional, shape } from '../../base/shape.ts';

/** What readers ask for. */
interface Wanted {
  epoch: number;
  /** Numbers of shards in the order of their use, from where the reader is. */
  order: number[];
  /** How many of them are used together. */
  block: number;
}

/** How far one reader is. */
interface ReaderPosition {
  epoch: number;
  /** It needs what is in the order from this place on. */
  position: number;
  /** Seconds it has waited for shards in this epoch. */
  waited: number;
  pid?: number;
}

/** What the training's readers want from now on. */
export interface Wish extends Pick<Wanted, 'order' | 'block'> {
  /** The lowest place in the order that a reader still needs. */
  position: number;
  /** Differs whenever any of it does. */
  version: string;
}

const count = field<number>('a whole number from 0 up', (value) => Number.isSafeInteger(value) && Number(value) >= 0);
const seconds = field<number>('a number from 0 up', (value) => typeof value === 'number' && value >= 0);
const wanted = shape<Wanted>({ epoch: count, order: listOf(count), block: count });
const position = shape<ReaderPosition>({ epoch: count, position: count, waited: seconds, pid: optional(count) });

/**
 * The files through which the agent and the readers of a data set speak, in `.stream` in its folder: the agent writes
 * `list.json`; readers write `wanted.json`, and each its place into `at/`. Every file appears by one rename.
 */
export class ReaderFiles {
  readonly #folder: string;
  #wanted: Wanted | undefined;
  #wantedAs = '';
  /** The greatest wait of a reader, by epoch. */
  readonly #waited = new Map<number, number>();

  constructor(dataFolder: string) {
    this.#folder = path.join(dataFolder, '.stream');
  }

  /** Lists the shards for the readers, before the training starts. */
  publish(list: object): void {
    for (const part of ['at', 'index']) mkdirSync(this.#at(part), { recursive: true });
    rmSync(this.#at('wanted.json'), { force: true });
    this.forget();
    writeFileSync(this.#at('list.json.new'), `${JSON.stringify({ format: 1, ...list })}\n`);
    renameSync(this.#at('list.json.new'), this.#at('list.json'));
  }

  /** The training starts again: what its earlier readers said no longer counts. */
  forget(): void {
    this.#waited.clear();
    for (const name of readers(this.#at('at'))) rmSync(this.#at('at', name), { force: true });
  }

  /** Seconds that the training has waited for shards; undefined while no reader has said. */
  get waited(): number | undefined {
    return this.#waited.size === 0 ? undefined : this.#waited.values().reduce((sum, each) => sum + each, 0);
  }

  /** Undefined while nobody has said what is wanted. */
  poll(): Wish | undefined {
    this.#readWanted();
    const found = readers(this.#at('at')).flatMap((name) => readJson(this.#at('at', name), position) ?? []);
    for (const { epoch, waited } of found) this.#waited.set(epoch, Math.max(waited, this.#waited.get(epoch) ?? 0));
    if (this.#wanted === undefined) return undefined;
    const { epoch, order, block } = this.#wanted;
    const current = found.filter((reader) => reader.epoch === epoch);
    const living = current.filter(({ pid }) => pid !== undefined && identifyProcess(pid) !== undefined);
    // Where none lives, their process IDs are those of another container.
    const places = (living.length > 0 ? living : current).map((reader) => reader.position);
    const lowest = places.length === 0 ? 0 : Math.min(...places);
    return { order, block: Math.max(1, block), position: lowest, version: `${this.#wantedAs} ${lowest}` };
  }

  #readWanted(): void {
    const file = this.#at('wanted.json');
    const info = statSync(file, { throwIfNoEntry: false, bigint: true });
    const version = info === undefined ? '' : `${info.ino} ${info.mtimeNs}`;
    if (version === this.#wantedAs) return;
    this.#wantedAs = version;
    this.#wanted = readJson(file, wanted) ?? this.#wanted;
  }

  #at(...names: string[]): string {
    return path.join(this.#folder, ...names);
  }
}

const readers = (folder: string): string[] => {
  try {
    return readdirSync(folder).filter((name) => /^[^.].*\.json$/.test(name));
  } catch {
    return [];
  }
};

/** A file that is gone, or that is none of ours, says nothing. */
function readJson<T>(file: string, read: Field<T>): T | undefined {
  try {
    const value = read(JSON.parse(readFileSync(file, 'utf8')));
    return value instanceof Mismatch ? undefined : value;
  } catch {
    return undefined;
  }
}
