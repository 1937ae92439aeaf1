import type { SourceLine } from '@updraft/base';
import type { Plan } from '../job/plan.ts';
import type { SecretFound } from '../job/secrets.ts';
import type { JobCode, NamedFile, Uses } from './code/read-code.ts';

/** Where a key of the job file was written. */
export type Where = (...key: string[]) => SourceLine;

/** A plan, with sizes from the servers filled in; its disk is what will be requested. */
export interface PlanFacts {
  plan: Plan;
  where: Where;
  /** Undefined for pools without limits. */
  limits: PlanLimits | undefined;
  /** The image, if it is a local file or folder that is sent with every job; a folder counts as 0 bytes. */
  image?: { path: string; isThere: boolean; bytes: number } | undefined;
  registry?: ImageFact | undefined;
  /** Size of an image that every job fetches by its URL. */
  fetchedImageBytes?: number;
}

/** What a registry answers to somebody without a login. */
export interface ImageFact {
  url: string;
  host: string;
  /** 200; 404 if it has no such image; 401 or 403 if it does not say. */
  status: number;
}

/** One object, with the answers of every server that the federation names for it. */
export interface ObjectFact {
  /** `data.train`, or the line of a submit description. */
  label: string;
  url: string;
  place: SourceLine | undefined;
  servers: ServerFact[];
  /** What the job file or the manifest declares. */
  declared: { bytes?: number; sha256?: string; by?: string };
  /** Whether size, hash or manifest is declared. */
  isProven: boolean;
  /** Why it cannot be used: from its first bytes, its manifest, or the shards or files that it names. */
  archiveProblem?: { message: string; fix?: string };
  /** Of all shards that it names. */
  bytes?: number;
  /** Of shards on demand: the disk for them, and the size of the largest. */
  keep?: { bytes: number; largest: number };
}

export interface ServerFact {
  host: string;
  kind: 'cache' | 'origin' | 'plain';
  /** HTTP status; undefined if there was no answer. 504 means that a cache has no copy. */
  status?: number;
  /** Why there was no answer, if that is known: `example.org refuses connections`. */
  silence?: string;
  /** The name of the server, or of one that it redirects to, is not in DNS. */
  unknownHost?: string;
  bytes?: number;
  /** How much of the object a cache has. */
  copy?: 'whole' | 'part' | 'none' | 'unknown';
  /** By algorithm, in hex. */
  digests?: Partial<Record<string, string>>;
}

/** About the token that one object would be fetched with, without the token itself. */
export interface TokenFact {
  label: string;
  place: SourceLine | undefined;
  /** Milliseconds since the epoch; undefined if the token does not state it. */
  expires?: number;
  /** Why there is no valid token. */
  problem?: { message: string; fix: string };
}

/** A condition of a job on machines, as the user wrote it. */
export interface SlotCondition {
  /** As in the job file, like `memory = "16 GB"`. */
  words: string;
  place: SourceLine | undefined;
}

/** One machine of the pool. */
export interface SlotFact {
  name: string;
  /** For each condition: whether the machine meets it when it is idle. */
  meets: boolean[];
  /** Whether the job fits beside what runs there now. */
  fitsNow: boolean;
}

export interface SlotFacts {
  conditions: SlotCondition[];
  slots: SlotFact[];
  /** The maximum of all slots, for messages. */
  largest: { memoryBytes: number; diskBytes: number };
  /** HTCondor cannot parse the user's `requirements`, so nothing else could be asked. */
  isUnreadable?: boolean;
}

/** What the software that the job will run in contains. */
export interface SoftwareFact {
  /** `the image x.sif`, `this machine`. */
  where: string;
  isImage: boolean;
  tools: ReadonlySet<string>;
  /** The interpreter that was asked; undefined if there is none. */
  python?: { path: string; has: ReadonlySet<string>; versions: ReadonlyMap<string, string> };
  /** CUDA version of PyTorch, or `none` for a build without CUDA. */
  cuda?: string;
}

export interface CodeFacts {
  code: JobCode;
}
export interface ObjectFacts {
  objects: readonly ObjectFact[];
}
export interface SoftwareFacts {
  /** What the job needs but does not send. */
  uses: Uses;
  software: SoftwareFact | undefined;
  versions?: VersionFact | undefined;
}

/** Where the folder's description of its software asks for other versions than the job will have. */
export interface VersionFact {
  /** `requirements.txt` */
  file: string;
  /** `on this machine (/usr/bin/python3)`, `in pixi.lock` */
  where: string;
  unmet: readonly { name: string; spec: string; has: string }[];
}

export interface SecretFacts {
  /** The secrets of [train.secrets] as they were found; rules must not read the values. */
  secrets: readonly SecretFound[];
}

/** What Python says against a file. */
export interface SyntaxFact {
  file: string;
  line: number;
  /** Like `SyntaxError: invalid syntax`. */
  said: string;
  /** The line, and a caret below it. */
  excerpt: readonly string[];
  /** The version that was asked. */
  python: string;
  /** The job's Python is not newer than the one that was asked. */
  isCertain: boolean;
}

/** What this machine shows about the files of a job. */
export interface HereFacts {
  here: {
    /** Of the paths that the code names, those that exist here. */
    existing: ReadonlySet<string>;
    /** Files sent that nobody may execute, and that are no programs, which become executable as they are sent. */
    notExecutable: ReadonlySet<string>;
    syntax: readonly SyntaxFact[];
    /** Files of the job file's folder that the job names but does not send. */
    unsent?: readonly NamedFile[];
    folder?: FolderFact;
  };
}

/** The folder that the run and its results are kept in. */
export interface FolderFact {
  path: string;
  /** Why it cannot be written. */
  unwritable: string | undefined;
}

/** Everything that the rules about a plan may use, gathered beforehand: rules only compute. */
export interface Facts extends PlanFacts, CodeFacts, ObjectFacts, SoftwareFacts, SecretFacts, HereFacts {
  tokens: readonly TokenFact[];
  slots: SlotFacts | undefined;
  now: number;
}

/** Limits of a pool that a plan can exceed. Sizes in bytes, times in seconds. */
export interface PlanLimits {
  /** The name that its users know. */
  title: string;
  /** Max input from the access point per job; jobs with more are held. */
  nativeInputBytes?: number;
  /** A larger file belongs in the federation. */
  nativeFileBytes?: number;
  /** Caches serve objects up to this size well; beyond `maxObjectBytes`, the staff must be asked. */
  recommendedObjectBytes?: number;
  maxObjectBytes?: number;
  /** Classes of running time, the shortest first; the pool holds jobs that take longer. */
  durations?: DurationClass[];
  /** For jobs with GPUs, if these have their own classes. */
  gpuDurations?: DurationClass[];
  /** Requests that it cannot meet, like `gpus = 1 (it has 0)`. */
  lacks?: readonly string[];
  /** The pool accounts by project and wants its name. */
  wantsProject: boolean;
  /** Running jobs cannot share notes: the rungs of a search are rounds. */
  sharesNoNotes?: boolean;
  /** Sentences of its staff for those who submit there. */
  advice?: readonly string[];
}

export interface DurationClass {
  name: string;
  seconds: number;
}

/** The classes for a job with or without GPUs; empty if the pool has none. */
export const durationClasses = (
  { durations, gpuDurations }: Pick<PlanLimits, 'durations' | 'gpuDurations'>,
  gpus: number,
): DurationClass[] => (gpus > 0 && gpuDurations !== undefined ? gpuDurations : durations) ?? [];
