import type { SourceLine } from '../base/finding.ts';
import type { Plan } from '../job/plan.ts';
import type { SecretFound } from '../job/secrets.ts';
import type { JobCode } from './code/code.ts';
import type { Uses } from './code/uses.ts';

/** Where a key of the job file was written. */
export type Where = (...key: string[]) => SourceLine;

/** What is known of a plan. Sizes that the servers told are filled in; its disk is what will be asked for. */
export interface PlanFacts {
  plan: Plan;
  where: Where;
  /** Undefined on pools that have none. */
  limits: PlanLimits | undefined;
  /** The image, where it is a file or folder of this machine that is sent with every job; a folder counts no bytes. */
  image?: { path: string; isThere: boolean; bytes: number } | undefined;
  /** Of an image that every job fetches by its URL. */
  fetchedImageBytes?: number;
}

/** One object, as every server that the federation names for it tells of it. */
export interface ObjectFact {
  /** `data.train`, or the line of a submit description. */
  label: string;
  url: string;
  place: SourceLine | undefined;
  servers: ServerFact[];
  isFolder?: boolean;
  /** What the job file, or the manifest, says that it must be. */
  declared: { bytes?: number; sha256?: string; by?: string };
  /** A proof of the whole is declared: size, hash or manifest. */
  isProven: boolean;
  /** Why the manifest cannot be used. */
  manifestProblem?: string;
  /** Why it cannot be unpacked, as its first bytes show. */
  archiveProblem?: { message: string; fix?: string };
}

export interface ServerFact {
  host: string;
  kind: 'cache' | 'origin' | 'plain';
  /** HTTP status; undefined when there was no answer. 504 of a cache that was asked for its copy: it has none. */
  status?: number;
  bytes?: number;
  /** What a cache has of the object. */
  copy?: 'whole' | 'part' | 'none' | 'unknown';
  /** By algorithm, in hex. */
  digests?: Partial<Record<string, string>>;
}

/** The token that one object would be fetched with. It is never here itself. */
export interface TokenFact {
  label: string;
  place: SourceLine | undefined;
  /** Milliseconds since the epoch; undefined for one that tells no end. */
  expires?: number;
  /** Why there is none. */
  problem?: { kind: 'missing' | 'expired'; message: string; fix: string };
}

/** A condition that a job puts on machines, and how the user would know it. */
export interface SlotCondition {
  /** As the job file has it, like `memory = "16 GB"`. */
  words: string;
  place: SourceLine | undefined;
}

/** One machine of the pool. */
export interface SlotFact {
  name: string;
  /** For each condition: whether the machine meets it when nothing else runs there. */
  meets: boolean[];
  /** It would fit beside what runs there at this moment. */
  fitsNow: boolean;
}

export interface SlotFacts {
  conditions: SlotCondition[];
  slots: SlotFact[];
  /** What the slots offer, for figures. */
  largest: { memoryBytes: number; diskBytes: number };
  /** HTCondor cannot read the user's own condition, so that nothing else could be asked. */
  isUnreadable?: boolean;
}

/** What the software that the job will run in really has. */
export interface SoftwareFact {
  /** `the image x.sif`, `this machine`. */
  where: string;
  isImage: boolean;
  tools: ReadonlySet<string>;
  /** The interpreter that was asked; undefined when there is none. */
  python?: { path: string; has: ReadonlySet<string> };
  /** Of PyTorch: a version of CUDA, or `none` for a build without. */
  cuda?: string;
}

export interface CodeFacts {
  code: JobCode;
}
export interface ObjectFacts {
  objects: readonly ObjectFact[];
}
export interface SoftwareFacts {
  /** What the job needs and does not bring along. */
  uses: Uses;
  software: SoftwareFact | undefined;
}

export interface SecretFacts {
  /** What [train.secrets] names, as it was found; the values are looked at by nobody. */
  secrets: readonly SecretFound[];
}

/** All that the rules about a plan may look at; gathered before, so that the rules only compute. */
export interface Facts extends PlanFacts, CodeFacts, ObjectFacts, SoftwareFacts, SecretFacts {
  tokens: readonly TokenFact[];
  slots: SlotFacts | undefined;
  now: number;
}

/** Customs and limits of a pool that a plan can break. Sizes in bytes, times in seconds. */
export interface PlanLimits {
  /** As its users call it. */
  title: string;
  /** Most that the scheduler sends from the access point for one job; more is held. */
  nativeInputBytes?: number;
  /** From here on a file of its own belongs into the federation. */
  nativeFileBytes?: number;
  /** Objects up to this size are welcome in caches; beyond `maxObjectBytes` the staff wants to be asked. */
  recommendedObjectBytes?: number;
  maxObjectBytes?: number;
  /** Classes of how long a job may take, the shortest first; the pool holds what takes longer. */
  durations?: DurationClass[];
  /** For jobs with GPUs, where these have classes of their own. */
  gpuDurations?: DurationClass[];
  /** More GPUs than this in a job are hard to get. */
  recommendedGpus?: number;
  /** The pool accounts by project and wants its name. */
  wantsProject: boolean;
}

export interface DurationClass {
  name: string;
  seconds: number;
}

/** The classes of a job with or without GPUs; none where the pool has no such custom. */
export const durationClasses = (
  { durations, gpuDurations }: Pick<PlanLimits, 'durations' | 'gpuDurations'>,
  gpus: number,
): DurationClass[] => (gpus > 0 && gpuDurations !== undefined ? gpuDurations : durations) ?? [];
