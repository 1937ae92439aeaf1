import type { PoolLimits } from '../../adopt/pool-limits.ts';
import type { Profile } from '../../pool/condor/profiles.ts';

/** What access points commonly allow: a profile that knows better says so. */
const usualInputBytes = 5000 * 2 ** 20;
const usualAdviceBytes = 1e9;

/** The limits of a profile that a submit description can break. */
export function limitsOf({
  title,
  nativeInputBytes,
  nativeFileBytes,
  wantsProject,
  durations,
  durationAttribute,
}: Profile): PoolLimits {
  return {
    title,
    inputBytes: nativeInputBytes ?? usualInputBytes,
    adviseBytes: nativeFileBytes ?? usualAdviceBytes,
    wantsProject,
    durationCategories:
      durationAttribute === 'JobDurationCategory' ? (durations ?? []).map(({ name }) => name) : [],
  };
}
