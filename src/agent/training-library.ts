import { readFileSync } from 'node:fs';

/** In an executable, which has no files beside its code. */
declare const UPDRAFT_LIBRARY: string | undefined;

/** The text of `updraft.py`, which a training may import. */
export const trainingLibrary = (): string =>
  typeof UPDRAFT_LIBRARY === 'undefined'
    ? readFileSync(new URL('../../python/updraft.py', import.meta.url), 'utf8')
    : UPDRAFT_LIBRARY;
