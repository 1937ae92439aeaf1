import type { PoolName } from './spec.ts';
import { sbatchLines, submitFileLines, type PoolLines } from './submit-lines.ts';

/** What pools differ in, as data: whoever decides by one of these asks for it, never for a pool's name. */
export interface PoolTraits {
  /** As its users call it. */
  title: string;
  /** Jobs run on this machine at once; elsewhere a scheduler queues them for others. */
  runsHere: boolean;
  /** A process of ours brings the run to its end; elsewhere the scheduler does. */
  supervises: boolean;
  /** The machines that run jobs see the folders of this one. */
  sharesFolder: boolean;
  /** The scheduler itself fetches data, by transfer plugins. */
  hasPlugins: boolean;
  /** An image is fetched once, to this machine, for all jobs; elsewhere each job has its own, as part of its disk. */
  needsImageHere: boolean;
  /** Programs that an image must have so that the agent can start in it. */
  imageTools: readonly string[];
  /** Paths are written into lines: a line break in one cannot be. */
  pathsInLines: boolean;
  /** What `[pool.submit]` may say. */
  submitLines: PoolLines;
}

export const poolTraits: Record<PoolName, PoolTraits> = {
  local: {
    title: 'this machine',
    runsHere: true,
    supervises: true,
    sharesFolder: true,
    hasPlugins: false,
    needsImageHere: true,
    imageTools: [],
    pathsInLines: false,
    submitLines: submitFileLines,
  },
  condor: {
    title: 'HTCondor',
    runsHere: false,
    supervises: false,
    sharesFolder: false,
    hasPlugins: true,
    needsImageHere: false,
    imageTools: ['gzip'],
    pathsInLines: true,
    submitLines: submitFileLines,
  },
  slurm: {
    title: 'Slurm',
    runsHere: false,
    supervises: false,
    sharesFolder: true,
    hasPlugins: false,
    needsImageHere: true,
    imageTools: [],
    pathsInLines: false,
    submitLines: sbatchLines,
  },
};
