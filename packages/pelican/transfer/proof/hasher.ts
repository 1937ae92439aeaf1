/** A running digest; `hex` may be called once. */
export interface Hasher {
  update(chunk: Buffer): void;
  hex(): string;
}
