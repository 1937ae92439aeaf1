import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Field, field, listOf, Mismatch, optional, shape, tried } from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';

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
  /** Seconds it has waited for shards. */
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

const count = field<number>(
  'a whole number from 0 up',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
const seconds = field<number>('a number from 0 up', (value) => typeof value === 'number' && value >= 0);
const wanted = shape<Wanted>({ epoch: count, order: listOf(count), block: count });
const position = shape<ReaderPosition>({
  epoch: count,
  position: count,
  waited: seconds,
  pid: optional(count),
});

/** In polls: about once a second. */
const aliveEvery = 20;

/**
 * The files through which the agent and the readers of a data set speak, in `.stream` in its folder: the agent writes
 * `list.json`; readers write `wanted.json`, and each its place into `at/`. Every file appears by one rename.
 */
export class ReaderFiles {
  readonly #folder: string;
  #wanted: Wanted | undefined;
  #wantedAs = '';
  readonly #hint: string | undefined;
  readonly #readers = new Map<string, ReaderPosition & { version: string; isAlive: boolean }>();
  #polls = 0;
  readonly #waits = new ReaderWaits();

  /** `hint` names a file like `wanted.json`, from which a resumed training's wish is known before its readers start. */
  constructor(dataFolder: string, hint?: string) {
    this.#folder = path.join(dataFolder, '.stream');
    this.#hint = hint;
  }

  /** Lists the shards for the readers, before the training starts. */
  publish(list: object): void {
    for (const part of ['at', 'index']) mkdirSync(this.#at(part), { recursive: true });
    writeFileSync(this.#at('list.json.new'), `${JSON.stringify({ format: 1, ...list })}\n`);
    renameSync(this.#at('list.json.new'), this.#at('list.json'));
  }

  /** The training starts: what earlier readers said no longer counts. */
  restart(): void {
    this.#waits.clear();
    this.#readers.clear();
    for (const name of readers(this.#at('at'))) rmSync(this.#at('at', name), { force: true });
    rmSync(this.#at('wanted.json'), { force: true });
    this.#wanted = this.#hint === undefined ? undefined : readJson(this.#hint, wanted);
    this.#wantedAs = '';
  }

  /** Seconds that the training has waited for shards; undefined while no reader has said. */
  get waited(): number | undefined {
    return this.#waits.total;
  }

  /** Undefined while nobody has said what is wanted. */
  poll(): Wish | undefined {
    this.#readWanted();
    this.#readPositions();
    if (this.#wanted === undefined) return undefined;
    const { epoch, order, block } = this.#wanted;
    const current = [...this.#readers.values()].filter((reader) => reader.epoch === epoch);
    const living = current.filter(({ isAlive }) => isAlive);
    // Where none lives, their process IDs are those of another container.
    const places = (living.length > 0 ? living : current).map((reader) => reader.position);
    const lowest = places.length === 0 ? 0 : Math.min(...places);
    return { order, block: Math.max(1, block), position: lowest, version: `${this.#wantedAs} ${lowest}` };
  }

  #readWanted(): void {
    const file = this.#at('wanted.json');
    const version = versionOf(file);
    if (version === this.#wantedAs) return;
    this.#wantedAs = version;
    this.#wanted = readJson(file, wanted) ?? this.#wanted;
  }

  /** Reads what is new. Whether its process lives is asked less often: that costs more than the rest. */
  #readPositions(): void {
    this.#polls += 1;
    const names = readers(this.#at('at'));
    for (const name of this.#readers.keys()) if (!names.includes(name)) this.#readers.delete(name);
    for (const name of names) {
      const known = this.#readers.get(name);
      const version = versionOf(this.#at('at', name));
      if (known?.version === version && this.#polls % aliveEvery !== 0) continue;
      const reader = readJson(this.#at('at', name), position);
      if (reader === undefined) continue;
      this.#waits.add(name, reader);
      const isAlive = reader.pid !== undefined && identifyProcess(reader.pid) !== undefined;
      this.#readers.set(name, { ...reader, version, isAlive });
    }
  }

  #at(...names: string[]): string {
    return path.join(this.#folder, ...names);
  }
}

/** How long readers have waited. They read side by side: of each epoch, the longest wait counts. */
class ReaderWaits {
  readonly #ofReader = new Map<string, { epoch: number; waited: number; before: number }>();
  readonly #ofEpoch = new Map<number, number>();

  get total(): number | undefined {
    return this.#ofEpoch.size === 0 ? undefined : this.#ofEpoch.values().reduce((sum, each) => sum + each, 0);
  }

  clear(): void {
    this.#ofReader.clear();
    this.#ofEpoch.clear();
  }

  /** A reader counts from its own start on, over all its epochs. */
  add(name: string, { epoch, waited }: Pick<ReaderPosition, 'epoch' | 'waited'>): void {
    const known = this.#ofReader.get(name);
    const before = known === undefined ? 0 : known.epoch === epoch ? known.before : known.waited;
    this.#ofReader.set(name, { epoch, waited, before });
    const grown = waited - (before > waited ? 0 : before);
    this.#ofEpoch.set(epoch, Math.max(grown, this.#ofEpoch.get(epoch) ?? 0));
  }
}

/** Changes when a file is replaced; empty if there is none. */
function versionOf(file: string): string {
  const info = statSync(file, { throwIfNoEntry: false, bigint: true });
  return info === undefined ? '' : `${info.ino} ${info.mtimeNs}`;
}

const readers = (folder: string): string[] =>
  tried(() => readdirSync(folder).filter((name) => /^[^.].*\.json$/.test(name))) ?? [];

/** A file that is gone, or that is none of ours, says nothing. */
function readJson<T>(file: string, read: Field<T>): T | undefined {
  const value = tried(() => read(JSON.parse(readFileSync(file, 'utf8'))));
  return value instanceof Mismatch ? undefined : value;
}
