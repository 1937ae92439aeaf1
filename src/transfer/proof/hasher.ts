/** A running digest; its `hex` may be asked for once. */
export interface Hasher {
  update(chunk: Buffer): void;
  hex(): string;
}
