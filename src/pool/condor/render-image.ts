import path from 'node:path';
import type { Plan } from '../../job/plan.ts';
import { condorFiles } from './condor-files.ts';
import { isAtLeast, type CondorVersion } from './condor-version.ts';
import type { Profile } from './profiles.ts';
import { adString, literal } from './submit-text.ts';

/** Where a SIF file of the access point is found under a name that needs no quoting. */
export const sifName = `${condorFiles.inputs}/image.sif`;

/** The lines that make the job run in an image; none for a job in the worker's own software. */
export function imageLines(plan: Plan, profile: Profile, version: CondorVersion): string[] {
  const { image } = plan.spec.environment;
  if (image === undefined) return [];
  if (profile.imageAttribute !== undefined) return [`MY.${profile.imageAttribute} = ${adString(image)}`];
  // Before 10.0 there was no container universe; pools of that age start images named by this attribute.
  if (!isAtLeast(version, '10.0.0')) return [`MY.SingularityImage = ${adString(image)}`];
  return ['universe = container', `container_image = ${containerImage(plan, image)}`];
}

function containerImage(plan: Plan, image: string): string {
  const local = localImage(plan);
  if (local === undefined) return literal(image);
  return local.endsWith('.sif') ? sifName : literal(local);
}

/** The image's path where it is a file or a folder of the access point; workers find those under /cvmfs themselves. */
export function localImage({ spec, folder }: Plan): string | undefined {
  const { image } = spec.environment;
  if (image === undefined || image.includes('://') || image.startsWith('/cvmfs/')) return undefined;
  return path.resolve(folder, image);
}

/** Whether HTCondor fetches the image through the federation. */
export const isFederated = ({ spec }: Plan): boolean =>
  /^(?:[^:]+\+)?(?:osdf|pelican|stash):/i.test(spec.environment.image ?? '');
