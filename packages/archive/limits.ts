import { Fault } from './fault.ts';

/** What an archive may contain before it is refused as hostile. */
export interface UnpackLimits {
  /** Files, folders and links together. */
  entries: number;
  /** Nested folders. */
  depth: number;
  /** Bytes out per byte in; checked once more than 1 GiB has come out. */
  ratio: number;
  /** Symbolic links: they are made last and held in memory until then. */
  links: number;
  /** Folders held in memory; beyond that they are looked up on disk and get their times early. */
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

/** Throws once a compressed archive has expanded further than real data does. */
export function checkRatio(archive: string, bytesIn: number, bytesOut: number, limits: UnpackLimits): void {
  if (bytesOut <= uncheckedBytes || bytesOut <= bytesIn * limits.ratio) return;
  throw new Fault(
    'archive-unsafe',
    `${archive}: ${bytesIn.toLocaleString('en-US')} compressed bytes expanded to more than ` +
      `${bytesOut.toLocaleString('en-US')}, over ${limits.ratio} to 1. This looks like a decompression bomb`,
    { about: archive, fix: 'check the archive where it was made; pack data this repetitive in another way' },
  );
}
