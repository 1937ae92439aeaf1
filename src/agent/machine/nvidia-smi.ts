import type { Env } from '../../base/env.ts';
import { askProgram } from './ask-program.ts';
import type { World } from '../world.ts';

/** A GPU as the driver's own tool tells of it. */
export interface Gpu {
  index: string;
  uuid: string;
  /** May say that the GPU is lost instead of what it is. */
  name: string;
  /** Share of the last moment in which it worked, in percent; undefined where it cannot be read. */
  percent: number | undefined;
}

/** What became of asking: it is not installed, it hangs, it complains, or it tells. */
export type SmiAnswer =
  { kind: 'absent' } | { kind: 'silent' } | { kind: 'failed'; said: string } | { kind: 'gpus'; gpus: Gpu[] };

const query = ['--query-gpu=index,uuid,name,utilization.gpu', '--format=csv,noheader,nounits'];
/** Where it lies when the PATH does not say so: containers get it mounted. */
const usualPlaces = '/usr/bin:/usr/local/nvidia/bin:/usr/local/cuda/bin';
/** A machine with eight GPUs and no persistence daemon takes some seconds. */
const patienceMs = 20_000;

export async function askNvidiaSmi(world: World): Promise<SmiAnswer> {
  const env = { ...world.env, PATH: `${world.env['PATH'] ?? ''}:${usualPlaces}` };
  const answer = await askProgram('nvidia-smi', query, { env, patienceMs }, world);
  if (answer.kind !== 'ended') return answer.kind === 'absent' ? { kind: 'absent' } : { kind: 'silent' };
  const said = answer.stdout.trim() || answer.stderr.trim();
  if (answer.status !== 0) return { kind: 'failed', said: said.split('\n')[0] ?? '' };
  return { kind: 'gpus', gpus: parseGpus(answer.stdout) };
}

export function parseGpus(listing: string): Gpu[] {
  return listing.split('\n').flatMap((line) => {
    const [index, uuid, name, used] = line.split(',').map((field) => field.trim());
    if (index === undefined || uuid === undefined || name === undefined) return [];
    const percent = used !== undefined && /^\d+$/.test(used) ? Number(used) : undefined;
    return [{ index, uuid, name, percent }];
  });
}

/** HTCondor's word for a slot that was given no GPU; the others are CUDA's own. */
const none = new Set(['', '10000', '-1', 'none', 'void', 'NoDevFiles']);

/** What this process may use, as `CUDA_VISIBLE_DEVICES` names it; undefined when nothing is said. */
export function givenGpus(env: Env): string[] | undefined {
  const text = env['CUDA_VISIBLE_DEVICES'];
  if (text === undefined) return undefined;
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !none.has(name));
}

/** The GPU that a name means: an index, the beginning of a UUID, or a part (`MIG-…`), of which any may hold it. */
export function gpuOf(name: string, gpus: Gpu[]): Gpu | undefined {
  if (name.startsWith('MIG-')) return gpus[0];
  return gpus.find(({ index, uuid }) => index === name || uuid.startsWith(name));
}
