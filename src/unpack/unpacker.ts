/** What came out of an archive. */
export interface Unpacked {
  files: number;
  bytes: number;
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
