import { archiveKind, archiveKinds, formatSize } from '@updraft/base';
import type { EnvironmentSize } from '../environment/describe-environment.ts';
import { heldBytes, isOnDemand } from './on-demand.ts';
import { poolTraits } from './pool-traits.ts';
import type { DataSource, ResolvedData, Spec } from './spec.ts';

/** For logs, outputs and checkpoints, whose sizes are not declared. */
const headroom = 1e9;
/** Assumed for an object whose size the job file does not give. */
const unknownObject = 10e9;

/** Assumed for an image that is downloaded: those with PyTorch and CUDA have 3 to 8 GB. */
const unknownImage = 8e9;

/** The disk that one job needs, and how it was computed. */
export function estimateDisk(
  asked: number | 'auto',
  data: readonly ResolvedData[],
  sentBytes: number,
  software?: Pick<EnvironmentSize, 'peakDisk' | 'keptDisk' | 'why'>,
): { bytes: number; why: string } {
  if (asked !== 'auto') return { bytes: asked, why: 'the job file says so' };
  const parts = [`${formatSize(headroom)} for outputs, checkpoints and logs`];
  if (sentBytes > 0) parts.push(`${formatSize(sentBytes)} of files`);
  let dataBytes = 0;
  for (const source of data) {
    const need = onDisk(source, source.expect.bytes ?? source.here?.bytes);
    dataBytes += need.bytes;
    parts.push(`${formatSize(need.bytes)} for data.${source.name} (${need.why})`);
  }
  const { peakDisk, keptDisk, why } = software ?? { peakDisk: 0, keptDisk: 0, why: '' };
  // The software is unpacked before data arrives: what only its unpacking needed is free again by then.
  const beside = Math.max(peakDisk, keptDisk + dataBytes) - dataBytes;
  if (software !== undefined) parts.push(`${formatSize(beside)} for the software (${why})`);
  return { bytes: headroom + sentBytes + dataBytes + beside, why: parts.join(' + ') };
}

/** The disk for an image without a lock file that lists its contents. */
export function imageDisk({ environment, run }: Spec, bytesHere = 0): Parameters<typeof estimateDisk>[3] {
  const isFetched = environment.image?.includes('://') === true;
  const bytes = isFetched ? unknownImage : bytesHere;
  // An image that is kept once for all jobs takes none of a job's disk.
  if (poolTraits[run.pool].needsImageHere || bytes === 0) return undefined;
  return { peakDisk: bytes, keptDisk: bytes, why: isFetched ? 'its image, assumed' : 'its image' };
}

function onDisk(source: DataSource, packed: number | undefined): { bytes: number; why: string } {
  const { unpack, method, url, keepBytes } = source;
  if (keepBytes !== undefined)
    return { bytes: heldBytes(source) ?? keepBytes, why: 'the shards that are kept' };
  if (packed === undefined)
    return { bytes: unknownObject, why: 'assumed; give its size in expect.bytes, or set resources.disk' };
  if (unpack === 'none' || isOnDemand(source)) return { bytes: packed, why: 'not unpacked' };
  const kind = archiveKinds.find((each) => each === unpack) ?? archiveKind(url) ?? 'tar';
  const growth = kind === 'tar' ? 1 : 3;
  // A stream is unpacked without a copy on disk; a file from the plugin stays until it is unpacked.
  const archive = method === 'osdf' || method === 'native' ? packed : 0;
  const unpacked = growth === 1 ? 'unpacked' : `unpacked, assumed ${growth} times ${formatSize(packed)}`;
  return { bytes: packed * growth + archive, why: archive > 0 ? `${unpacked}, plus its archive` : unpacked };
}
