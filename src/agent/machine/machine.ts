import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { defined, type Env, tried } from '@updraft/base';
import {
  assignedIn,
  gpuModelsIn,
  siteIn,
  type Ad,
  attributeOf,
  Expression,
  parseAdLines,
} from '@updraft/htcondor/classad';
import type { WorkerMachine } from '@updraft/account/journal';
import type { Context } from '../attempt.ts';

/** Where the attempt runs. Reads files and the environment only, and needs no program. */
export function describeMachine(env: Env): WorkerMachine {
  const site = siteName(env);
  return { host: os.hostname(), ...defined({ site }), ...describeGpus(ownGpus(env, listedGpus()), env) };
}

/** The models and the driver of the slot's GPUs; where the driver lists none, as the slot's ad describes them. */
export function describeGpus(own: readonly Gpu[], env: Env): Pick<WorkerMachine, 'gpus' | 'driver'> {
  const isKnown = own.length > 0 || assignedGpus(env)?.length === 0;
  const gpus = isKnown ? own.map(({ name }) => name) : gpuModelsIn(readAd(env, '_CONDOR_MACHINE_AD'));
  return { gpus, ...defined({ driver: own[0]?.driver }) };
}

/** The site as the event log names it, for consistency; or else what the environment says. */
const siteName = (env: Env): string | undefined =>
  siteIn(readAd(env, '_CONDOR_MACHINE_AD')) ??
  [env['GLIDEIN_ResourceName'], env['OSG_SITE_NAME']].find((name) => name !== undefined && name !== '');

const driverFolder = '/proc/driver/nvidia';

/** The machine's GPUs as the driver lists them in files, in the order of `nvidia-smi`. */
function listedGpus(): Gpu[] {
  const names = tried(() => readdirSync(path.join(driverFolder, 'gpus')).sort()) ?? [];
  const driver = /\s(\d{3}[\d.]+)\s/.exec(textOf(path.join(driverFolder, 'version')))?.[1];
  return names.map((folder, index) => {
    const text = textOf(path.join(driverFolder, 'gpus', folder, 'information'));
    const field = (title: RegExp) => title.exec(text)?.[1]?.trim();
    const name = field(/^Model:\s*(.+)$/m) ?? 'unknown GPU';
    const uuid = field(/^GPU UUID:\s*(.+)$/m) ?? '';
    return { index: String(index), uuid, name, percent: undefined, driver };
  });
}

/** What a file of the kernel says; nothing if it is gone, or another user's. */
export const textOf = (file: string): string => tried(() => readFileSync(file, 'utf8')) ?? '';

/** A GPU as its driver describes it. */
export interface Gpu {
  index: string;
  uuid: string;
  /** May say that the GPU is lost. */
  name: string;
  /** Utilization in percent; undefined if it cannot be read. */
  percent: number | undefined;
  /** The version of its driver. */
  driver: string | undefined;
  /** Whether several processes may use it at once, as far as is known. */
  isShared?: boolean;
}

/** The answer of `nvidia-smi`: not installed, hanging, failing, or a list of GPUs. */
export type SmiResult =
  | { kind: 'absent' | 'silent' }
  | { kind: 'failed'; said: string }
  | {
      kind: 'gpus';
      gpus: Gpu[];
    };

const query = [
  '--query-gpu=index,uuid,name,utilization.gpu,driver_version,compute_mode',
  '--format=csv,noheader,nounits',
];
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
    const [index, uuid, name, used, version, mode] = line.split(',').map((field) => field.trim());
    if (index === undefined || uuid === undefined || name === undefined) return [];
    const percent = used !== undefined && /^\d+$/.test(used) ? Number(used) : undefined;
    const driver = version !== undefined && /^[\d.]+$/.test(version) ? version : undefined;
    return [{ index, uuid, name, percent, driver, isShared: mode === 'Default' }];
  });
}

/** HTCondor's and CUDA's names for no GPU. */
const noGpuNames = new Set(['', '10000', '-1', 'none', 'void', 'NoDevFiles']);

/** The GPUs this process may use, by `CUDA_VISIBLE_DEVICES` or the slot's ad; undefined if neither names them. */
export function assignedGpus(env: Env): string[] | undefined {
  const names = env['CUDA_VISIBLE_DEVICES']?.split(',') ?? assignedIn(readAd(env, '_CONDOR_MACHINE_AD'));
  return names?.map((name) => name.trim()).filter((name) => !noGpuNames.has(name));
}

/** Those of the machine's GPUs that this process may use. */
export const ownGpus = (env: Env, gpus: Gpu[]): Gpu[] =>
  assignedGpus(env)?.flatMap((name) => findGpu(name, gpus) ?? []) ?? gpus;

