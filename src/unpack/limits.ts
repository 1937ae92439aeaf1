import { Fault } from '../fault/fault.ts';

/** How much an archive may ask for before it is called hostile. */
export interface UnpackLimits {
  /** Files, folders and links together. */
  entries: number;
  /** Folders within each other. */
  depth: number;
  /** Bytes out for each byte in, once more than a gigabyte came out. */
  ratio: number;
  /** Symbolic links: they are made last, and kept until then. */
  links: number;
  /** Folders that are remembered; others are found on the disk again, and have their times set before the end. */
  foldersHeld: number;
}

/** ImageNet-21k has 14 million files, and deflate cannot exceed 1032 to 1. */
export const defaultUnpackLimits: UnpackLimits = {
  entries: 20_000_000,
  depth: 64,
  ratio: 1100,
  links: 500_000,
  foldersHeld: 50_000,
};

const uncheckedBytes = 2 ** 30;

/** Throws once a compressed archive has grown beyond what data does. */
export function checkRatio(archive: string, bytesIn: number, bytesOut: number, limits: UnpackLimits): void {
  if (bytesOut <= uncheckedBytes || bytesOut <= bytesIn * limits.ratio) return;
  throw new Fault(
    'archive-unsafe',
    `${archive}: ${bytesIn.toLocaleString('en-US')} compressed bytes became more than ` +
      `${bytesOut.toLocaleString('en-US')}, over ${limits.ratio} to 1: this looks like a decompression bomb`,
    {
      about: archive,
      fix: 'Look at the archive where it was made; pack data this repetitive in another way.',
    },
  );
}
