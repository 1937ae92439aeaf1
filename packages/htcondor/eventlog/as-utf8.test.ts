import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asUtf8 } from './log-text.ts';

async function read(...pieces: Buffer[]): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const piece of asUtf8(ReadableStream.from(pieces))) parts.push(piece);
  return Buffer.concat(parts).toString('utf8');
}

test('text in UTF-16 is read in either byte order, also if a character is cut in two; other bytes pass through', async () => {
  const text = '000 (1.000.000) ä 🙂\n...\n';
  const little = Buffer.from(`\ufeff${text}`, 'utf16le');
  const big = Buffer.from(little).swap16();
  for (const bytes of [little, big, little.subarray(2), big.subarray(2)])
    assert.equal(await read(bytes.subarray(0, 37), bytes.subarray(37)), text);
  assert.equal(await read(Buffer.from(text)), text);
});