/** The GPU of that name: an index, the beginning of a UUID, or a MIG part, which any GPU may hold. */
export function findGpu(name: string, gpus: Gpu[]): Gpu | undefined {
  if (name.startsWith('MIG-')) return gpus[0];
  return gpus.find(({ index, uuid }) => index === name || uuid.startsWith(name));
}

export type ProgramOutput =
  | { kind: 'absent' }
  | { kind: 'silent' }
  | { kind: 'ended'; status: number | null; stdout: string; stderr: string };

const maxChars = 64 * 1024;

/**
 * Runs a program that answers in a few lines. One that exceeds the timeout is killed and abandoned: where a driver
 * hangs, its programs cannot even be killed, and must not be waited for. Rejects only if the attempt must end.
 */
export async function queryProgram(
  program: string,
  args: string[],
  { env, cwd = '/', timeoutMs }: { env: Record<string, string | undefined>; cwd?: string; timeoutMs: number },
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

/** The training may take this share of the vacate time, and saving as much; the rest is for the transfer. */
const shareOfVacateTime = 0.4;

/** How often HTCondor started the job, including this start; undefined outside of HTCondor. */
export function startCount(env: Env): number | undefined {
  return numberAttribute(readAd(env, '_CONDOR_JOB_AD'), 'NumShadowStarts');
}

/** The job's id in its run, if it is a job of an Updraft run. */
export function jobIdOf(env: Env): string | undefined {
  const job = attributeOf(readAd(env, '_CONDOR_JOB_AD'), 'UpdraftJob');
  return typeof job === 'string' && /^\w+$/.test(job) ? job : undefined;
}

/** The sender of what HTCondor itself transfers: a global id starts with the schedd's name, maybe after `user@`. */
export function accessPointOf(env: Env): string {
  const id = attributeOf(readAd(env, '_CONDOR_JOB_AD'), 'GlobalJobId');
  const schedd = typeof id === 'string' ? id.split('#')[0]?.split('@').at(-1) : undefined;
  return ['access point', ...(schedd ? [schedd] : [])].join(' ');
}

/**
 * How long HTCondor lets the job run from now on, in seconds; undefined if it sets no limit. Of its two limits, one
 * restarts with every checkpoint, the other does not. `now` is in milliseconds since the epoch.
 */
export function allowedSeconds(env: Env, now: number): number | undefined {
  const ad = readAd(env, '_CONDOR_JOB_AD');
  const [allowed, startedAt] = [
    numberAttribute(ad, 'AllowedJobDuration'),
    numberAttribute(ad, 'JobCurrentStartDate'),
  ];
  return smallest([
    numberAttribute(ad, 'AllowedExecuteDuration'),
    allowed && allowed - elapsedSeconds(startedAt, now / 1000, allowed),
  ]);
}

/** Seconds since the access point started the attempt; 0 if that is impossible because the two clocks differ. */
function elapsedSeconds(startedAt: number | undefined, now: number, allowed: number): number {
  const seconds = startedAt === undefined ? 0 : now - startedAt;
  return seconds < 0 || seconds >= allowed ? 0 : seconds;
}

/** How long the training, and then saving, may each take when HTCondor wants the slot back; undefined outside of it. */
export function vacateGraceMs(env: Env): number | undefined {
  const seconds = smallest([
    numberAttribute(readAd(env, '_CONDOR_MACHINE_AD'), 'MachineMaxVacateTime'),
    numberAttribute(readAd(env, '_CONDOR_JOB_AD'), 'JobMaxVacateTime'),
  ]);
  return seconds === undefined ? undefined : seconds * shareOfVacateTime * 1000;
}

/** The memory of the slot, which grows with the job's request; undefined outside of HTCondor. */
export function slotMemoryBytes(env: Env): number | undefined {
  const megabytes = numberAttribute(readAd(env, '_CONDOR_MACHINE_AD'), 'Memory');
  return megabytes && megabytes * 2 ** 20;
}

function smallest(numbers: (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** A number, or a product of numbers such as `10 * 60`. */
function numberAttribute(ad: Ad, name: string): number | undefined {
  const value = attributeOf(ad, name);
  if (typeof value === 'number') return value >= 0 ? value : undefined;
  if (!(value instanceof Expression) || !/^[\d.]+(?:\s*\*\s*[\d.]+)*$/.test(value.expression))
    return undefined;
  return value.expression.split('*').reduce((product, factor) => product * Number(factor), 1);
}

/** The ad in the file that a variable names; empty if there is none. */
export const readAd = (env: Env, variable: '_CONDOR_JOB_AD' | '_CONDOR_MACHINE_AD'): Ad =>
  tried(() => parseAdLines(readFileSync(env[variable] ?? '', 'utf8').split('\n'))) ?? {};
