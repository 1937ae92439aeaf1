import type { Ad } from '../classad/ad.ts';

/** Processor time. */
export interface Usage {
  userSeconds: number;
  systemSeconds: number;
}

export interface Usages {
  runRemote?: Usage;
  runLocal?: Usage;
  totalRemote?: Usage;
  totalLocal?: Usage;
}

/** What HTCondor itself moved between access point and execution point; URLs fetched by plugins are not in it. */
export interface TransferredBytes {
  runSent?: number;
  runReceived?: number;
  totalSent?: number;
  totalReceived?: number;
}

export type Termination =
  { normal: true; returnValue: number } | { normal: false; signal: number; coreFile?: string };

/** One row of the table of resources; an empty cell is a missing value. */
export interface Resource {
  /** As in `Memory`, without its unit. */
  name: string;
  /** As in `MB`, where the log gives one. */
  unit?: string;
  usage?: number;
  request?: number;
  allocated?: number;
  /** Which devices, as in the ids of GPUs. */
  assigned?: string;
}

/** A hold code and its subcode. */
export interface Code {
  code?: number;
  subcode?: number;
}

export interface SubmitDetails {
  host?: string;
  batchName?: string;
  dagNode?: string;
  /** Notes the submitter left, line by line. */
  notes: string[];
  warnings?: string;
}

export interface ExecuteDetails {
  host?: string;
  slot?: string;
  /** Resources of the slot and whatever the pool or the job asked to be written, such as `GLIDEIN_ResourceName`. */
  attributes: Ad;
}

export interface CheckpointedDetails {
  usages: Usages;
  sentBytes?: number;
}

export interface EvictedDetails extends Code {
  checkpointed: boolean;
  /** Ended by itself and put back into the queue by the job's own policy. */
  requeued: boolean;
  /** How it ended, when requeued. */
  termination?: Termination;
  reason?: string;
  usages: Usages;
  bytes: TransferredBytes;
  resources: Resource[];
}

export interface TerminatedDetails {
  termination?: Termination;
  usages: Usages;
  bytes: TransferredBytes;
  resources: Resource[];
  /** When and how the job ended by the execution point's account, in UTC; releases up to 24.7 write it. */
  ended?: EndedByItself;
}

export interface EndedByItself {
  /** Milliseconds since the epoch. */
  time: number;
  exitCode?: number;
  signal?: number;
}

export interface ImageSizeDetails {
  imageSizeKb?: number;
  memoryUsageMb?: number;
  residentSetSizeKb?: number;
  proportionalSetSizeKb?: number;
}

export interface ShadowExceptionDetails {
  message: string;
  bytes: TransferredBytes;
}

export interface AbortedDetails {
  reason?: string;
  ended?: EndedByItself;
}

export interface HeldDetails extends Code {
  reason?: string;
}

export interface ReasonDetails {
  reason?: string;
}

export interface RemoteErrorDetails extends Code {
  /** The daemon that complains, as in `starter`. */
  daemon?: string;
  host?: string;
  /** Whether it ends the attempt (an error) or not (a message). */
  critical: boolean;
  text: string;
}

export interface DisconnectedDetails {
  reason?: string;
  slot?: string;
  host?: string;
}

export interface ReconnectedDetails {
  slot?: string;
  host?: string;
  starter?: string;
}

export interface GridDetails {
  resource?: string;
  jobId?: string;
  reason?: string;
}

export interface AttributeUpdateDetails {
  name?: string;
  from?: string;
  to?: string;
}

export interface ClusterRemoveDetails {
  jobs?: number;
  items?: number;
  completion?: 'complete' | 'incomplete' | 'paused' | 'error';
  errorCode?: number;
  notes?: string;
}

export interface FactoryPausedDetails {
  reason?: string;
  pauseCode?: number;
  holdCode?: number;
}

export interface FileTransferDetails {
  direction?: 'input' | 'output';
  step?: 'queued' | 'started' | 'finished';
  queueSeconds?: number;
  host?: string;
}

/** A file or a reservation in the execution point's store of reused data. */
export interface DataReuseDetails {
  bytes?: number;
  expires?: number;
  uuid?: string;
  tag?: string;
  checksum?: string;
  checksumType?: string;
}

export interface PostScriptDetails {
  termination?: Termination;
  dagNode?: string;
}

/** The event's kind says it all. */
export type NoDetails = Readonly<Record<string, never>>;

/** What an event says beyond whose it is and when, by kind. */
export interface DetailsByKind {
  submit: SubmitDetails;
  execute: ExecuteDetails;
  'executable-error': { errorType?: number; text: string };
  checkpointed: CheckpointedDetails;
  evicted: EvictedDetails;
  terminated: TerminatedDetails;
  'image-size': ImageSizeDetails;
  'shadow-exception': ShadowExceptionDetails;
  generic: { text: string };
  aborted: AbortedDetails;
  suspended: { processes?: number };
  unsuspended: NoDetails;
  held: HeldDetails;
  released: ReasonDetails;
  'node-execute': ExecuteDetails & { node?: number };
  'node-terminated': TerminatedDetails & { node?: number };
  'post-script-terminated': PostScriptDetails;
  'globus-submit': GridDetails;
  'globus-submit-failed': GridDetails;
  'globus-resource-up': GridDetails;
  'globus-resource-down': GridDetails;
  /** For a failed transfer its code is the other side's: 12 for input, 13 for output. Believe `held` and `evicted`. */
  'remote-error': RemoteErrorDetails;
  disconnected: DisconnectedDetails;
  reconnected: ReconnectedDetails;
  'reconnect-failed': DisconnectedDetails;
  'grid-resource-up': GridDetails;
  'grid-resource-down': GridDetails;
  'grid-submit': GridDetails;
  'job-ad-information': { trigger?: number; attributes: Ad };
  'job-status-unknown': NoDetails;
  'job-status-known': NoDetails;
  'stage-in': NoDetails;
  'stage-out': NoDetails;
  'attribute-update': AttributeUpdateDetails;
  'pre-skip': { dagNode?: string };
  'cluster-submit': SubmitDetails;
  'cluster-remove': ClusterRemoveDetails;
  'factory-paused': FactoryPausedDetails;
  'factory-resumed': ReasonDetails;
  'file-transfer': FileTransferDetails;
  'reserve-space': DataReuseDetails;
  'release-space': DataReuseDetails;
  'file-complete': DataReuseDetails;
  'file-used': DataReuseDetails;
  'file-removed': DataReuseDetails;
  'dataflow-job-skipped': ReasonDetails;
  'common-files': { type?: string; text: string };
  unknown: { text: string };
}
