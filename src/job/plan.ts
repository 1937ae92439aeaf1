import { hash } from 'node:crypto';
import { defined, formatSize, stableJson } from '@updraft/base';
import { isLowerBetter } from '@updraft/base/training';
import type { Rungs } from '../search/rungs.ts';
import {
  type EnvironmentFacts,
  type Delivery,
  type EnvironmentSize,
  sizeEnvironment,
} from '../environment/describe-environment.ts';
import type { Place } from '@updraft/account/recovery';
import { chooseMethod } from './choose-method.ts';
import { estimateDisk, imageDisk } from './estimate-disk.ts';
import { fillJob, type JobValues, listJobs } from './expand.ts';
import type { Job, OrderedData, OrderedEnvironment } from './job.ts';
import type { DataMethod, DataSource, Environment, ResolvedData, Resources, Spec } from './spec.ts';

/** A file that is sent with every job. */
export interface PlannedFile {
  /** Relative to the job file's folder, with `/`. */
  path: string;
  bytes: number;
  sha256: string;
}

/** A data source whose method is decided. */
export interface PlannedData extends ResolvedData {
  method: Exclude<DataMethod, 'auto'>;
  why: string;
  /** Distinguishes it from data of the same name that other variants have in the run's folder. */
  mark?: number;
}

/** All that will be sent and run, and why. Plain data, written to `plan.json`. */
export interface Plan {
  version: 1;
  /** Absolute path of the user's file. */
  file: string;
  /** Absolute path of its folder, in which `files` are. */
  folder: string;
  /** Equal for equal content, whatever its folder and the order of its keys. */
  planHash: string;
  spec: Spec;
  /** What the command line overrode in the job file; absolute paths. */
  overrides?: { with: string[]; set: string[] };
  jobs: Job[];
  files: PlannedFile[];
  /** Where the copies of the files are in the run's folder, if a retry has new ones. */
  filesIn?: string;
  data: PlannedData[];
  /** Set if jobs differ in data, software or resources; then the plan itself has what the first job has. */
  variants?: Variant[];
  /** The parameters by which they differ. */
  variedBy?: string[];
  /** `memory` is in the job file, and not our default. */
  isMemorySet?: true;
  /** A rehearsal: its job is evicted on purpose. */
  isRehearsal?: true;
  /** Seconds between interruptions in earlier runs, set when it is submitted. */
  meanLifeSeconds?: number;
  /** How long an epoch took in an earlier run of a search. */
  epochTime?: { seconds: number; run: string };
  /** What slots were worth to earlier attempts, set when it is submitted. */
  places?: Place[];
  environment?: PlannedEnvironment;
  /** Absolute path of the file with the token for the image. */
  imageTokenFile?: string;
  /** Federations of its objects that the user has confirmed. */
  confirmed?: string[];
  /** Distinguishes the image from those of other variants in the run's folder. */
  imageMark?: number;
  disk: { bytes: number; why: string };
}

/** What some jobs of a plan have, where the matrix fills more than their commands. `variants.ts` applies it. */
export interface Variant extends Pick<
  Plan,
  'data' | 'environment' | 'imageTokenFile' | 'imageMark' | 'confirmed' | 'disk'
> {
  jobs: string[];
  software: Environment;
  resources: Resources;
  requirements?: string;
}

/** All objects that a job fetches: its data, and the archive of its software. */
export const fetchedBy = ({ data, environment }: Plan): PlannedData[] =>
  environment?.pack === undefined ? data : [...data, environment.pack];

export interface PlanInput extends Pick<Plan, 'spec' | 'file' | 'folder' | 'files'> {
  /** Default: all that the spec asks for. */
  jobs?: JobValues[];
  /** The data sources with absolute paths (default: those of the spec). */
  data?: ResolvedData[];
  /** The size of the image, if it is a file on this machine. */
  imageBytes?: number | undefined;
  environment?: PlannedEnvironment | undefined;
  imageTokenFile?: string | undefined;
  confirmed?: string[] | undefined;
}

