import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { asFault, Fault } from '@updraft/account/fault';
import { openUnpacker, type Unpacked, type UnpackerOptions } from '@updraft/archive';

/** The outcome of unpacking, in a form that can be compared and printed. */
export interface Outcome {
  unpacked?: Unpacked;
  tree: Record<string, string>;
  fault?: { kind: string; message: string };
  /** What is beside the target folder afterwards. */
  beside: string[];
}

/** Megabytes in pieces of one byte take half a minute, and show no more than those of a small archive. */
export const pieceSizes = (bytes: Buffer, sizes: number[]): number[] =>
  sizes.filter((size) => size > 1 || bytes.length < 1 << 20);

/** Unpacks in pieces of one size, from a buffer that is overwritten after each, and returns the outcome. */
export async function replay(
  bytes: Buffer,
  options: Omit<UnpackerOptions, 'name' | 'into'>,
  pieceSize: number,
): Promise<Outcome> {
  const root = mkdtempSync(path.join(tmpdir(), 'updraft-replay-'));
  try {
    writeFileSync(path.join(root, 'canary'), 'untouched');
    const into = path.join(root, 'into');
    const result = await unpack(bytes, { name: 'case.tar', into, ...options }, pieceSize);
    const beside = readdirSync(root).filter((name) => name !== 'into');
    if (readFileSync(path.join(root, 'canary'), 'utf8') !== 'untouched') beside.push('canary was touched');
    return { ...result, tree: treeOf(into), beside };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function unpack(
  bytes: Buffer,
  options: UnpackerOptions,
  pieceSize: number,
): Promise<Omit<Outcome, 'tree' | 'beside'>> {
  const unpacker = openUnpacker(options);
  const piece = Buffer.alloc(Math.max(1, Math.min(pieceSize, bytes.length)));
  try {
    for (let at = 0; at < bytes.length; at += piece.length) {
      const count = bytes.copy(piece, 0, at);
      const waiting = unpacker.write(piece.subarray(0, count));
      if (waiting !== undefined) await waiting;
      piece.fill(0xaa);
    }
    return { unpacked: await unpacker.finish() };
  } catch (error) {
    await unpacker.abort();
    const fault = error instanceof Fault ? error : asFault(error);
    return { fault: { kind: fault.kind, message: fault.message } };
  }
}

/** Files as their text, links as `-> target`, empty folders as `/`. */
export function treeOf(folder: string): Record<string, string> {
  const tree: Record<string, string> = {};
  const visit = (relative: string): void => {
    const full = path.join(folder, relative);
    const stat = lstatSync(full, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (stat.isSymbolicLink()) tree[relative] = `-> ${readlinkSync(full)}`;
    else if (stat.isFile()) tree[relative] = readFileSync(full, 'utf8');
    else {
      const names = readdirSync(full).sort();
      if (names.length === 0) tree[relative] = '/';
      for (const name of names) visit(path.join(relative, name));
    }
  };
  visit('');
  return tree;
}
