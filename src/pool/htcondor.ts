/** What the checks of anyone's submit file need from HTCondor. */
export { isAdopted } from './condor/condor-files.ts';
export { findLimits, findProfile, limitsAt, type Profile, submitLimits } from './condor/submit/profiles.ts';
export { CondorTools } from './condor/tools/condor-tools.ts';
