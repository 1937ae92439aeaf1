import type { ArchiveKind } from '../base/archive-kinds.ts';

/** What came out of an archive. */
export interface Unpacked {
  /** Regular files, each hard link counted as one; folders and symbolic links are not counted. */
  files: number;
  /** Bytes in those files. */
  bytes: number;
  /** What the archive turned out to be, whatever its name says. */
  kind: ArchiveKind;
  /**
   * Whether the archive said that it was over. A tar cut exactly between two entries looks like one whose
   * writer left the end blocks out, and a zeroed tail looks like the end blocks: only a digest or a manifest
   * can tell.
   */
  ended: 'end-blocks' | 'no-end-blocks';
}

/**
 * Bytes in, files out, while they arrive. A chunk belongs to the caller again as soon as `write` returns (or
 * its promise resolves), so it may be a reused buffer.
 */
export interface Unpacker {
  write(chunk: Buffer): void | Promise<void>;
  /** The archive is complete: everything appears under the target folder, or a Fault says what is wrong. */
  finish(): Promise<Unpacked>;
  /** Removes all that was written so far. Safe to call at any moment, also twice. */
  abort(): Promise<void>;
}
