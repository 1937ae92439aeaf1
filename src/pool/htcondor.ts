/** What `adopt` needs of HTCondor: runs of other people's submit descriptions are HTCondor's by nature. */
export { condorFiles } from './condor/condor-files.ts';
export { isAdopted } from './condor/condor-files.ts';
export { findLimits } from './condor/submit/profiles.ts';
export { condorProfiles, type Profile } from './condor/submit/profiles.ts';
export { askCondorOnce } from './condor/submit/submit-once.ts';
export { CondorTools } from './condor/tools/condor-tools.ts';
