/** Ways to deliver an environment to the worker. */
export const deliveries = ['pack', 'container', 'install'] as const;
export type Delivery = (typeof deliveries)[number];

/** What an environment needs on a worker, in bytes. */
export interface EnvironmentSize {
  /** Peak disk usage, before any data is there. */
  peakDisk: number;
  /** Disk usage while the training runs. */
  keptDisk: number;
  /** Memory needed to set it up. */
  memory: number;
  why: string;
}

/** Size of unpacked conda packages relative to packed ones. */
const unpackedTimes = 2.5;
/** Size of a squashed image relative to its packages. */
const imageTimes = 1.2;
/** Packages are unpacked in parallel, each with a decompression window. */
const unpackMemory = 4e9;

/**
 * The disk and memory that an environment needs. The agent splits a self-extracting archive as it arrives, so the
 * archive is on disk once, and its packages a second time while they are unpacked.
 */
export function sizeEnvironment(
  packageBytes: number,
  delivery: Delivery,
  show: (bytes: number) => string,
): EnvironmentSize {
  if (delivery === 'container') {
    const image = Math.round(packageBytes * imageTimes);
    return {
      peakDisk: image,
      keptDisk: image,
      memory: 0,
      why: `an image of about ${show(image)}, used without unpacking`,
    };
  }
  // It is in the workspace, where Pixi keeps it for all runs.
  if (delivery === 'install')
    return { peakDisk: 0, keptDisk: 0, memory: 0, why: 'installed by Pixi in its workspace' };
  const unpacked = Math.round(packageBytes * unpackedTimes);
  return {
    peakDisk: 2 * packageBytes + unpacked,
    keptDisk: unpacked,
    memory: unpackMemory,
    why: `archive ${show(packageBytes)} + its packages ${show(packageBytes)} + unpacked ${show(unpacked)} (estimated at ${unpackedTimes} times)`,
  };
}
