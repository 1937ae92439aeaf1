import { kinds } from '../../../fault/kinds.ts';
import { growthSteps, type Growth, type Policy } from '../../../recovery/policy.ts';

/**
 * Memory and disk of a job, and how they grow when an attempt ran out of them. Newer schedds do that for memory by
 * themselves and at once; elsewhere the request is an expression that counts the holds. For disk it always is: an agent
 * that found it full has ended by itself, and HTCondor's own growth of a request works on plain figures only.
 * `extraDisk` is what HTCondor puts beside the job's own files. Pure.
 */
export function requestLines({ memory, disk, growsItself }: Policy, extraDisk: number): string[] {
  const megabytes = inUnits(memory, 2 ** 20);
  const kilobytes = inUnits({ asked: disk.asked + extraDisk, most: disk.most + extraDisk }, 2 ** 10);
  return [
    ...(growsItself ? grownBySchedd(megabytes) : [grownByHolds('memory', 'MB', megabytes)]),
    grownByHolds('disk', 'KB', kilobytes, `(ExitCode =?= ${kinds['disk-full'].exit} ? 1 : 0)`),
  ];
}

interface Steps {
  asked: number;
  steps: number[];
}

const inUnits = (growth: Growth, bytes: number): Steps => ({
  asked: Math.ceil(growth.asked / bytes),
  steps: growthSteps(growth).map((step) => Math.ceil(step / bytes)),
});

function grownBySchedd({ asked, steps }: Steps): string[] {
  const retries = steps.map((step) => `${step} MB`).join(', ');
  return [`request_memory = ${asked} MB`, ...(retries === '' ? [] : [`retry_request_memory = ${retries}`])];
}

const heldFor = '(NumHoldsByReason.JobOutOfResources ?: 0) + (NumHoldsByReason.StartdHeldJob ?: 0)';

/** Twice as much for each time that it ran out; `found` counts what nobody held the job for. */
function grownByHolds(name: string, unit: string, { asked, steps }: Steps, found?: string): string {
  const most = steps.at(-1);
  if (most === undefined) return `request_${name} = ${asked} ${unit}`;
  const times = found === undefined ? heldFor : `${heldFor} + ${found}`;
  return `request_${name} = min({${most}, ${asked} * pow(2, ${times})})`;
}
