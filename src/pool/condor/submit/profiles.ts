import { type Backoff, type Growth, growthSteps, type Policy } from '@updraft/account/recovery';
import { ranOutAttributes } from '@updraft/account/codes';
import { kinds } from '@updraft/account/fault';
import { type DurationClass, durationClasses, type PlanLimits } from '../../../check/facts.ts';
import type { Plan } from '../../../job/plan.ts';
import {
  builtinProfiles,
  profileFolders,
  type PoolFile,
  poolNames,
  readPoolFile,
} from '../../../job/pool-file.ts';
import type { CondorTools } from '../tools/condor-tools.ts';
import type { PoolLimits } from '@updraft/htcondor/submit';
import { defined, type Env, given } from '@updraft/base';

/** A pool's limits and the attributes its jobs need, as data. Sizes in bytes, times in seconds. */
export interface Profile extends PlanLimits {
  name: string;
  /** Parts of the names of its central manager or access points. */
  hosts: readonly string[];
  /** Its machines may have a file system in common with the access point. */
  sharedFolders: boolean;
  /** The attribute for the duration class; used for GPU jobs only if there are no `gpuDurations`. */
  durationAttribute?: string;
  gpuDurationAttribute?: string;
  /** Attributes that every job, and GPU jobs, must have. */
  attributes: Record<string, string>;
  gpuAttributes: Record<string, string>;
  /** An attribute that gives jobs with checkpoints more machines. */
  resumable?: string;
  /** Submit commands that the pool adds to HTCondor's. */
  commands: readonly string[];
  /** Beyond this many, jobs are materialized as others leave the queue. */
  maxQueued: number;
  maxIdle: number;
  /** How soon failed jobs are retried. */
  backoff: Backoff;
  /** How often a running attempt may report. */
  liveSeconds: number;
}

/** The profile that the user names, or the one that this access point's configuration suggests. */
export async function findProfile(named: string | undefined, { tools, env }: At): Promise<Profile> {
  if (named !== undefined || tools === undefined) return await profileNamed(named ?? 'htcondor', env);
  if (await tools.isMini()) return await profileNamed('mini', env);
  const here =
    `${await tools.setting('COLLECTOR_HOST')} ${await tools.setting('FULL_HOSTNAME')}`.toLowerCase();
  const isHere = ({ hosts }: Profile): boolean => hosts.some((host) => here.includes(host.toLowerCase()));
  // The user's and the machine's own come before ours.
  const all = (await allProfiles(env)).toReversed();
  return all.find(isHere) ?? (await profileNamed('htcondor', env));
}

/** HTCondor's commands, if there are any here, and where to look for files of pools. */
interface At {
  tools: CondorTools | undefined;
  env: Env;
}

/** The profile with this access point's own limit on input, if it has one. */
export async function findLimits(named: string | undefined, at: At): Promise<Profile> {
  const profile = await findProfile(named, at);
  const megabytes = Number(await at.tools?.setting('MAX_TRANSFER_INPUT_MB'));
  return megabytes > 0 ? { ...profile, nativeInputBytes: megabytes * 2 ** 20 } : profile;
}

export const profileNamed = async (name: string, env: Env): Promise<Profile> =>
  profileOf(await readPoolFile(name, profileFolders(env)));

async function allProfiles(env: Env): Promise<Profile[]> {
  const names = await poolNames(profileFolders(env));
  return await Promise.all(names.map((name) => profileNamed(name, env)));
}

function profileOf({ name, title, hosts, advice, sharedFolders, chirp, ...file }: PoolFile): Profile {
  const { limits, durations, gpuDurations, submit, retry } = file;
  const classes = (one: typeof durations): DurationClass[] | undefined =>
    one?.classes.map(({ name: called, within }) => ({ name: called, seconds: within }));
  return {
    name,
    title,
    hosts,
    advice,
    sharedFolders,
    ...defined({
      nativeInputBytes: limits.input,
      nativeFileBytes: limits.file,
      recommendedObjectBytes: limits.objectAdvised,
      maxObjectBytes: limits.object,
      durations: classes(durations),
      durationAttribute: durations?.attribute,
      gpuDurations: classes(gpuDurations),
      gpuDurationAttribute: gpuDurations?.attribute,
      resumable: submit.resumable,
    }),
    sharesNoNotes: !chirp,
    wantsProject: submit.project,
    attributes: submit.attributes,
    gpuAttributes: submit.gpuAttributes,
    commands: submit.commands,
    maxQueued: limits.queued,
    maxIdle: limits.idle,
    backoff: {
      initialBackoff: retry.first,
      maxBackoff: retry.most,
      immediateRetries: retry.atOnce,
      forgetAfter: retry.forgetAfter,
    },
    liveSeconds: retry.reportEvery,
  };
}

