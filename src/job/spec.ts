import type { fileSchema } from './file-schema.ts';
import type { z } from 'zod';

/**
 * The user's file, read and resolved: every unit a number, every default filled in. Plain data. The schema defines
 * its keys; its `describe` texts say what they mean.
 */
export type Spec = z.output<typeof fileSchema>;

export type Train = Spec['train'];
export type DataSource = Spec['data'][number];
export type Environment = Spec['environment'];
/** Where a pixi-pack archive is, and how it is verified. */
export type PackSource = NonNullable<Environment['pack']>;
export type Resources = Spec['resources'];
export type RunOptions = Spec['run'];

export type DataMethod = DataSource['method'];
export type PoolName = RunOptions['pool'];
/** A value of a parameter. */
export type Scalar = Exclude<RunOptions['matrix'][string][number], object>;

/** What is known about data on this machine. */
export interface LocalData {
  /** Of the file, or of the archive that the folder becomes. */
  bytes: number;
  /** Changes with names, sizes and times. */
  fingerprint: string;
  /** A folder, packed when the run is created. */
  isFolder?: true;
}

/** A data source with absolute paths. */
export interface ResolvedData extends DataSource {
  here?: LocalData;
}