export function makePlan(input: PlanInput): Plan {
  const { jobs = listJobs(input.spec.run) } = input;
  const { spec, file, folder, files, data = spec.data } = input;
  const { imageBytes, environment, imageTokenFile, confirmed } = input;
  const planned = data.map((source) => ({ ...source, ...chooseMethod(source, spec.run.pool) }));
  const sent = files.reduce((sum, one) => sum + one.bytes, 0);
  const software = environment?.size ?? imageDisk(spec, imageBytes);
  return {
    version: 1,
    file,
    folder,
    planHash: planHash(spec, files, data, environment?.facts?.hash),
    spec,
    jobs: jobs.map((job) => ({ ...fillJob(spec.train, job), ...defined({ rungs: rungsOf(spec) }) })),
    files,
    data: planned,
    ...defined({ environment, imageTokenFile, confirmed }),
    disk: estimateDisk(spec.resources.diskBytes, planned, sent, software),
  };
}

/** When the trials of a search are judged; undefined if none is stopped early. */
export function rungsOf({ search, results }: Spec): Rungs | undefined {
  if (search === undefined) return undefined;
  const { metric, direction, epochs, steps, eta } = search;
  const budgets = epochs ?? steps;
  if (budgets === undefined) return undefined;
  const isLower = direction === undefined ? isLowerBetter(metric, results) : direction === 'minimize';
  return { metric, isLowerBetter: isLower, unit: epochs === undefined ? 'steps' : 'epochs', budgets, eta };
}

function planHash(
  spec: Spec,
  files: PlannedFile[],
  sources: ResolvedData[],
  software: string | undefined,
): string {
  const here = Object.fromEntries(
    sources.flatMap((source) => (source.here === undefined ? [] : [[source.name, source.here]])),
  );
  const data = spec.data.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  // What is run here afterwards, and how results are judged, does not make it another run.
  const run = { ...spec.run, onEnd: undefined };
  // The order of the parameters decides which job gets which number, so it is part of the hash.
  const order = [...Object.keys(spec.run.matrix), ...Object.keys(spec.search?.ranges ?? {})];
  const whole = { spec: { ...spec, run, data, results: undefined }, order, files, here };
  return hash('sha256', stableJson({ ...whole, ...defined({ software }) }));
}

/** The environment of a plan, as far as it is known before the run. */
export interface PlannedEnvironment {
  delivery: Delivery;
  /** What the lock says is in it. */
  facts?: EnvironmentFacts;
  /** The disk it needs, if its size is known. */
  size?: EnvironmentSize;
  /** The pixi-pack archive and how it reaches the job. */
  pack?: PlannedData;
  /** Set if this machine's own software is used instead. */
  fallback?: Fallback;
}

export interface Fallback {
  why: string;
  fix: string;
  /** The manifest, if its lock file is missing. */
  unlocked?: string;
}

/** The archive's name among the data; no data set can have it. */
export const packName = 'environment.pack';

/** What an environment needs, by its lock file, or else by the size of its archive. */
export function environmentSize(
  delivery: Delivery,
  facts: EnvironmentFacts | undefined,
  pack: DataSource | undefined,
): EnvironmentSize | undefined {
  const archive = pack?.expect.bytes;
  // A self-extracting archive is base64: four characters for three bytes.
  const packed =
    archive === undefined ? undefined : /\.sh$/i.test(pack?.url ?? '') ? archive * 0.75 : archive;
  const bytes = delivery === 'pack' ? (packed ?? facts?.bytes) : facts?.bytes;
  const isInstalled = /\.tar\.zst$/i.test(pack?.url ?? '');
  return bytes === undefined
    ? undefined
    : sizeEnvironment(Math.round(bytes), delivery, formatSize, isInstalled);
}

/** The resources of a job, with the needs of its environment where the user set nothing. */
export function withEnvironment(
  resources: Resources,
  environment: PlannedEnvironment | undefined,
): Resources {
  if (environment === undefined) return resources;
  const { cuda, capability } = environment.facts?.needs ?? {};
  const gpu = { ...defined({ cuda, capability }), ...resources.gpu };
  return { ...resources, ...(resources.gpus > 0 && Object.keys(gpu).length > 0 && { gpu }) };
}

/** The environment for a work order; `place` says where the archive is on the worker. */
export function orderEnvironment<Source extends DataSource>(
  { image, python, unpacker }: Environment,
  pack: Source | undefined,
  place: (pack: Source) => OrderedData,
): OrderedEnvironment {
  return { python, ...defined({ image, pack: pack && place(pack), unpacker }) };
}
