import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const firstBytes = Buffer.from('PK\u0003\u0004', 'latin1');
/** The record at the end of a zip: 22 bytes, of which the last two are the length of the comment that follows. */
const endBytes = Buffer.from('PK\u0005\u0006', 'latin1');
const endLength = 22;
const maxComment = 0xffff;

/** Whether a file begins as a zip, as `torch.save` and `np.savez` write it, and has no end: it was cut short. */
export function isCutZip(file: string): boolean {
  const opened = openSync(file, 'r');
  const read = (from: number, length: number): Buffer => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(opened, bytes, 0, length, from));
  };
  try {
    if (!read(0, firstBytes.length).equals(firstBytes)) return false;
    const tail = read(Math.max(0, fstatSync(opened).size - endLength - maxComment), endLength + maxComment);
    for (let at = tail.lastIndexOf(endBytes); at !== -1; at = tail.subarray(0, at).lastIndexOf(endBytes))
      if (at + endLength <= tail.length && at + endLength + tail.readUInt16LE(at + 20) === tail.length)
        return false;
    return true;
  } finally {
    closeSync(opened);
  }
}
