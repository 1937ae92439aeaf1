import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import type { Plan } from '../../../job/plan.ts';
import { condorFiles } from '../condor-files.ts';
import { type CondorVersion, isAtLeast } from '../tools/condor-tools.ts';
import { adString, literal } from './submit-text.ts';

/** Link to a SIF file of the access point, under a name that needs no quoting. */
export const sifName = ({ imageMark }: Plan): string =>
  `${condorFiles.inputs}/image${imageMark === undefined ? '' : `-${imageMark}`}.sif`;

/** The first version with container universe; older machines start the image that an attribute names. */
const containersSince: CondorVersion = '10.0.0';

/** The lines that run the job in an image; none for a job that uses the worker's own software. */
export function imageLines(plan: Plan, version: CondorVersion): string[] {
  const { image } = plan.spec.environment;
  if (image === undefined) return [];
  const local = localImage(plan);
  const isSif = local?.endsWith('.sif') === true;
  if (isAtLeast(version, containersSince))
    return ['universe = container', `container_image = ${isSif ? sifName(plan) : literal(local ?? image)}`];
  return [
    `MY.SingularityImage = ${adString(isSif ? `./${path.basename(sifName(plan))}` : (local ?? image))}`,
  ];
}

/** How HTCondor starts an image; jobs of one submission inherit it from the first. */
function imageKind({ spec }: Plan): string {
  const { image } = spec.environment;
  if (image === undefined) return 'none';
  if (/^(?:docker|oras):/i.test(image)) return 'from a registry';
  return image.endsWith('.sif') ? 'a .sif file' : 'a folder';
}

/** Throws if the jobs of a run have images of several kinds. */
export function assertOneImageKind(variants: readonly Plan[]): void {
  const kinds = [...new Set(variants.map(imageKind))];
  if (kinds.length === 1) return;
  throw new Fault('file-invalid', `the images of the matrix are of several kinds: ${kinds.join(', ')}`, {
    fix:
      'choose images of one kind, such as .sif files, or make a run for each kind: ' +
      'HTCondor starts all jobs of a submission in the same way',
  });
}

/** What must be sent for the image where HTCondor does not do so itself. */
export const imageInputs = (plan: Plan, version: CondorVersion): string[] =>
  !isAtLeast(version, containersSince) && localImage(plan)?.endsWith('.sif') === true ? [sifName(plan)] : [];

/** The image's path if it is a file or folder of the access point; workers find those under /cvmfs themselves. */
export function localImage({ spec, folder }: Plan): string | undefined {
  const { image } = spec.environment;
  if (image === undefined || image.includes('://') || image.startsWith('/cvmfs/')) return undefined;
  return path.resolve(folder, image);
}

/** Whether HTCondor fetches the image through the federation. */
export const isFederated = ({ spec }: Plan): boolean =>
  /^(?:[^:]+\+)?(?:osdf|pelican|stash):/i.test(spec.environment.image ?? '');
