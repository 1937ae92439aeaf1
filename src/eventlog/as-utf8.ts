type Decoder = InstanceType<typeof TextDecoder>;

/** The same text in UTF-8: PowerShell writes files in UTF-16, which begin with a byte-order mark. */
export async function* asUtf8(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  let decoder: Decoder | undefined;
  let isFirst = true;
  for await (const piece of pieces) {
    if (isFirst) decoder = decoderFor(piece);
    isFirst = false;
    yield decoder === undefined ? piece : encoder.encode(decoder.decode(piece, { stream: true }));
  }
}

function decoderFor([first, second]: Uint8Array): Decoder | undefined {
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  return first === 0xfe && second === 0xff ? new TextDecoder('utf-16be') : undefined;
}
