export { poolModels, sites } from './pool/condor-config.ts';
export { type MiniPoolState, runningPool, startPool, stopPool } from './pool/pool.ts';
export { rootFolder } from './pool/root-folder.ts';
