import { counted, formatSize, type Found, type Rule, withHeadroom } from '@updraft/base';
import { estimateDisk } from '../../job/estimate-disk.ts';
import { heldBytes, isOnDemand } from '../../job/on-demand.ts';
import { fetchedBy, packName, type PlannedData } from '../../job/plan.ts';
import type { PlanFacts, HereFacts } from '../facts.ts';

/** Rules about the disk of a job. */
export const diskRules: Rule<PlanFacts>[] = [
  {
    name: 'disk-too-small',
    level: 'error',
    about: 'The data, the image and the packed environment alone are larger than the requested disk.',
    check: (facts) => {
      const { least, asked } = needs(facts);
      return asked >= least.bytes ? undefined : tooSmall(facts, 'cannot hold', least);
    },
  },
  {
    name: 'disk-tight',
    level: 'warning',
    about:
      'The requested disk is less than data, unpacking, image, checkpoints and outputs are expected to take.',
    check: (facts) => {
      const { least, likely, asked } = needs(facts);
      return asked < least.bytes || asked >= likely.bytes ? undefined : tooSmall(facts, 'is tight', likely);
    },
  },
];

interface Need {
  bytes: number;
  why: string;
}

/** What the job needs at least, and what it is likely to need. */
function needs(facts: PlanFacts): { least: Need; likely: Need; asked: number } {
  const { plan, image: sent, fetchedImageBytes = 0 } = facts;
  const imageBytes = (sent?.bytes ?? 0) + fetchedImageBytes;
  const isKnown = (source: PlannedData): boolean => heldBytes(source) !== undefined;
  const fetched = fetchedBy(plan).filter(isKnown);
  const files = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const estimate = estimateDisk('auto', plan.data.filter(isKnown), files, plan.environment?.size);
  const image = imageBytes > 0 ? [`${formatSize(imageBytes)} of image`] : [];
  return {
    least: {
      bytes: fetched.reduce((sum, source) => sum + sizeOf(source), imageBytes),
      why: [...fetched.map((source) => `${formatSize(sizeOf(source))} of ${labelOf(source)}`), ...image].join(
        ' + ',
      ),
    },
    // The estimate already includes an image described by a lock.
    likely:
      plan.environment?.size === undefined
        ? { bytes: estimate.bytes + imageBytes, why: [estimate.why, ...image].join(' + ') }
        : estimate,
    asked: plan.disk.bytes,
  };
}

const sizeOf = (source: PlannedData): number => heldBytes(source) ?? 0;
const labelOf = ({ name }: PlannedData): string => (name === packName ? packName : `data.${name}`);

/** Shards on demand need not all be there. */
function toKeep(data: readonly PlannedData[]): string {
  const whole = data.find((source) => isOnDemand(source) && source.keepBytes === undefined);
  return whole === undefined ? '' : `, or keep fewer shards: keep = "20 GB" in [data.${whole.name}]`;
}

function tooSmall({ plan, where }: PlanFacts, what: string, need: Need): Found {
  const { diskBytes } = plan.spec.resources;
  const rounded = formatSize(Math.ceil(withHeadroom(need.bytes) / 1e9) * 1e9);
  const asked = formatSize(plan.disk.bytes);
  const disk = diskBytes === 'auto' ? `disk = "auto" is ${asked} and` : `disk = ${asked}`;
  return {
    message: `${disk} ${what}: ${formatSize(need.bytes)} needed (${need.why})`,
    fix: `set disk = "${rounded}" in [resources]${toKeep(plan.data)}`,
    place: where('resources', 'disk'),
  };
}

/** Rules about the folder that keeps the run and its results. */
export const folderRules: Rule<PlanFacts & HereFacts>[] = [
  {
    name: 'folder-unwritable',
    level: 'error',
    about: 'The folder of the run cannot be written, so no run can be created in it.',
    check: ({ here: { folder }, where }) =>
      folder?.unwritable === undefined
        ? undefined
        : {
            message: `${folder.path} cannot be written (${folder.unwritable}): the run and its results are kept there`,
            fix: 'copy the job file and its files to a folder of your own, or make this one writable',
            place: where(),
          },
  },
  {
    name: 'folder-full',
    level: 'warning',
    about:
      'The disk or the quota of the folder has less space, or fewer files left, than the run will bring home.',
    check: ({ here: { folder }, plan, where }) => {
      if (folder?.unwritable !== undefined) return [];
      return (folder?.rooms ?? [])
        .filter(({ freeBytes = Infinity, freeFiles = Infinity }) => {
          const { bytes = 0, files = 0 } = folder?.needs ?? {};
          return freeBytes < bytes || freeFiles < files;
        })
        .map(({ name, freeBytes = Infinity, freeFiles = Infinity }) => {
          const { bytes = 0, files = 0, why = '' } = folder?.needs ?? {};
          const free =
            freeBytes < bytes
              ? `${formatSize(freeBytes)} left, but ${counted(plan.jobs.length, 'job')} may bring home ${formatSize(bytes)}`
              : `room for ${counted(freeFiles, 'file')}, but ${counted(plan.jobs.length, 'job')} may bring home ${files}`;
          return {
            message: `${name}, where ${folder?.path ?? ''} is, has ${free} (${why})`,
            fix: 'free some space, keep the run on another file system, or declare fewer outputs',
            place: where(),
          };
        });
    },
  },
];
