import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '@updraft/base';
import { stateFolder } from '@updraft/base/user-folders';

/** What this machine has for attempts. */
export interface Machine {
  cpus: number;
  memoryBytes: number;
  /** As CUDA_VISIBLE_DEVICES names them. */
  gpus: string[];
}

/** The CPUs, memory and GPUs that this process may use, within the limits of its container or affinity mask. */
export async function detectMachine(env: Env): Promise<Machine> {
  return { cpus: os.availableParallelism(), memoryBytes: await usableMemory(), gpus: await usableGpus(env) };
}

async function usableMemory(): Promise<number> {
  const limits = await Promise.all(
    ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'].map(async (file) => {
      const limit = Number(await readFile(file, 'utf8').catch(() => ''));
      return limit > 0 ? limit : Number.POSITIVE_INFINITY; // `max` and a missing file set no limit
    }),
  );
  return Math.min(os.totalmem(), ...limits);
}

async function usableGpus(env: Env): Promise<string[]> {
  const query = ['--query-gpu=index,uuid', '--format=csv,noheader'];
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', query, { env: { ...env }, timeout: 20_000 });
    return visibleGpus(stdout, env['CUDA_VISIBLE_DEVICES']);
  } catch {
    return []; // no driver, no GPU
  }
}

/** GPUs by UUID from nvidia-smi's `index, uuid` lines, without those that the user's CUDA_VISIBLE_DEVICES hides. */
export function visibleGpus(listing: string, visible: string | undefined): string[] {
  const gpus = listing
    .split('\n')
    .map((line) => line.split(',').map((field) => field.trim()))
    .flatMap(([index, uuid]) => (uuid !== undefined && /^GPU-/.test(uuid) ? [{ index, uuid }] : []));
  if (visible === undefined) return gpus.map(({ uuid }) => uuid);
  return visible.split(',').flatMap((wanted) => {
    const gpu = gpus.find(({ index, uuid }) => index === wanted.trim() || uuid === wanted.trim());
    return gpu === undefined ? [] : [gpu.uuid];
  });
}

/** Where this user's runs record what they use of this machine; by host name, as homes are often shared. */
export const localPoolFolder = (env: Env): string => path.join(stateFolder(env), 'local-pool', os.hostname());
