import { DigestThread } from './digest-thread.ts';
import { Digests, isAlgorithm, type Algorithm } from './digests.ts';
import type { StoredObject } from './stored-object.ts';

const pieceBytes = 1 << 20;
/** What takes longer than starting a thread. */
const bigBytes = 8 << 20;

/** The algorithms of a Want-Digest header that we can answer, as in `md5,crc32c;q=0.5,sha`. */
export function wantedDigests(header: string | string[] | undefined): Algorithm[] {
  const asked = [header ?? []].flat().join(',').toLowerCase().split(',');
  return asked.map((item) => item.split(';')[0]?.trim() ?? '').filter(isAlgorithm);
}

/** Reads the whole object and gives the value of a Digest header. */
export async function digestOf(object: StoredObject, algorithms: Algorithm[]): Promise<string> {
  return await (object.size > bigBytes ? digestOfBig : digestOfSmall)(object, algorithms);
}

async function digestOfSmall(object: StoredObject, algorithms: Algorithm[]): Promise<string> {
  const digests = new Digests(algorithms);
  const buffer = Buffer.allocUnsafe(pieceBytes);
  for (let position = 0; position < object.size;) {
    const length = await read(object, buffer, position);
    digests.update(buffer.subarray(0, length));
    position += length;
  }
  return digests.value();
}

async function digestOfBig(object: StoredObject, algorithms: Algorithm[]): Promise<string> {
  await using thread = new DigestThread(algorithms, pieceBytes);
  let buffer = new ArrayBuffer(pieceBytes);
  for (let position = 0; position < object.size;) {
    const length = await read(object, Buffer.from(buffer), position);
    buffer = await thread.add({ buffer, length });
    position += length;
  }
  return await thread.value();
}

async function read(object: StoredObject, buffer: Buffer, position: number): Promise<number> {
  const length = await object.read(buffer, position);
  if (length === 0) throw new Error('the object ended early');
  return length;
}
