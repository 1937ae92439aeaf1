import type { Delivery } from '../environment/size-environment.ts';

/** The user's file, read and resolved: every unit a number, every default filled in. Pure data. */
export interface Spec {
  name: string;
  train: Train;
  data: DataSource[];
  environment: Environment;
  resources: Resources;
  run: RunOptions;
  recovery: Recovery;
}

export interface Train {
  /** Run by `/bin/sh -c` in the attempt's work folder. `{name}` stands for a parameter of the job. */
  command: string;
  /** Files and folders beside the job file that are sent along. */
  files: string[];
  /** Must exist, be newer than the attempt's start and not empty; a job without them has failed. */
  outputs: string[];
  /** Says by its exit status whether the result is valid. */
  check?: string;
  /** Folder kept across attempts, from which the training resumes. */
  checkpoint?: string;
  /** How many checkpoints are kept; 3 where it is not said. */
  checkpointKeep?: number;
  /** How long the training runs on HTCondor before its checkpoint is brought to the access point. */
  checkpointEverySeconds?: number;
  env: Record<string, string>;
  /** No output and no progress for so long, and nothing done: the attempt hangs. One that works gets three times as long. */
  quietLimitSeconds?: number;
  /** A first epoch that takes so many times as long as elsewhere in the run: the attempt leaves the machine. 0: never. */
  slowLimit?: number;
}

export const unpackModes = [
  'auto',
  'none',
  'nested',
  'tar',
  'tar.gz',
  'tar.zst',
  'tar.xz',
  'tar.bz2',
  'zip',
] as const;
/** `auto` goes by the object's name; `nested` is a tar of tars, a folder per inner tar. */
export type UnpackMode = (typeof unpackModes)[number];

export const dataMethods = ['auto', 'native', 'https', 'osdf', 'stream'] as const;
export type DataMethod = (typeof dataMethods)[number];

export interface DataSource {
  name: string;
  url: string;
  /** Folder in the work folder in which the data appears, only when whole. */
  into: string;
  /** The training starts when the first whole part is there, and the rest appears while it runs. */
  arriving?: true;
  unpack: UnpackMode;
  method: DataMethod;
  expect: { files?: number; bytes?: number };
  sha256?: string;
  /** Where the manifest of chunk hashes is: a URL or a path beside the job file. */
  manifest?: string;
  /** Path of a file with the bearer token; otherwise the usual search order applies. */
  tokenFile?: string;
}

export interface Environment {
  /** Apptainer/Singularity image; without one the worker's own software is used. */
  image?: string;
  /** Python modules the training imports: an interpreter that has them is looked for before data moves. */
  python: string[];
  /** The Pixi environment the software comes from, by the manifest's path beside the job file. */
  pixi?: { manifest: string; environment: string; platform: string };
  /** How the Pixi environment gets to the worker; without it, by what else is said. */
  delivery?: Delivery;
  /** Archive of pixi-pack that is unpacked and activated before the training. */
  pack?: PackSource;
  /** pixi-unpack for the worker, beside the job file; self-extracting archives bring their own. */
  unpacker?: string;
}

/** Where an archive of pixi-pack is, and what proves it. */
export interface PackSource {
  /** A URL, or a path beside the job file. */
  url: string;
  sha256?: string;
  bytes?: number;
  manifest?: string;
  tokenFile?: string;
}

export interface Resources {
  cpus: number;
  gpus: number;
  /** What every GPU must be at least. */
  gpu?: GpuNeeds;
  memoryBytes: number;
  /** `auto`: computed from the data and the method. */
  diskBytes: number | 'auto';
  timeSeconds?: number;
}

export interface GpuNeeds {
  /** CUDA compute capability, like 7.5. */
  capability?: number;
  memoryBytes?: number;
  /** Version of CUDA that the driver must support, like `12.1`. */
  cuda?: string;
}

export const pools = ['local', 'condor', 'slurm'] as const;
export type PoolName = (typeof pools)[number];

export const profiles = ['ospool', 'chtc', 'htcondor', 'mini'] as const;
/** Customs and limits of a pool: which rules `check` knows, and what is written into the submit description. */
export type ProfileName = (typeof profiles)[number];

export type Scalar = string | number | boolean;

export interface RunOptions {
  jobs: number;
  /** Every combination is one job (times `jobs`). */
  matrix: Record<string, Scalar[]>;
  pool: PoolName;
  /** Whose customs apply on HTCondor; found out where it is not said. */
  profile?: ProfileName;
  /** Name under which the pool accounts for the jobs. */
  project?: string;
  /** A further condition on machines, as HTCondor writes it; on Slurm, features of nodes. */
  requirements?: string;
  /** Where the jobs queue on Slurm, and under which rules. */
  partition?: string;
  qos?: string;
  /** Most attempts a job gets. */
  attempts: number;
}

export const avoidances = ['site', 'machine', 'none'] as const;
/** What is avoided after a failure that another place can heal. */
export type Avoidance = (typeof avoidances)[number];

/** What is done about failures, beyond `run.attempts`. */
export interface Recovery {
  avoid: Avoidance;
  /** Memory and disk may grow up to here when an attempt ran out of them; four times what is asked for otherwise. */
  memoryMaxBytes?: number;
  diskMaxBytes?: number;
  /** No attempt is begun later than so long after the job was queued. */
  giveUpSeconds?: number;
  /** When so many jobs have failed for good, the rest of the run is given up. */
  failedJobs?: number;
}
