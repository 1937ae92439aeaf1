type Decoder = InstanceType<typeof TextDecoder>;

/** The same text in UTF-8: PowerShell writes files in UTF-16, most with a byte-order mark. */
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

function decoderFor(beginning: Uint8Array): Decoder | undefined {
  const [first, second] = beginning;
  const half = Math.min(beginning.length, 4096) / 2;
  const zeros: [even: number, odd: number] = [0, 0];
  for (let at = 0; at < half * 2; at++) if (beginning[at] === 0) zeros[at % 2 === 0 ? 0 : 1] += 1;
  // Without a mark, every second byte of English text is zero, and only those.
  const isUnmarked = half > 8 && Math.max(...zeros) > half * 0.9 && Math.min(...zeros) < half * 0.1;
  if ((first === 0xff && second === 0xfe) || (isUnmarked && zeros[1] > zeros[0]))
    return new TextDecoder('utf-16le');
  return isUnmarked || (first === 0xfe && second === 0xff) ? new TextDecoder('utf-16be') : undefined;
}
