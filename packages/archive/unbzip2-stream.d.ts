/** The library's block decoder; its public stream collects a block as an array of numbers and accepts no padding. */
declare module '@openpgp/unbzip2-stream/lib/bzip2.js' {
  /** Reads `count` bits; null skips to the next byte boundary. */
  type Bits = (count: number | null) => number;
  const bzip2: {
    /** Returns the block size in units of 100,000 bytes. */
    header(bits: Bits): number;
    /** Decodes one block and returns the checksum so far; null at the end of the stream. */
    decompress(
      bits: Bits,
      put: (byte: number) => void,
      work: Int32Array,
      size: number,
      checksum: number | null,
    ): number | null;
  };
  export default bzip2;
}
