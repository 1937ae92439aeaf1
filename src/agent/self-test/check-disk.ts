import { randomBytes } from 'node:crypto';
import { open, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Order } from '../../job/job.ts';
import { formatSize } from '../../job/units.ts';
import { diskFull } from '../scratch.ts';
import type { Check, Finding } from './finding.ts';

const probeBytes = 256 << 10;

/** Whether the disk keeps what is written to it, and has the room that the job was promised. */
export const checkDisk: Check = async ({ order, scratch }) => {
  const broken = await writeAndRead(path.join(scratch.stage, 'probe'));
  if (broken !== undefined) return [broken];
  const { bavail, bsize } = await statfs(scratch.root);
  return [judgeRoom(bavail * bsize, await stillNeeded(order), order.scratchParent)];
};

export function judgeRoom(free: number, needed: number, folder: string): Finding {
  const said = `${formatSize(free)} free in ${folder}${needed > 0 ? `, ${formatSize(needed)} needed` : ''}`;
  const fix = 'free some room there, or ask for less `disk` in [resources] if the job needs less';
  return { name: 'disk', ok: free >= needed, said, ...(free >= needed ? {} : { fix }) };
}

/** What the pool promised, or else what the data is known to take, less what lies there already. */
async function stillNeeded({ resources, data }: Order): Promise<number> {
  const { diskBytes } = resources;
  if (diskBytes === 'auto')
    return data
      .filter(({ delivered }) => delivered === undefined)
      .reduce((sum, { expect }) => sum + (expect.bytes ?? 0), 0);
  const there = await Promise.all(
    data.map(async ({ delivered }) =>
      delivered === undefined
        ? 0
        : await stat(delivered).then(
            ({ size }) => size,
            () => 0,
          ),
    ),
  );
  return Math.max(
    0,
    there.reduce((left, size) => left - size, diskBytes),
  );
}

async function writeAndRead(file: string): Promise<Finding | undefined> {
  const written = randomBytes(probeBytes);
  const finding = (said: string): Finding => ({
    name: 'disk',
    ok: false,
    said,
    fix: 'whoever runs the machine must look at its disk',
  });
  try {
    await using handle = await open(file, 'wx+', 0o600);
    await handle.writeFile(written);
    await handle.datasync();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(probeBytes), 0, probeBytes, 0);
    if (bytesRead === probeBytes && buffer.equals(written)) return undefined;
    return finding(`what was written to ${file} came back changed`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const full = code === 'ENOSPC' || code === 'EDQUOT';
    return { ...finding(message), ...(full ? { fault: diskFull(path.dirname(file), error) } : {}) };
  } finally {
    await rm(file, { force: true });
  }
}
