import { archiveKinds } from '@updraft/base';

/** Values that keys of the job file accept, apart from the schema, for code that only compares them. */

/** `auto` decides by the object's name; `nested` is a tar of tars, a folder per inner tar. */
export const unpackModes = ['auto', 'none', 'nested', ...archiveKinds] as const;

export const dataMethods = ['auto', 'native', 'https', 'osdf', 'stream', 'on-demand'] as const;

/** Where a secret of the training comes from. */
export const secretPlaces = ['env', 'file'] as const;

export const pools = ['local', 'condor', 'slurm'] as const;
