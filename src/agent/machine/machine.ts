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

/** Where the attempt runs. Asks files and the environment only: no program has to exist. */
export function describeMachine(env: Env): Machine {
  const site = siteName(env);
  return { host: os.hostname(), ...defined({ site }), gpus: gpuModels() };
}

/** As the event log names it, so that both say the same of an attempt; or else what the environment has. */
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
export type SmiResult =
  { kind: 'absent' } | { kind: 'silent' } | { kind: 'failed'; said: string } | { kind: 'gpus'; gpus: Gpu[] };

const query = ['--query-gpu=index,uuid,name,utilization.gpu', '--format=csv,noheader,nounits'];
/** Where it lies when the PATH does not say so: containers get it mounted. */
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

/** HTCondor's word for a slot that was given no GPU; the others are CUDA's own. */
const noGpuNames = new Set(['', '10000', '-1', 'none', 'void', 'NoDevFiles']);

/** What this process may use, as `CUDA_VISIBLE_DEVICES` names it; undefined when nothing is said. */
export function assignedGpus(env: Env): string[] | undefined {
  const text = env['CUDA_VISIBLE_DEVICES'];
  if (text === undefined) return undefined;
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !noGpuNames.has(name));
}

/** The GPU that a name means: an index, the beginning of a UUID, or a part (`MIG-…`), of which any may hold it. */
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
 * Runs a program that answers in a few lines. One that does not end in time is killed and left: where a driver hangs,
 * the programs that ask it cannot even be killed, and nobody may wait for them. Rejects only when the attempt must end.
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
