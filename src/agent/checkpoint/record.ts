import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ignoreUnsyncable, syncFolder } from '../../base/sync-folder.ts';
import { isInside } from '../../job/inside.ts';
import type { Position } from './position.ts';

/** One file of a checkpoint. It is kept under its number in the list: names that change must not pile up. */
export interface KeptFile {
  /** In the checkpoint folder. */
  path: string;
  bytes: number;
  sha256: string;
}

/** What is known of a kept checkpoint: enough to prove every byte of it. */
export interface CheckpointRecord {
  version: 1;
  /** From 1, counted over all attempts of the job. */
  number: number;
  attempt: number;
  savedAt: string;
  /** Hash of the command and the files with which the training ran. */
  code: string;
  /** What the training had told when it wrote the checkpoint. */
  position: Position;
  /** Where the training was when it began from nothing. */
  began?: Position;
  files: KeptFile[];
  /** Links inside the checkpoint folder, by path. */
  links: Record<string, string>;
  /** Of the lists of files and links. */
  sha256: string;
}

/** What the record of a new checkpoint says beside its files. */
export type About = Pick<CheckpointRecord, 'attempt' | 'savedAt' | 'code' | 'position' | 'began'>;

const recordFile = 'record.json';

/** The name of a kept file in the folder of its checkpoint. */
export const keptName = (index: number): string => path.join('files', String(index).padStart(4, '0'));

const digestOf = ({ files, links }: Pick<CheckpointRecord, 'files' | 'links'>): string =>
  createHash('sha256')
    .update(JSON.stringify([files, links]))
    .digest('hex');

export function makeRecord(
  number: number,
  about: About,
  files: KeptFile[],
  links: ReadonlyMap<string, string>,
): CheckpointRecord {
  const lists = { files, links: Object.fromEntries(links) };
  return { version: 1, number, ...about, ...lists, sha256: digestOf(lists) };
}

/** Writes the record of a checkpoint whose files are there; all of it is on the disk then. */
export async function writeRecord(folder: string, record: CheckpointRecord): Promise<void> {
  await using file = await open(path.join(folder, recordFile), 'wx', 0o600);
  await file.writeFile(`${JSON.stringify(record, undefined, 2)}\n`);
  await file.sync().catch(ignoreUnsyncable);
  await syncFolder(path.join(folder, path.dirname(keptName(0))));
  await syncFolder(folder);
}

/** Reads the record of a kept checkpoint; throws an error that says what is wrong with it. */
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
    return isWhole && paths.every(isInside) ? record : undefined;
  } catch {
    return undefined;
  }
}
