import type { AttemptRecovery } from '@updraft/account/recovery';
import type { Rungs } from '../search/rungs.ts';
import type { CachePreferences } from './caches.ts';
import type { DataSource, Environment, Resources, Scalar, Train } from './spec.ts';

/** How many processes a training has on each machine. */
export const processesOf = ({ processes = 1 }: Train, { gpus }: Pick<Resources, 'gpus'>): number =>
  processes === 'gpus' ? Math.max(1, gpus) : processes;

/** One training that is to produce one valid result: a spec with its parameters filled in. */
export interface Job {
  /** `0000`, `0001` …: unique in the run, used in folder names. */
  id: string;
  parameters: Record<string, Scalar>;
  train: Train;
  /** Of a trial that may be stopped early. */
  rungs?: Rungs;
}

/** What our plugin put into the sandbox before the agent started. */
export interface DeliveredObject {
  object: string;
  bytes: number;
  seconds: number;
  servers: { server: string; bytes: number; preferredBy?: string; warmBytes?: number; coldBytes?: number }[];
  leftOut?: { server: string; by: string; why: 'avoided' | 'no-token' }[];
  verified: 'manifest' | 'digest' | 'size' | 'none';
}

/** A data source as the agent sees it. */
export interface OrderedData extends DataSource {
  /** Where the scheduler has already put the object; the agent verifies it, unpacks it and removes it. */
  delivered?: string;
}

/** The software of a job as the agent sees it. */
export interface OrderedEnvironment extends Pick<Environment, 'image' | 'python' | 'unpacker'> {
  /** pixi-pack archive, unpacked and activated before any of the user's code runs. */
  pack?: OrderedData;
  /** File with the token that the plugin fetches the image with. */
  imageToken?: string;
  /** Environment that Pixi installs in its workspace, on the machine where that is. */
  workspace?: OrderedWorkspace;
  /** Why the machine's own software is used instead of the requested environment. */
  fallback?: string;
}

export interface OrderedWorkspace {
  /** Absolute path. */
  manifest: string;
  environment: string;
}

/**
 * What one attempt does: the only thing the agent reads. Paths are absolute on the machine where the attempt runs.
 * It never contains a token, only the path of a token's file.
 */
export interface WorkOrder extends CachePreferences {
  version: 1;
  run: string;
  job: Job;
  /** From 1. */
  attempt: number;
  /** The first attempt waits for its eviction during the transfer. */
  isRehearsal?: boolean;
  /** Attempts in earlier clusters of the scheduler; its own count starts after them. */
  attemptsBefore?: number;
  data: OrderedData[];
  environment: OrderedEnvironment;
  resources: Resources;
  /** Nobody else limits its memory: the agent ends a training that uses more than requested. */
  limitsMemory?: true;
  recovery?: AttemptRecovery;
  /** Seconds between interruptions on this pool, as far as earlier runs know. */
  meanLifeSeconds?: number;
  /** Folder that holds `train.files`. */
  filesFrom: string;
  /** Folder in which the attempt creates its scratch folder, and removes it. */
  scratchParent: string;
  /** Folder in which the outputs appear, all at the same moment. */
  resultsTo: string;
  /** Folder of the attempt: journal, claim and logs are written here under the names of `layout.ts`. */
  attemptFolder: string;
  /** The checkpoint folder of all nodes of a job, if it has several; its parent has nothing else. */
  sharedCheckpoint?: string;
  /** Folder of the run's shared notes, if the attempt's machine can see it. */
  notesFolder?: string;
  /** Not in the file: the agent finds it in its sandbox. */
  brought?: DeliveredObject[];
  /** Federations of its objects that the user has confirmed: tokens that are found may go there. */
  confirmed?: string[];
  /** How often progress is sent to the access point while the attempt runs, if there is a way. */
  liveSeconds?: number;
}
