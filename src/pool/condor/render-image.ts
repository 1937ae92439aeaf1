import type { CondorVersion } from './condor-version.ts';
import { isAtLeast } from './condor-version.ts';
import type { Profile } from './profiles.ts';
import { adString, literal } from './submit-text.ts';

/** The lines that make the job run in an image; none for a job in the worker's own software. */
export function imageLines(image: string | undefined, profile: Profile, version: CondorVersion): string[] {
  if (image === undefined) return [];
  if (profile.imageAttribute !== undefined) return [`MY.${profile.imageAttribute} = ${adString(image)}`];
  // Before 10.0 there was no container universe; pools of that age start images named by this attribute.
  if (!isAtLeast(version, '10.0.0')) return [`MY.SingularityImage = ${adString(image)}`];
  return ['universe = container', `container_image = ${literal(image)}`];
}
