import { type Backoff, type Growth, growthSteps, type Policy } from '@updraft/account/recovery';
import { ranOutAttributes } from '@updraft/account/codes';
import { kinds } from '@updraft/account/fault';
import { type DurationClass, durationClasses, type PlanLimits } from '../../../check/facts.ts';
import type { Plan } from '../../../job/plan.ts';
import type { ProfileName } from '../../../job/spec.ts';
import type { CondorTools } from '../tools/condor-tools.ts';
import type { PoolLimits } from '@updraft/htcondor/submit';
import { defined } from '@updraft/base';

/** A pool's limits and the attributes its jobs need, as data. Sizes in bytes, times in seconds. */
export interface Profile extends PlanLimits {
  name: ProfileName;
  /** The attribute for the duration class; used for GPU jobs only if there are no `gpuDurations`. */
  durationAttribute?: string;
  gpuDurationAttribute?: string;
  /** Attributes that GPU jobs must have. */
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

const hours = 3600;
const GB = 1e9;

const baseProfile = {
  gpuAttributes: {},
  commands: [],
  wantsProject: false,
  maxQueued: 10_000,
  maxIdle: 2000,
  // Five attempts, the default, outlast an outage of an hour.
  backoff: { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 1800 },
  liveSeconds: 60,
};

export const condorProfiles: Record<ProfileName, Profile> = {
  ospool: {
    ...baseProfile,
    name: 'ospool',
    title: 'the OSPool',
    nativeInputBytes: 5000 * 2 ** 20,
    nativeFileBytes: GB,
    recommendedObjectBytes: 10 * GB,
    maxObjectBytes: 100 * GB,
    durations: [
      { name: 'Medium', seconds: 10 * hours },
      { name: 'Long', seconds: 20 * hours },
    ],
    durationAttribute: 'JobDurationCategory',
    recommendedGpus: 1,
    wantsProject: true,
  },
  chtc: {
    ...baseProfile,
    name: 'chtc',
    title: 'CHTC',
    nativeFileBytes: GB,
    recommendedObjectBytes: 30 * GB,
    maxObjectBytes: 100 * GB,
    durations: [{ name: 'default', seconds: 72 * hours }],
    gpuDurations: [
      { name: 'short', seconds: 12 * hours },
      { name: 'medium', seconds: 24 * hours },
      { name: 'long', seconds: 7 * 24 * hours },
    ],
    gpuDurationAttribute: 'GPUJobLength',
    gpuAttributes: { WantGPULab: 'true' },
    resumable: 'is_resumable',
    commands: ['want_campus_pools', 'want_ospool'],
  },
  htcondor: { ...baseProfile, name: 'htcondor', title: 'an HTCondor pool' },
  mini: {
    ...baseProfile,
    name: 'mini',
    title: 'the mini pool of this machine',
    backoff: { initialBackoff: 1, maxBackoff: 12, immediateRetries: 2, forgetAfter: 10 },
    liveSeconds: 2,
  },
};

/** The profile the user names, or the one that this access point's configuration suggests. */
export async function findProfile(named: ProfileName | undefined, tools: CondorTools): Promise<Profile> {
  return condorProfiles[named ?? (await guess(tools))];
}

/** The profile with this access point's own limit on input, if it has one. */
export async function findLimits(named: ProfileName | undefined, tools: CondorTools): Promise<Profile> {
  const profile = await findProfile(named, tools);
  const megabytes = Number(await tools.setting('MAX_TRANSFER_INPUT_MB'));
  return megabytes > 0 ? { ...profile, nativeInputBytes: megabytes * 2 ** 20 } : profile;
}

async function guess(tools: CondorTools): Promise<ProfileName> {
  if (await tools.isMini()) return 'mini';
  const hosts = `${await tools.setting('COLLECTOR_HOST')} ${await tools.setting('FULL_HOSTNAME')}`;
  if (/osg-htc\.org|ospool|opensciencegrid\.org|osgconnect/i.test(hosts)) return 'ospool';
  return /chtc\.wisc\.edu/i.test(hosts) ? 'chtc' : 'htcondor';
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

/** The limits of a pool that a submit file can break; default: those of any HTCondor pool. Pure. */
export function submitLimits(profile: Profile = condorProfiles.htcondor): PoolLimits {
  const { durations = [], durationAttribute, gpuDurations = [], gpuDurationAttribute } = profile;
  return {
    title: profile.title,
    inputBytes: profile.nativeInputBytes ?? defaultInputBytes,
    adviseBytes: profile.nativeFileBytes ?? defaultAdviceBytes,
    wantsProject: profile.wantsProject,
    // Any other pool may be a cluster with one file system.
    sharesNoFolder: profile.name !== 'htcondor',
    durationCategories: durationAttribute === 'JobDurationCategory' ? durations.map(({ name }) => name) : [],
    gpuAttributes: profile.gpuAttributes,
    commands: profile.commands,
    ofPools: Object.fromEntries(
      Object.values(condorProfiles).flatMap(({ commands, title }) => commands.map((name) => [name, title])),
    ),
    attributesOfPools: Object.values(condorProfiles).flatMap(attributesOf),
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
  [one.durationAttribute, one.gpuDurationAttribute, one.resumable, ...Object.keys(one.gpuAttributes)].filter(
    (name) => name !== undefined,
  );

/** The same for a pool by its name. */
export const limitsAt = (name: Profile['name']): PoolLimits => submitLimits(condorProfiles[name]);
