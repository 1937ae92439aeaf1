import type { Policy } from '../../../recovery/policy.ts';
import { endlessVacates, failures, policyHolds } from './counted-by-condor.ts';

/** More earlier places than this nobody asks HTCondor to remember. */
const mostPlaces = 10;

/**
 * Lines that keep a job away from where it failed. HTCondor remembers the places of the last attempts; index 0 and 1
 * name the same one while the job waits. Evictions and trouble that is the same everywhere start no avoidance.
 */
export function placeLines({ attempts }: Policy): string[] {
  return [
    'job_machine_attrs = GLIDEIN_ResourceName, Machine',
    `job_machine_attrs_history_length = ${placesOf(attempts)}`,
  ];
}

const placesOf = (attempts: number): number => Math.min(attempts, mostPlaces) + 1;

/**
 * The condition on machines; undefined where nothing is avoided. It names what HTCondor counts and no attribute of
 * ours: jobs that differ only in how often they failed must not be taken for the same by the scheduler.
 */
export function avoidance({ avoid, attempts, pace }: Policy): string | undefined {
  if (avoid === 'none') return undefined;
  // A pool without sites is avoided machine by machine. An attribute that is not there must exclude nothing.
  const here = avoid === 'site' ? '(TARGET.GLIDEIN_ResourceName ?: TARGET.Machine)' : 'TARGET.Machine';
  const before = (index: number): string =>
    avoid === 'site'
      ? `(MachineAttrGLIDEIN_ResourceName${index} ?: MachineAttrMachine${index} ?: "")`
      : `(MachineAttrMachine${index} ?: "")`;
  const others = Array.from({ length: placesOf(attempts) }, (_, index) => `${here} =!= ${before(index)}`);
  const isBlameless = `${failures} - ${policyHolds} <= 0 && !member(VacateReasonCode ?: 0, {${Object.keys(endlessVacates).join(', ')}})`;
  const isLeft = `(time() - EnteredCurrentStatus) > ${pace.letGo}`;
  return `(${isBlameless}) || ${isLeft} || (${others.join(' && ')})`;
}
