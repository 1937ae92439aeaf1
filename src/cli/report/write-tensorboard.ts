import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { removeTree, replaceFile } from '@updraft/base/disk';
import { jobLabel } from '@updraft/account/parameters';
import {
  agentJournals,
  type Curve,
  CurveStitcher,
  eachProgress,
  type JobState,
  type TrainingPoint,
} from '@updraft/account/journal';
import { readRunState } from '../../run/run-states.ts';
import { crc32cOf } from '@updraft/pelican/transfer';
import { cannotWrite } from '../write-named.ts';

/** Writes, or replaces, curves for TensorBoard: a folder per job, named by what differs. Returns how many there are. */
export async function writeTensorboard(runFolder: string, target: string): Promise<number> {
  const { jobs } = await readRunState(runFolder);
  const names = new Map(jobs.map(({ id, name }) => [id, name]));
  const earlier = Map.groupBy(await readdir(target).catch(() => []), (name) => name.split(' ', 1)[0]);
  let written = 0;
  for (const [job, journals] of Map.groupBy(await agentJournals(runFolder), (one) => one.job)) {
    const curve = await readCurve(
      journals.toSorted((a, b) => a.attempt - b.attempt),
      jobs[0],
    );
    if (curve.startedAt === undefined) continue;
    const seconds = String(Math.floor(curve.startedAt / 1000)).padStart(10, '0');
    const [folder, file] = [folderName(job, names.get(job)), `events.out.tfevents.${seconds}.updraft`];
    await writeWhole(path.join(target, folder, file), curve.content);
    for (const old of earlier.get(job) ?? [])
      if (old !== folder) await removeRenamed(path.join(target, old), file);
    written += 1;
  }
  return written;
}

/** The attempts as one curve: one that resumes replaces what an earlier one did past its checkpoint. */
async function readCurve(journals: readonly { path: string }[], run?: JobState): Promise<EventFile> {
  const stitcher = new CurveStitcher(run?.percentages);
  const curve = new EventFile();
  for (const journal of journals) await eachProgress(journal.path, (entry) => stitcher.add(entry, curve));
  return curve;
}

/** TensorBoard shows the folder's name: `0003 lr=0.1 seed=2`. */
const folderName = (id: string, name: string | undefined): string =>
  jobLabel(id, name)
    .replaceAll(/[^\p{L}\p{N} ._=+-]/gu, '_')
    .slice(0, 120);

/** Removes a folder with this curve alone: it has the job's former name, and TensorBoard would show it twice. */
async function removeRenamed(folder: string, file: string): Promise<void> {
  const files = await readdir(folder).catch(() => []);
  if (files.length === 1 && files[0] === file) await removeTree(folder);
}

async function writeWhole(file: string, content: Buffer): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await replaceFile(file, content);
  } catch (error) {
    throw cannotWrite(file, error, 'name a folder that you can write to');
  }
}

/** TensorBoard's records, each a protocol buffer with checksums, in one buffer: objects would take most of the time. */
export class EventFile implements Curve {
  #bytes = Buffer.allocUnsafe(1 << 16);
  #end = 0;
  /** Each point, and where it begins. */
  readonly #points: { point: TrainingPoint; at: number }[] = [];
  /** What goes before the value of each metric. */
  readonly #prefixes = new Map<string, Buffer>();

  /** The time of the first point, in milliseconds since the epoch. */
  startedAt: number | undefined;

  add(point: TrainingPoint): void {
    const { at, step, metrics } = point;
    if (this.startedAt === undefined) this.#record(at, text(3, 'brain.Event:2'), {});
    this.startedAt ??= at;
    let bytes = 0;
    for (const name in metrics) bytes += this.#prefixOf(name).length + 4;
    this.#points.push({ point, at: this.#end });
    const whole = Math.min(Math.max(0, Math.round(step)), Number.MAX_SAFE_INTEGER);
    this.#record(at, [2 * 8, ...varint(whole), 5 * 8 + 2, ...varint(bytes)], metrics, bytes);
  }

  /** Forgets points at this step or later that were added last. */
  cutFrom(step: number): void {
    this.#cut(this.#points.findLastIndex(({ point }) => point.step < step) + 1);
  }

  forget(metrics: readonly string[], step: number): void {
    for (const { point } of this.#cut(this.#points.findLastIndex((one) => one.point.step < step) + 1)) {
      const kept = Object.entries(point.metrics).filter(([name]) => !metrics.includes(name));
      if (kept.length > 0) this.add({ ...point, metrics: Object.fromEntries(kept) });
    }
  }

  #cut(from: number): { point: TrainingPoint; at: number }[] {
    const cut = this.#points.splice(from);
    this.#end = cut[0]?.at ?? this.#end;
    return cut;
  }

  /** Valid until the next change. */
  get content(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  #prefixOf(name: string): Buffer {
    const known = this.#prefixes.get(name);
    if (known !== undefined) return known;
    const tag = text(1, name);
    const prefix = Buffer.from([1 * 8 + 2, ...varint(tag.length + 5), ...tag, 2 * 8 + 5]);
    this.#prefixes.set(name, prefix);
    return prefix;
  }

  /** Length, its checksum, the data (time, these fields, the metrics), and its checksum. */
  #record(at: number, fields: readonly number[], metrics: TrainingPoint['metrics'], metricBytes = 0): void {
    const from = this.#end;
    const length = 9 + fields.length + metricBytes;
    if (from + length + 16 > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes], 2 * this.#bytes.length + length);
    const bytes = this.#bytes;
    bytes.writeUInt32LE(length, from);
    bytes.writeUInt32LE(0, from + 4);
    bytes.writeUInt32LE(maskedCrc(bytes.subarray(from, from + 8)), from + 8);
    bytes[from + 12] = 1 * 8 + 1;
    let end = bytes.writeDoubleLE(at / 1000, from + 13);
    for (const field of fields) bytes[end++] = field;
    for (const name in metrics) {
      const prefix = this.#prefixOf(name);
      bytes.set(prefix, end);
      end = bytes.writeFloatLE(metrics[name] ?? NaN, end + prefix.length);
    }
    this.#end = bytes.writeUInt32LE(maskedCrc(bytes.subarray(from + 12, end)), end);
  }
}

// The wire format of protocol buffers: the number of a field times 8 plus how it is written, then its value.
const text = (field: number, value: string): number[] => {
  const bytes = Buffer.from(value);
  return [field * 8 + 2, ...varint(bytes.length), ...bytes];
};

/** Seven bits per byte, the lowest first. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}

/** CRC-32C, rotated and shifted, so that a checksum of data with checksums in it is no fixed point. */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32cOf(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa2_82_ea_d8) >>> 0;
}
