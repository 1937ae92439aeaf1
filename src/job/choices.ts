import { archiveKinds } from '../base/archive-kinds.ts';

/** The words that keys of the job file take; here, so that those who only compare them need no schema. */

/** `auto` goes by the object's name; `nested` is a tar of tars, a folder per inner tar. */
export const unpackModes = ['auto', 'none', 'nested', ...archiveKinds] as const;

export const dataMethods = ['auto', 'native', 'https', 'osdf', 'stream'] as const;

/** Where a secret of the training comes from. */
export const secretPlaces = ['env', 'file'] as const;

export const pools = ['local', 'condor', 'slurm'] as const;

/** Customs and limits of a pool: which rules `check` knows, and what is written into the submit description. */
export const profiles = ['ospool', 'chtc', 'htcondor', 'mini'] as const;

/** What is avoided after a failure that another place can heal. */
export const avoidances = ['site', 'machine', 'none'] as const;