/** A plan's duration class: the shortest it fits in; undefined if the pool has none, or none is long enough. */
export function durationClass({ spec }: Plan, profile: PlanLimits): DurationClass | undefined {
  const { gpus, timeSeconds } = spec.resources;
  const classes = durationClasses(profile, gpus);
  return timeSeconds === undefined ? classes[0] : classes.find(({ seconds }) => timeSeconds <= seconds);
}

/**
 * Memory and disk of a job, and how they grow when an attempt ran out: expressions that count holds and agents'
 * findings. HTCondor's own growth (retry_request_memory) counts only its own evictions, and needs a plain number.
 * `extraDisk` is what HTCondor adds to the job's own files. Pure.
 */
export function requestLines({ memory, disk }: Policy, extraDisk: number): string[] {
  const more = { asked: disk.asked + extraDisk, most: disk.most + extraDisk };
  return [
    requestLine('memory', 'MB', inUnits(memory, 2 ** 20), 'memory-exceeded'),
    requestLine('disk', 'KB', inUnits(more, 2 ** 10), 'disk-full'),
  ];
}

const inUnits = ({ asked, most }: Growth, bytes: number): Growth => ({
  asked: Math.ceil(asked / bytes),
  most: Math.ceil(most / bytes),
});

/** Doubles each time that the job ran out. */
function requestLine(name: string, unit: string, { asked, most }: Growth, found: Shortage): string {
  if (most === asked) return `request_${name} = ${asked} ${unit}`;
  return `request_${name} = min({${most}, ${asked} * pow(2, ${shortageCount(found)})})`;
}

type Shortage = keyof typeof ranOutAttributes;

/**
 * How often a job ran out: by holds, and by the agents' count. If an agent cannot reach the access point, its last exit
 * code counts. Site policies and cgroups have different hold codes.
 */
const shortageCount = (found: Shortage): string =>
  '(NumHoldsByReason.JobOutOfResources ?: 0) + (NumHoldsByReason.StartdHeldJob ?: ' +
  `0) + (${ranOutAttributes[found]} ?: (ExitCode =?= ${kinds[found].exit} ? 1 : 0))`;

/** That the last attempt had the maximum memory. */
export const hadAllMemory = ({ memory }: Policy): string =>
  `${shortageCount('memory-exceeded')} > ${growthSteps(memory).length}`;

/** What access points commonly allow, unless a profile has its own limit. */
const defaultInputBytes = 5000 * 2 ** 20;
const defaultAdviceBytes = 1e9;

/** The limits of a pool that a submit file can break. */
export const submitLimits = async (profile: Profile, env: Env): Promise<PoolLimits> =>
  limitsOf(profile, await allProfiles(env));

function limitsOf(profile: Profile, all: readonly Profile[]): PoolLimits {
  const { durations = [], durationAttribute, gpuDurations = [], gpuDurationAttribute } = profile;
  return {
    title: profile.title,
    inputBytes: profile.nativeInputBytes ?? defaultInputBytes,
    adviseBytes: profile.nativeFileBytes ?? defaultAdviceBytes,
    wantsProject: profile.wantsProject,
    sharesNoFolder: !profile.sharedFolders,
    durationCategories: durationAttribute === 'JobDurationCategory' ? durations.map(({ name }) => name) : [],
    gpuAttributes: profile.gpuAttributes,
    commands: profile.commands,
    ofPools: Object.fromEntries(all.flatMap(({ commands, title }) => commands.map((name) => [name, title]))),
    attributesOfPools: all.flatMap(attributesOf),
    ...defined({
      resumable: profile.resumable,
      gpuLengths:
        gpuDurationAttribute === undefined
          ? undefined
          : { attribute: gpuDurationAttribute, names: gpuDurations.map(({ name }) => name) },
    }),
  };
}

const attributesOf = (one: Profile): string[] =>
  given(
    one.durationAttribute,
    one.gpuDurationAttribute,
    one.resumable,
    ...Object.keys({ ...one.attributes, ...one.gpuAttributes }),
  );

/** The same for a pool that comes with the program, whatever this machine has. */
export async function limitsAt(name: string): Promise<PoolLimits> {
  const of = async (one: string): Promise<Profile> => profileOf(await readPoolFile(one, []));
  return limitsOf(await of(name), await Promise.all(builtinProfiles.map(of)));
}
