/** How an environment gets to the worker. */
export const deliveries = ['pack', 'container', 'install'] as const;
export type Delivery = (typeof deliveries)[number];

/** What an environment takes of a worker, in bytes. */
export interface EnvironmentSize {
  /** Most of the disk that is taken before any data is there. */
  peakDisk: number;
  /** What stays on the disk while the training runs. */
  keptDisk: number;
  /** What bringing it up takes of the memory. */
  memory: number;
  why: string;
}

/** Conda packages hold about so much when they are unpacked. */
const unpackedTimes = 2.5;
/** An image of squashed files against the packages it was made of. */
const imageTimes = 1.2;
/** Packages are unpacked side by side, each with its decompressor's window. */
const unpackMemory = 4e9;

/**
 * The room an environment of so many bytes of packages needs. The agent takes a self-extracting archive apart as it
 * arrives, so the archive itself lies on the disk once, its packages a second time while they are unpacked.
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
  // It lies in the workspace, where Pixi keeps it for all runs.
  if (delivery === 'install')
    return { peakDisk: 0, keptDisk: 0, memory: 0, why: 'installed by Pixi in its workspace' };
  const unpacked = Math.round(packageBytes * unpackedTimes);
  return {
    peakDisk: 2 * packageBytes + unpacked,
    keptDisk: unpacked,
    memory: unpackMemory,
    why: `archive ${show(packageBytes)} + its packages ${show(packageBytes)} + unpacked ${show(unpacked)} (taken as ${unpackedTimes} times)`,
  };
}
