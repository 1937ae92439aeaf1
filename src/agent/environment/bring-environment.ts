import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { imageEntry } from '../../environment/image-recipe.ts';
import { brokenPack, checkPlatform, condaPlatform } from '../../environment/pack-metadata.ts';
import { sizeEnvironment } from '../../environment/size-environment.ts';
import { Fault } from '../../fault/fault.ts';
import type { OrderedData } from '../../job/job.ts';
import { formatSize } from '../../job/units.ts';
import { freeBytes } from '../../unpack/disk-fault.ts';
import type { Attempt } from '../attempt.ts';
import { activate, enterImage } from './activate.ts';
import { receivePack, type ReceivedPack } from './receive-pack.ts';
import { lastWords, runProgram } from './run-program.ts';

/**
 * Brings up the software that the order names as an archive of pixi-pack, before any data moves, or activates the
 * environment of the image. From the attempt it answers, everything runs in that software; the archive is gone by then.
 */
export async function bringEnvironment(attempt: Attempt): Promise<Attempt> {
  const { pack, image } = attempt.order.environment;
  const { world, scratch } = attempt;
  if (pack === undefined) {
    if (image === undefined || !existsSync(imageEntry)) return attempt;
    return { ...attempt, world: { ...world, env: await enterImage(imageEntry, image, scratch.root, world) } };
  }
  const name = pack.url.replace(/[?#].*$/, '').replace(/^.*\//, '');
  const target = path.join(scratch.root, 'software');
  // An attempt that paused finds its software where it left it.
  const whole = path.join(target, '.whole');
  if (!existsSync(whole)) {
    await unpackInto(target, pack, name, attempt);
    await writeFile(whole, '');
  }
  const env = await activate(await activationScript(target, name), name, target, world);
  return { ...attempt, world: { ...world, env } };
}

async function unpackInto(target: string, pack: OrderedData, name: string, attempt: Attempt): Promise<void> {
  const { world, scratch, note } = attempt;
  const started = world.clock.monotonic();
  const folder = path.join(scratch.stage, 'software');
  await mkdir(folder, { recursive: true });
  await mkdir(target);
  const { bytes } = pack.expect;
  if (bytes !== undefined)
    checkRoom(/\.sh$/i.test(name) ? bytes * 0.75 : bytes, 'peakDisk', name, scratch.root);
  const received = await receivePack(pack, name, folder, attempt);
  checkPlatform(received.metadata, condaPlatform(os.arch()), name);
  checkRoom(received.bytes, 'fromArchive', name, scratch.root);
  note({ kind: 'phase', phase: 'unpacking' });
  await unpack(received, name, target, attempt);
  await rm(folder, { recursive: true, force: true });
  const seconds = (world.clock.monotonic() - started) / 1000;
  note({ kind: 'environment-ready', how: `pack ${name}`, seconds, bytes: received.bytes });
}

/** A disk that will not hold it is told before the bytes are moved, with the figures. */
function checkRoom(packed: number, from: 'peakDisk' | 'fromArchive', name: string, folder: string): void {
  const { peakDisk, why } = sizeEnvironment(Math.round(packed), 'pack', formatSize);
  const need = from === 'peakDisk' ? peakDisk : peakDisk - packed;
  const free = freeBytes(folder) ?? Infinity;
  if (free >= need) return;
  throw new Fault(
    'disk-full',
    `unpacking ${name} needs ${formatSize(need)} and the disk of ${folder} has ${formatSize(free)} left (${why})`,
    { about: folder, fix: 'ask for more disk in [resources], or use the environment in an image' },
  );
}

async function unpack(
  { tar, unpacker, metadata }: ReceivedPack,
  name: string,
  target: string,
  attempt: Attempt,
): Promise<void> {
  const { order, scratch, world } = attempt;
  const program = unpacker ?? sentUnpacker(order.environment.unpacker, order.filesFrom);
  if (program === undefined)
    throw brokenPack(
      name,
      'it does not unpack itself and no pixi-unpack was sent along',
      'set `pixi_unpack` in [environment], or pack it self-extracting: updraft env pack',
    );
  // Its temporary folder lies beside the target: files are linked, not copied, and nothing lands in /tmp.
  const env = { ...world.env, TMPDIR: path.dirname(tar) };
  const ended = await runProgram([...program, '-o', target, tar], env, scratch.root, world);
  if (ended.status === 0) return;
  const madeBy = metadata.madeBy === undefined ? '' : ` (made by pixi-pack ${metadata.madeBy})`;
  throw brokenPack(name, `${path.basename(program[0])} failed on it${madeBy}: ${lastWords(ended)}`);
}

const sentUnpacker = (unpacker: string | undefined, filesFrom: string): [string] | undefined =>
  unpacker === undefined ? undefined : [path.join(filesFrom, unpacker)];

async function activationScript(target: string, name: string): Promise<string> {
  const names = await readdir(target);
  if (names.includes('activate.sh')) return path.join(target, 'activate.sh');
  throw brokenPack(name, `unpacking it left no activate.sh (there are: ${names.join(', ')})`);
}
