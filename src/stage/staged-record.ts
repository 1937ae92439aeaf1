import { appendFile, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Manifest } from '@updraft/pelican/transfer';

export interface StagedObject {
  /** Index of the shard; 0 for a single file. */
  index: number;
  /** Of the files it was made from. */
  fingerprint: string;
  name: string;
  bytes: number;
  sha256: string;
  files: number;
  /** Not in the records of earlier versions: it is counted again. */
  samples: number;
  /** Without its key. */
  manifest: Manifest;
}

/** What earlier runs of the same command staged: one line per object. */
export class StagedRecord {
  readonly #file: string;
  readonly #objects: StagedObject[];

  private constructor(file: string, objects: StagedObject[]) {
    this.#file = file;
    this.#objects = objects;
  }

  /** Invalid lines, as a killed run may leave, are ignored. */
  static async open(file: string): Promise<StagedRecord> {
    const text = await readFile(file, 'utf8').catch(() => '');
    return new StagedRecord(file, text.split('\n').flatMap(readLine));
  }

  /** The object made from exactly these files. */
  find(index: number, fingerprint: string): StagedObject | undefined {
    return this.#objects.findLast((each) => each.index === index && each.fingerprint === fingerprint);
  }

  /** Whether any object was staged at this index before. */
  hadOther(index: number): boolean {
    return this.#objects.some((each) => each.index === index);
  }

  async add(object: StagedObject): Promise<void> {
    await mkdir(path.dirname(this.#file), { recursive: true });
    await appendFile(this.#file, `${JSON.stringify(object)}\n`);
    this.#objects.push(object);
  }
}

function readLine(line: string): StagedObject[] {
  try {
    const value = JSON.parse(line) as Partial<StagedObject>;
    const isWhole = [value.fingerprint, value.name, value.sha256].every((each) => typeof each === 'string');
    return isWhole && typeof value.index === 'number' && typeof value.manifest === 'object'
      ? [value as StagedObject]
      : [];
  } catch {
    return [];
  }
}
