import type { PoolName } from './spec.ts';
import { sbatchLines, submitFileLines, type PoolLines } from './submit-lines.ts';

/** How pools differ, as data: code that depends on a difference checks its trait, never a pool's name. */
export interface PoolTraits {
  /** As its users call it. */
  title: string;
  /** Jobs run on this machine; elsewhere a scheduler queues them for other machines. */
  runsHere: boolean;
  /** A supervisor process brings the run to its end; elsewhere the scheduler does. */
  supervises: boolean;
  /** Workers see the folders of this machine. */
  sharesFolder: boolean;
  /** A job may have several nodes. */
  hasNodes: boolean;
  /** The scheduler fetches data itself, with transfer plugins. */
  hasPlugins: boolean;
  /** An image is fetched once to this machine for all jobs; elsewhere each job has its own copy on its disk. */
  needsImageHere: boolean;
  /** Programs that the agent needs in an image to start. */
  imageTools: readonly string[];
  /** The scheduler prefers one of several free slots by what the job says of them. */
  ranksSlots: boolean;
  /** What `[pool.submit]` may contain. */
  submitLines: PoolLines;
}

export const poolTraits: Record<PoolName, PoolTraits> = {
  local: {
    title: 'this machine',
    runsHere: true,
    supervises: true,
    sharesFolder: true,
    hasNodes: false,
    hasPlugins: false,
    needsImageHere: true,
    imageTools: [],
    ranksSlots: false,
    submitLines: submitFileLines,
  },
  condor: {
    title: 'HTCondor',
    runsHere: false,
    supervises: false,
    sharesFolder: false,
    hasNodes: false,
    hasPlugins: true,
    needsImageHere: false,
    imageTools: ['gzip'],
    ranksSlots: true,
    submitLines: submitFileLines,
  },
  slurm: {
    title: 'Slurm',
    runsHere: false,
    supervises: false,
    sharesFolder: true,
    hasNodes: true,
    hasPlugins: false,
    needsImageHere: true,
    imageTools: [],
    ranksSlots: false,
    submitLines: sbatchLines,
  },
};
