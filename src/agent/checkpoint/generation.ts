import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from '../../base/error-reason.ts';
import { type CheckpointRecord, readRecord } from './record.ts';

/** A kept checkpoint, or a folder that should hold one and does not. */
export type Generation = { folder: string } & ({ record: CheckpointRecord } | { damage: string });
export type Whole = Extract<Generation, { record: unknown }>;

/** What a store holds, the latest first; what is damaged before all, because nobody knows when it was made. */
export async function findGenerations(store: string): Promise<Generation[]> {
  const names = await readdir(store).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  const folders = names.filter((name) => /^\d+$/.test(name)).map((name) => path.join(store, name));
  const generations = await Promise.all(folders.map(readGeneration));
  return generations.sort((a, b) => numberOf(b) - numberOf(a));
}

export const isWhole = (generation: Generation): generation is Whole => 'record' in generation;

export const bytesOf = ({ files }: CheckpointRecord): number =>
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
  isWhole(generation) ? generation.record.number : Number.MAX_SAFE_INTEGER;
