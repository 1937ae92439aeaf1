import { createHash } from 'node:crypto';
import { defined } from '../base/defined.ts';
import { stableJson } from '../base/stable-json.ts';
import { chooseMethod } from './choose-method.ts';
import { estimateDisk, imageRoom } from './estimate-disk.ts';
import { expandJobs } from './expand.ts';
import type { Job } from './job.ts';
import type { PlannedEnvironment } from './planned-environment.ts';
import type { DataMethod, DataSource, Spec } from './spec.ts';

/** A file that is sent with every job. */
export interface PlannedFile {
  /** Relative to the job file's folder, with `/`. */
  path: string;
  bytes: number;
  sha256: string;
}

/** A data source whose method is decided. */
export interface PlannedData extends DataSource {
  method: Exclude<DataMethod, 'auto'>;
  why: string;
}

/** All that will be sent and run, and why. Pure data: the same in `plan.json`. */
export interface Plan {
  version: 1;
  /** Absolute path of the user's file. */
  file: string;
  /** Absolute path of its folder, in which `files` are. */
  folder: string;
  /** Equal for equal content, wherever it lies and in whatever order its keys stand. */
  planHash: string;
  spec: Spec;
  jobs: Job[];
  files: PlannedFile[];
  /** Where the copies of the files are in the run's folder, when a retry brought new ones. */
  filesIn?: string;
  data: PlannedData[];
  /** It is run to be evicted, so that one sees what happens then. */
  isRehearsal?: true;
  environment?: PlannedEnvironment;
  disk: { bytes: number; why: string };
}

/** All objects that a job fetches: its data, and the archive of its software. */
export const fetchedBy = ({ data, environment }: Plan): PlannedData[] =>
  environment?.pack === undefined ? data : [...data, environment.pack];

export interface PlanInput {
  spec: Spec;
  file: string;
  folder: string;
  files: PlannedFile[];
  /** The data sources with paths made absolute; by default as in the spec. */
  data?: DataSource[];
  /** Sizes of those that are files of this machine, by their names. */
  bytesHere?: ReadonlyMap<string, number>;
  /** The size of the image, where it is a file of this machine. */
  imageBytes?: number;
  environment?: PlannedEnvironment | undefined;
}

export function makePlan(input: PlanInput): Plan {
  const { spec, file, folder, files, data = spec.data, bytesHere, imageBytes, environment } = input;
  const planned = data.map((source) => ({ ...source, ...chooseMethod(source, spec.run.pool) }));
  const sent = files.reduce((sum, one) => sum + one.bytes, 0);
  const software = environment?.size ?? imageRoom(spec, imageBytes);
  return {
    version: 1,
    file,
    folder,
    planHash: planHash(spec, files, environment?.facts?.hash),
    spec,
    jobs: expandJobs(spec),
    files,
    data: planned,
    ...defined({ environment }),
    disk: estimateDisk(spec.resources.diskBytes, planned, sent, software, bytesHere),
  };
}

function planHash(spec: Spec, files: PlannedFile[], software: string | undefined): string {
  const data = spec.data.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  // The order of the parameters decides which job gets which number, so it counts.
  const order = Object.keys(spec.run.matrix);
  return createHash('sha256')
    .update(stableJson({ spec: { ...spec, data }, order, files, ...defined({ software }) }))
    .digest('hex');
}
