import { createHash, randomFillSync } from 'node:crypto';
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A new folder in memory (`/dev/shm`) or on the disk of the temporary folder; removed when the process ends. */
export function scratchFolder(where: 'memory' | 'disk'): string {
  const parent = where === 'memory' ? '/dev/shm' : os.tmpdir();
  const folder = mkdtempSync(path.join(parent, 'updraft-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  return folder;
}

const pieceBytes = 1 << 20;

/** Writes incompressible random bytes, and returns their SHA-256. */
export function writeRandomFile(file: string, mebibytes: number): string {
  const hash = createHash('sha256');
  const piece = Buffer.allocUnsafe(pieceBytes);
  const fd = openSync(file, 'wx');
  for (let index = 0; index < mebibytes; index++) {
    randomFillSync(piece);
    hash.update(piece);
    writeSync(fd, piece);
  }
  closeSync(fd);
  return hash.digest('hex');
}

export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(file, { highWaterMark: pieceBytes })) hash.update(part as Buffer);
  return hash.digest('hex');
}
