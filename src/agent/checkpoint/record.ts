import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { defined, unlessGone } from '@updraft/base';
import { syncPath } from '@updraft/base/disk';
import { isInside } from '../../job/inside.ts';

/** How far a training is, as it reports. */
export interface Position {
  epoch?: number;
  step?: number;
}

/** Below 0 if `a` is behind `b`, above 0 if ahead; undefined if they cannot be compared. */
function comparePositions(a: Position, b: Position): number | undefined {
  const epochs = difference(a.epoch, b.epoch);
  const steps = difference(a.step, b.step);
  // Many trainings restart their step count in each epoch.
  return epochs === undefined || epochs === 0 ? (steps ?? epochs) : epochs;
}

const difference = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a - b;

/** The part of something that is a position. */
export const positionIn = ({ epoch, step }: Position): Position => ({ ...defined({ epoch, step }) });

/** One file of a checkpoint, stored under its index in the list: changing names must not pile up files. */
export interface CheckpointFile {
  /** Relative to the checkpoint folder. */
  path: string;
  bytes: number;
  sha256: string;
}

/** The record of a saved checkpoint: enough to verify every byte of it. */
export interface CheckpointRecord {
  version: 1;
  /** From 1, over all attempts of the job. */
  number: number;
  attempt: number;
  savedAt: string;
  /** Hash of the command and files that the training ran with. */
  code: string;
  /** What the training had reported when it wrote the checkpoint. */
  position: Position;
  /** Where the training was when it started from scratch. */
  began?: Position;
  files: CheckpointFile[];
  /** Links inside the checkpoint folder, by path. */
  links: Record<string, string>;
  /** Of the lists of files and links. */
  sha256: string;
}

/** What the record of a new checkpoint holds besides its files. */
export type RecordDetails = Pick<CheckpointRecord, 'attempt' | 'savedAt' | 'code' | 'position' | 'began'>;

const recordFile = 'record.json';

/** Whether a link leads to something in the checkpoint folder: the training may write through it. */
export const staysInside = (name: string, target: string): boolean =>
  !path.isAbsolute(target) && isInside(path.normalize(path.join(path.dirname(name), target)));

/** The name of a saved file in its checkpoint's folder. */
export const fileName = (index: number): string => path.join('files', String(index).padStart(4, '0'));

const digestOf = ({ files, links }: Pick<CheckpointRecord, 'files' | 'links'>): string =>
  createHash('sha256')
    .update(JSON.stringify([files, links]))
    .digest('hex');

export function makeRecord(
  number: number,
  about: RecordDetails,
  files: CheckpointFile[],
  links: ReadonlyMap<string, string>,
): CheckpointRecord {
  const lists = { files, links: Object.fromEntries(links) };
  return { version: 1, number, ...about, ...lists, sha256: digestOf(lists) };
}

/** Writes the record of a checkpoint whose files are in place; afterwards all of it is on disk, by `sync`. */
export async function writeRecord(folder: string, record: CheckpointRecord, sync = syncPath): Promise<void> {
  const file = path.join(folder, recordFile);
  await writeFile(file, `${JSON.stringify(record, undefined, 2)}\n`, { flag: 'wx', mode: 0o600 });
  await Promise.all([file, path.join(folder, path.dirname(fileName(0))), folder].map(sync));
}

/** Reads the record of a saved checkpoint; throws an error that says what is wrong with it. */
export async function readRecord(folder: string): Promise<CheckpointRecord> {
  const text = await readFile(path.join(folder, recordFile), 'utf8').catch((error: unknown) => {
    throw new Error(`its record cannot be read: ${(error as Error).message}`);
  });
  const record = parsed(text);
  if (record === undefined) throw new Error('its record is damaged');
  return record;
}

function parsed(text: string): CheckpointRecord | undefined {
  try {
    const record = JSON.parse(text) as CheckpointRecord;
    const paths = [...record.files.map((file) => file.path), ...Object.keys(record.links)];
    const isWhole =
      record.sha256 === digestOf(record) && Number.isInteger(record.number) && record.number > 0;
    const stay = Object.entries(record.links).every((link) => staysInside(...link));
    return isWhole && stay && paths.every(isInside) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** A saved checkpoint, or a folder that should hold one and does not. */
export type Generation = { folder: string } & ({ record: CheckpointRecord } | { damage: string });
export type IntactGeneration = Extract<Generation, { record: unknown }>;

/** What a store holds, latest first; damaged ones come before all others, because their age is unknown. */
export async function findGenerations(store: string): Promise<Generation[]> {
  const names = (await unlessGone(readdir(store))) ?? [];
  const folders = names.filter((name) => /^\d+$/.test(name)).map((name) => path.join(store, name));
  const generations = await Promise.all(folders.map(readGeneration));
  return generations.sort((a, b) => numberOf(b) - numberOf(a));
}

export const isIntact = (generation: Generation): generation is IntactGeneration => 'record' in generation;

export const checkpointBytes = ({ files }: CheckpointRecord): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);

async function readGeneration(folder: string): Promise<Generation> {
  try {
    return { folder, record: await readRecord(folder) };
  } catch (error) {
    return { folder, damage: (error as Error).message };
  }
}

/** Finite, so that two damaged ones can be compared. */
const numberOf = (generation: Generation): number =>
  isIntact(generation) ? generation.record.number : Number.MAX_SAFE_INTEGER;

/**
 * Finds out whether a training resumes from the checkpoint it was given. It does if it reports a position past the
 * checkpoint's, and does not if it counts up from where it first started.
 */
export class ResumeCheck {
  readonly #from: Position;
  readonly #began: Position | undefined;
  #first: Position | undefined;
  #isDone = false;

  constructor(from: Position, began: Position | undefined) {
    this.#from = from;
    this.#began = began;
  }

  /** The verdict, once, as soon as the reported position decides it. */
  onPosition(reported: Position): (Position & { movedOn: boolean }) | undefined {
    const position = positionIn(reported);
    const ahead = comparePositions(position, this.#from);
    if (this.#isDone || ahead === undefined) return undefined;
    this.#first ??= position;
    // A first report, such as a banner, is not yet a count.
    const counts = (comparePositions(position, this.#first) ?? 0) > 0;
    const movedOn = ahead > 0 && !this.#restarted();
    if (!movedOn && !(counts && this.#restarted())) return undefined;
    this.#isDone = true;
    return { movedOn, ...position };
  }

  /** Whether its first report is nearer to the start than to the checkpoint, in epochs or else in steps. */
  #restarted(): boolean {
    const [began, first, from] = [this.#began ?? {}, this.#first ?? {}, this.#from];
    if ((comparePositions(first, from) ?? 0) >= 0) return false;
    const unit = began.epoch !== from.epoch ? 'epoch' : 'step';
    const [start, now, saved] = [began[unit], first[unit], from[unit]];
    if (start === undefined || now === undefined || saved === undefined) return false;
    return now - start < saved - now;
  }
}
