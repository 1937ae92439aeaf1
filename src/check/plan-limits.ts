/** Customs and limits of a pool that a plan can break. Sizes in bytes, times in seconds. */
export interface PlanLimits {
  /** As its users call it. */
  title: string;
  /** Most that the scheduler sends from the access point for one job; more is held. */
  nativeInputBytes?: number;
  /** From here on a file of its own belongs into the federation. */
  nativeFileBytes?: number;
  /** Objects up to this size are welcome in caches; beyond `mostObjectBytes` the staff wants to be asked. */
  goodObjectBytes?: number;
  mostObjectBytes?: number;
  /** Classes of how long a job may take, the shortest first; the pool holds what takes longer. */
  durations?: DurationClass[];
  /** For jobs with GPUs, where these have classes of their own. */
  gpuDurations?: DurationClass[];
  /** More GPUs than this in a job are hard to get. */
  goodGpus?: number;
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
