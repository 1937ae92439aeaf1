import { counted } from '../../base/counted.ts';
import type { Rule } from '../../base/finding.ts';
import { formatSize } from '../../job/units.ts';
import type { HereFacts, PlanFacts } from '../facts.ts';

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
