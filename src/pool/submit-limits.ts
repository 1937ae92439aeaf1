import type { PoolLimits } from '../adopt/submit-facts.ts';
import { condorProfiles, type Profile } from './condor/submit/profiles.ts';

/** What access points commonly allow, unless a profile has its own limit. */
const defaultInputBytes = 5000 * 2 ** 20;
const defaultAdviceBytes = 1e9;

/** The limits of a pool that a submit file can break; default: those of any HTCondor pool. Pure. */
export function submitLimits(profile: Profile = condorProfiles.htcondor): PoolLimits {
  const { title, nativeInputBytes, nativeFileBytes, wantsProject, durations, durationAttribute } = profile;
  return {
    title,
    inputBytes: nativeInputBytes ?? defaultInputBytes,
    adviseBytes: nativeFileBytes ?? defaultAdviceBytes,
    wantsProject,
    durationCategories:
      durationAttribute === 'JobDurationCategory' ? (durations ?? []).map(({ name }) => name) : [],
  };
}
