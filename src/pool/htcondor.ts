/** What `adopt` needs from HTCondor: someone's own submit file always runs there. */
export { condorFiles, isAdopted } from './condor/condor-files.ts';
export { findLimits, findProfile, limitsAt, type Profile, submitLimits } from './condor/submit/profiles.ts';
export { askCondorOnce } from './condor/submit/submit-once.ts';
export { CondorTools } from './condor/tools/condor-tools.ts';
