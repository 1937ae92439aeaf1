import type { CachePreferences } from './caches.ts';
import type { DataSource, Environment, Resources, Scalar, Train } from './spec.ts';

/** One training to be brought to one valid result: a spec with its parameters filled in. */
export interface Job {
  /** `0000`, `0001` …: unique in the run, used in folder names. */
  id: string;
  parameters: Record<string, Scalar>;
  train: Train;
}

/** What our plugin brought into the sandbox before the agent began. */
export interface DeliveredObject {
  object: string;
  bytes: number;
  seconds: number;
  servers: { server: string; bytes: number; preferredBy?: string }[];
  leftOut?: { server: string; by: string; why: 'avoided' | 'no-token' }[];
  verified: 'manifest' | 'digest' | 'size' | 'none';
}

/** A data source as the agent sees it. */
export interface OrderedData extends DataSource {
  /** Where the scheduler has put the object already; the agent proves it, unpacks it and removes it. */
  delivered?: string;
}

/** The software of a job as the agent sees it. */
export interface OrderedEnvironment extends Pick<Environment, 'image' | 'python' | 'unpacker'> {
  /** Archive of pixi-pack, unpacked and activated before anything of the user's runs. */
  pack?: OrderedData;
  /** File with the token that the plugin fetches the image with. */
  imageToken?: string;
  /** Environment that Pixi installs in its workspace, on the machine where that is. */
  workspace?: OrderedWorkspace;
  /** Why the machine's own software is used instead of the one that was asked for. */
  fallback?: string;
}

export interface OrderedWorkspace {
  /** Absolute path. */
  manifest: string;
  environment: string;
}

/** What an attempt must know of what is done about failures. */
export interface OrderedRecovery {
  attempts: number;
  failedJobs?: number;
  /** Seconds: the first wait, and the longest. */
  initialBackoff: number;
  maxBackoff: number;
}

/**
 * What one attempt is told to do: the only thing the agent reads. Paths are absolute on the machine where the
 * attempt runs. It never holds a token, only the path of a token's file.
 */
export interface WorkOrder extends CachePreferences {
  version: 1;
  run: string;
  job: Job;
  /** From 1. */
  attempt: number;
  /** The first attempt waits for its eviction during the transfer. */
  isRehearsal?: boolean;
  /** Attempts that other jobs of the scheduler made for this one: those it counts itself come after them. */
  attemptsBefore?: number;
  data: OrderedData[];
  environment: OrderedEnvironment;
  resources: Resources;
  recovery?: OrderedRecovery;
  /** Folder that holds `train.files`. */
  filesFrom: string;
  /** Folder in which the attempt makes its own scratch folder, and leaves nothing. */
  scratchParent: string;
  /** Folder in which the outputs appear, all at once. */
  resultsTo: string;
  /** The attempt's own folder: journal, claim and logs are written here under the names of `layout.ts`. */
  attemptFolder: string;
  /** Folder of the notes that the attempts of the run share, where it is on the machine of the attempt. */
  notesFolder?: string;
  /** No order has it: the agent finds it in its sandbox. */
  brought?: DeliveredObject[];
  /** How often figures are told to the access point while the attempt runs, where there is a way. */
  liveSeconds?: number;
}
