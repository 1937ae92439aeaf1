import { type DigestName, Digester, isDigestName } from './digests.ts';

/** An object on a server, open for reading. */
export interface StoredObject extends AsyncDisposable {
  size: number;
  etag: string;
  modified: Date;
  /** Value of the Age header, in seconds; in plain mode 0 on a miss. */
  age: number | undefined;
  /** Whether this server is a cache. */
  isCached: boolean;
  /** Reads up to a full buffer from `position`, waiting for bytes still in transfer; 0 only at the end. */
  read(buffer: Buffer, position: number): Promise<number>;
}

/** Another object under the same name: same length, but all bytes and the ETag differ. */
export function changedObject(object: StoredObject): StoredObject {
  return {
    ...facade(object),
    etag: object.etag.replace(/"$/, '-changed"'),
    async read(buffer, position) {
      const length = await object.read(buffer, position);
      for (let index = 0; index < length; index += 1) buffer[index] = (buffer[index] ?? 0) ^ 0x5a;
      return length;
    },
  };
}

/** The object as if it were `by` bytes longer (padded with zeros) or shorter. */
export function resizedObject(object: StoredObject, by: number): StoredObject {
  const size = Math.max(0, object.size + by);
  return {
    ...facade(object),
    size,
    async read(buffer, position) {
      const wanted = buffer.subarray(0, Math.max(0, Math.min(buffer.length, size - position)));
      if (position < object.size) return object.read(wanted, position);
      wanted.fill(0);
      return wanted.length;
    },
  };
}

function facade(object: StoredObject): StoredObject {
  const { size, etag, modified, age, isCached } = object;
  return {
    size,
    etag,
    modified,
    age,
    isCached,
    read: (buffer, position) => object.read(buffer, position),
    [Symbol.asyncDispose]: () => object[Symbol.asyncDispose](),
  };
}

const pieceBytes = 1 << 20;

/** The supported algorithms of a Want-Digest header such as `md5,crc32c;q=0.5,sha`. */
export function wantedDigests(header: string | string[] | undefined): DigestName[] {
  const asked = [header ?? []].flat().join(',').toLowerCase().split(',');
  return asked.map((item) => item.split(';')[0]?.trim() ?? '').filter(isDigestName);
}

/** Reads the complete object and returns the value of its Digest header. */
export async function digestOf(object: StoredObject, algorithms: DigestName[]): Promise<string> {
  const digests = new Digester(algorithms);
  const buffer = Buffer.allocUnsafe(pieceBytes);
  for (let position = 0; position < object.size;) {
    const length = await object.read(buffer, position);
    if (length === 0) throw new Error('the object ended early');
    digests.update(buffer.subarray(0, length));
    position += length;
  }
  return digests.value();
}
