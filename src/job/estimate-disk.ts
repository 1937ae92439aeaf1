import { archiveKind, archiveKinds } from '../base/archive-kinds.ts';
import type { EnvironmentSize } from '../environment/size-environment.ts';
import { poolTraits } from './pool-traits.ts';
import type { DataSource, Spec } from './spec.ts';
import { formatSize } from './units.ts';

/** Room for logs, outputs and checkpoints, whose size nobody declares. */
const headroom = 1e9;
/** Taken for an object whose size the job file does not say. */
const unknownObject = 10e9;

/** Taken for an image that is fetched: those of PyTorch with CUDA have 3 to 8 GB. */
const unknownImage = 8e9;

/** Disk that one job needs, and how the figure comes about. */
export function estimateDisk(
  asked: number | 'auto',
  data: readonly DataSource[],
  sentBytes: number,
  software?: Pick<EnvironmentSize, 'peakDisk' | 'keptDisk' | 'why'>,
  /** By the name of the data, of files of this machine. */
  bytesHere: ReadonlyMap<string, number> = new Map(),
): { bytes: number; why: string } {
  if (asked !== 'auto') return { bytes: asked, why: 'the job file says so' };
  const parts = [`${formatSize(headroom)} for outputs, checkpoints and logs`];
  if (sentBytes > 0) parts.push(`${formatSize(sentBytes)} of files`);
  let dataBytes = 0;
  for (const source of data) {
    const need = onDisk(source, source.expect.bytes ?? bytesHere.get(source.name));
    dataBytes += need.bytes;
    parts.push(`${formatSize(need.bytes)} for data.${source.name} (${need.why})`);
  }
  const { peakDisk, keptDisk, why } = software ?? { peakDisk: 0, keptDisk: 0, why: '' };
  // The software is there before data comes: what only unpacking it took is free again by then.
  const beside = Math.max(peakDisk, keptDisk + dataBytes) - dataBytes;
  if (software !== undefined) parts.push(`${formatSize(beside)} for the software (${why})`);
  return { bytes: headroom + sentBytes + dataBytes + beside, why: parts.join(' + ') };
}

/** The room of an image of which no lock tells what is in it. */
export function imageDisk({ environment, run }: Spec, bytesHere = 0): Parameters<typeof estimateDisk>[3] {
  const isFetched = environment.image?.includes('://') === true;
  const bytes = isFetched ? unknownImage : bytesHere;
  // Where it is kept once, for all jobs, it takes no room of a job.
  if (poolTraits[run.pool].needsImageHere || bytes === 0) return undefined;
  return { peakDisk: bytes, keptDisk: bytes, why: isFetched ? 'its image, assumed' : 'its image' };
}

function onDisk(
  { unpack, method, url }: DataSource,
  packed: number | undefined,
): { bytes: number; why: string } {
  if (packed === undefined)
    return { bytes: unknownObject, why: 'assumed; say its size with expect.bytes, or set resources.disk' };
  if (unpack === 'none') return { bytes: packed, why: 'as it is' };
  const kind = archiveKinds.find((each) => each === unpack) ?? archiveKind(url) ?? 'tar';
  const growth = kind === 'tar' ? 1 : 3;
  // A stream never lies on the disk as an archive; the plugin's file does until it is unpacked.
  const archive = method === 'osdf' || method === 'native' ? packed : 0;
  const unpacked = growth === 1 ? 'unpacked' : `unpacked, taken as ${growth} times ${formatSize(packed)}`;
  return {
    bytes: packed * growth + archive,
    why: archive > 0 ? `${unpacked}, beside its archive` : unpacked,
  };
}
