import { Fault } from '../fault/fault.ts';
import type { LockedPackage } from './locked-package.ts';
import type { LockedSet } from './pixi-lock.ts';

const isWheel = (url: string): boolean => /\.whl(?:[?#].*)?$/i.test(url);
/** Of a conda package that is built, the place comes after its name. */
const placeOf = ({ url }: LockedPackage): string => url.replace(/^\S+ @ /, '');
const isLocal = (one: LockedPackage): boolean => !/^[a-z][a-z0-9+.-]*:/i.test(placeOf(one));

/** What each way to the worker cannot bring. */
const refused = {
  pack: {
    is: (one: LockedPackage): boolean => one.kind === 'source' || (one.kind === 'pypi' && !isWheel(one.url)),
    why: 'is built from its source, and an archive holds only packages and wheels',
  },
  container: {
    is: (one: LockedPackage): boolean => one.kind !== 'conda' && isLocal(one),
    why: 'comes from a folder of this machine, and the recipe of an image copies none',
  },
};

/** Refuses an environment with packages that cannot get to the worker in this way. */
export function refuseSources(
  { environment, packages }: LockedSet,
  delivery: keyof typeof refused,
  file: string,
): void {
  const { is, why } = refused[delivery];
  const found = packages.find(is);
  if (found === undefined) return;
  throw new Fault('file-invalid', `${file}: ${found.name} (${placeOf(found)}) of "${environment}" ${why}`, {
    about: file,
    fix: 'use an environment without it: code of your own travels with each job, in `files` of [train]',
  });
}
