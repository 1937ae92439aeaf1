import { isUtf8 } from 'node:buffer';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { asFault } from '@updraft/account/fault';
import { openUnpacker } from '@updraft/archive';
import { differences } from './differences.ts';
import { hangMs } from '../hang-limit.ts';

/** The outcome of an archive with Updraft and with bsdtar. */
export interface Comparison {
  name: string;
  result: 'same' | 'ours-refuses' | 'theirs-refuses' | 'trees-differ';
  /** The message of the one that refused, or where the trees differ. */
  detail: string;
  /** Why they may differ, from the list of differences. */
  reason?: string;
}

export async function compare(
  name: string,
  bytes: Buffer,
  file: string,
  bsdtar: string,
): Promise<Comparison> {
  const root = mkdtempSync(path.join(tmpdir(), 'updraft-differential-'));
  try {
    const [ours, theirs] = [path.join(root, 'ours'), path.join(root, 'theirs')];
    const refusal = await unpack(bytes, ours);
    const theirError = extract(bsdtar, file, theirs);
    return withReason(name, judge(refusal, theirError, ours, theirs));
  } finally {
    // Some trees are too deep for Node to remove.
    spawnSync('rm', ['-rf', root]);
  }
}

function withReason(name: string, found: Pick<Comparison, 'result' | 'detail'>): Comparison {
  const known = differences.find(
    (one) => one.result === found.result && one.about.test(`${name}: ${found.detail}`),
  );
  return { name, ...found, ...(known && { reason: known.reason }) };
}

function judge(
  refusal: string | undefined,
  theirError: string | undefined,
  ours: string,
  theirs: string,
): Pick<Comparison, 'result' | 'detail'> {
  if (refusal !== undefined && theirError !== undefined) return { result: 'same', detail: 'both refuse' };
  if (refusal !== undefined) return { result: 'ours-refuses', detail: refusal };
  if (theirError !== undefined) return { result: 'theirs-refuses', detail: theirError };
  const [here, there] = [listing(ours), listing(theirs)];
  const only = [
    ...here.filter((line) => !there.includes(line)).map((line) => `+${line}`),
    ...there.filter((line) => !here.includes(line)).map((line) => `-${line}`),
  ];
  return only.length === 0
    ? { result: 'same', detail: `${here.length} names` }
    : { result: 'trees-differ', detail: only.slice(0, 6).join(' ') };
}

async function unpack(bytes: Buffer, into: string): Promise<string | undefined> {
  const unpacker = openUnpacker({ name: 'archive', mode: 'auto', into });
  try {
    for (let at = 0; at < bytes.length; at += 1 << 16)
      await unpacker.write(bytes.subarray(at, at + (1 << 16)));
    await unpacker.finish();
    return undefined;
  } catch (error) {
    await unpacker.abort();
    const fault = asFault(error);
    return `${fault.kind} ${fault.message.replace(/\s+/g, ' ')}`;
  }
}

/** bsdtar's error, if any. */
function extract(bsdtar: string, file: string, into: string): string | undefined {
  mkdirSync(into);
  const flags = [
    '--no-same-owner',
    '--no-same-permissions',
    '--no-xattrs',
    '--no-acls',
    '--no-fflags',
    '--passphrase=x',
  ];
  const done = spawnSync(bsdtar, ['-x', ...flags, '-f', file, '-C', into], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
    // It must not prompt for a password.
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: hangMs,
  });
  if (done.status === 0) return undefined;
  return done.stderr.replace(/\s+/g, ' ').slice(0, 300) || `status ${String(done.status)}`;
}

/** Every file with its digest, every link with its target, every folder; names may be any bytes. */
function listing(root: string): string[] {
  const lines: string[] = [];
  const visit = (folder: Buffer, shown: string): void => {
    for (const name of readdirSync(folder, { encoding: 'buffer' })) {
      const full = Buffer.concat([folder, Buffer.from('/'), name]);
      const line = `${shown}${isUtf8(name) ? name.toString() : name.toString('latin1')}`;
      const stat = lstatSync(full);
      if (stat.isSymbolicLink()) lines.push(`${line} -> ${readlinkSync(full)}`);
      else if (stat.isFile())
        lines.push(`${line} ${stat.size > maxHashed ? stat.size : digest(readFileSync(full))}`);
      else lines.push(stat.isDirectory() ? `${line}/` : `${line} special`);
      if (stat.isDirectory()) visit(full, `${line}/`);
    }
  };
  visit(Buffer.from(root), '');
  return lines.sort();
}

/** Sparse files may have any size. */
const maxHashed = 1 << 28;
const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 12);
