/** The block decoder of the library; its stream keeps every byte of a block as a number of its own. */
declare module '@openpgp/unbzip2-stream/lib/bzip2.js' {
  /** Reads so many bits; null goes on to the next whole byte. */
  type Bits = (count: number | null) => number;
  const bzip2: {
    /** Says how many times 100,000 bytes a block holds. */
    header(bits: Bits): number;
    /** Decodes one block and says the checksum so far; null where the stream is over. */
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
