import type { PoolLimits } from '@updraft/htcondor/submit';
import { defined } from '@updraft/base';
import { condorProfiles, type Profile } from './condor/submit/profiles.ts';

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
