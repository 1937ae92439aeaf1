import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import type { Env } from '../../base/env.ts';
import { siteIn } from '../../classad/site.ts';
import type { Context } from '../attempt.ts';
import { readAd } from './condor-ads.ts';

interface Machine {
  host: string;
  site?: string;
  /** Models of the GPUs, as the driver names them. */
  gpus: string[];
}

/** Where the attempt runs. Reads files and the environment only, and needs no program. */
export function describeMachine(env: Env): Machine {
  const site = siteName(env);
  return { host: os.hostname(), ...defined({ site }), gpus: gpuModels() };
}

/** The site as the event log names it, for consistency; or else what the environment says. */
const siteName = (env: Env): string | undefined =>
  siteIn(readAd(env, '_CONDOR_MACHINE_AD')) ??
  [env['GLIDEIN_ResourceName'], env['OSG_SITE_NAME']].find((name) => name !== undefined && name !== '');

function gpuModels(): string[] {
  const folder = '/proc/driver/nvidia/gpus';
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch {
    return [];
  }
  return names.map(
    (name) =>
      /^Model:\s*(.+)$/m.exec(textOf(path.join(folder, name, 'information')))?.[1]?.trim() ?? 'unknown GPU',
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** A GPU as `nvidia-smi` describes it. */
export interface Gpu {
  index: string;
  uuid: string;
  /** May say that the GPU is lost. */
  name: string;
  /** Utilization in percent; undefined if it cannot be read. */
  percent: number | undefined;
}

/** The answer of `nvidia-smi`: not installed, hanging, failing, or a list of GPUs. */
export type SmiResult =
  { kind: 'absent' } | { kind: 'silent' } | { kind: 'failed'; said: string } | { kind: 'gpus'; gpus: Gpu[] };

const query = ['--query-gpu=index,uuid,name,utilization.gpu', '--format=csv,noheader,nounits'];
/** Where it is if it is not in the PATH: containers get it mounted. */
const fallbackPath = '/usr/bin:/usr/local/nvidia/bin:/usr/local/cuda/bin';
/** A machine with eight GPUs and no persistence daemon takes some seconds. */
const smiTimeoutMs = 20_000;

export async function queryNvidiaSmi(context: Context): Promise<SmiResult> {
  const env = { ...context.env, PATH: `${context.env['PATH'] ?? ''}:${fallbackPath}` };
  const answer = await queryProgram('nvidia-smi', query, { env, timeoutMs: smiTimeoutMs }, context);
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

/** HTCondor's and CUDA's names for no GPU. */
const noGpuNames = new Set(['', '10000', '-1', 'none', 'void', 'NoDevFiles']);

/** The GPUs this process may use, by `CUDA_VISIBLE_DEVICES`; undefined if that is not set. */
export function assignedGpus(env: Env): string[] | undefined {
  const text = env['CUDA_VISIBLE_DEVICES'];
  if (text === undefined) return undefined;
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !noGpuNames.has(name));
}

/** The GPU of that name: an index, the beginning of a UUID, or a MIG part, which any GPU may hold. */
export function findGpu(name: string, gpus: Gpu[]): Gpu | undefined {
  if (name.startsWith('MIG-')) return gpus[0];
  return gpus.find(({ index, uuid }) => index === name || uuid.startsWith(name));
}

export type ProgramOutput =
  | { kind: 'absent' }
  | { kind: 'silent' }
  | { kind: 'ended'; status: number | null; stdout: string; stderr: string };

interface ProgramOptions {
  env: Record<string, string | undefined>;
  cwd?: string;
  timeoutMs: number;
}

const maxChars = 64 * 1024;

/**
 * Runs a program that answers in a few lines. One that exceeds the timeout is killed and abandoned: where a driver
 * hangs, its programs cannot even be killed, and must not be waited for. Rejects only if the attempt must end.
 */
export async function queryProgram(
  program: string,
  args: string[],
  { env, cwd = '/', timeoutMs }: ProgramOptions,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<ProgramOutput> {
  signal.throwIfAborted();
  const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on(
      'data',
      (bytes: Buffer) => (text[name] = (text[name] + bytes.toString()).slice(-maxChars)),
    );
  const over = new AbortController();
  const ended = new Promise<ProgramOutput>((resolve) => {
    child.once('error', () => resolve({ kind: 'absent' }));
    child.once('close', (status) => resolve({ kind: 'ended', status, ...text }));
  });
  const late = clock
    .sleep(timeoutMs, AbortSignal.any([over.signal, signal]))
    .then((): ProgramOutput => ({ kind: 'silent' }));
  try {
    return await Promise.race([ended, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
    child.kill('SIGKILL');
    child.unref();
  }
}
