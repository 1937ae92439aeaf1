import type { Diagnosis } from './diagnosis.ts';
import { safeLine } from './quote-event.ts';

/** Codes of attempts that went back to the queue, where there is more to say than that the slot was taken. */
const evictions: Partial<Record<number, string>> = {
  1000: 'A rule of the job (periodic_vacate) took it off the machine.',
  1001: 'A rule of the access point took it off the machine.',
  1002: 'HTCondor’s process for the job on the access point failed.',
  1003: 'It was not started: something before it failed on the machine.',
  1005: 'HTCondor put it back into the queue.',
  1006: 'The machine could not be made ready for it.',
  1007: 'HTCondor’s process on the machine failed.',
  1008: 'The connection to the machine was lost and could not be made again in time.',
  1009: 'The machine gave up its claim.',
  1010: 'The machine’s staff took the slot back (condor_vacate).',
  1011: 'The machine’s own policy (PREEMPT) took the slot back.',
  1012: 'HTCondor’s process of the slot failed.',
  1013: 'The machine was shut down.',
  1014: 'The machine is being drained.',
  1015: 'The machine put its slots together anew.',
  1016: 'The machine was sent to sleep.',
  1017: 'The machine’s staff ended its claim.',
  1018: 'A job the machine likes better took the slot.',
  1019: 'A user with better priority took the slot.',
  1020: 'The virtual machine failed.',
  1021: 'The container failed.',
  1022: 'Somebody, or a rule, took it off the machine (condor_vacate_job).',
  1024: 'The scratch folder of the machine failed.',
  1025: 'It saved a checkpoint, and the slot could not be used again.',
  1031: 'The slot is broken and refused it.',
  1036: 'The machine says that it is not healthy and refused it.',
  1037: 'The machine moves to another pool.',
};

const machineFailed: ReadonlySet<number> = new Set([1002, 1003, 1006, 1007, 1012, 1020, 1021, 1024]);

/** Why a slot was left, by a code of 1000 and above. */
export function evictionDiagnosis(code: number, reason: string): Diagnosis {
  const known = evictions[code] ?? (code >= 1026 && code <= 1036 ? 'The machine refused it.' : undefined);
  const cause = code === 1008 ? 'disconnected' : machineFailed.has(code) ? 'machine-broken' : 'evicted';
  return {
    cause: known === undefined ? 'unknown' : cause,
    because: [
      known ?? `It left the slot with code ${code}, for which Updraft has no words.`,
      ...(reason.trim() === '' || (known !== undefined && cause === 'evicted')
        ? []
        : [`HTCondor says: ${safeLine(reason)}`]),
    ],
    outlook: 'passing',
    advice: ['Save checkpoints, so that such an end costs minutes and not the whole attempt.'],
  };
}
