import { ranOutAttributes } from '../../../codes/remedies.ts';
import { kinds } from '../../../fault/kinds.ts';
import { growthSteps, type Growth, type Policy } from '../../../recovery/policy.ts';

/**
 * Memory and disk of a job, and how they grow when an attempt ran out: expressions that count holds and agents' findings.
 * HTCondor's own growth (retry_request_memory) counts only its own evictions, and needs a plain number. `extraDisk` is
 * what HTCondor adds to the job's own files. Pure.
 */
export function requestLines({ memory, disk }: Policy, extraDisk: number): string[] {
  const more = { asked: disk.asked + extraDisk, most: disk.most + extraDisk };
  return [
    requestLine('memory', 'MB', inUnits(memory, 2 ** 20), 'memory-exceeded'),
    requestLine('disk', 'KB', inUnits(more, 2 ** 10), 'disk-full'),
  ];
}

const inUnits = ({ asked, most }: Growth, bytes: number): Growth => ({
  asked: Math.ceil(asked / bytes),
  most: Math.ceil(most / bytes),
});

/** Doubles each time that the job ran out. */
function requestLine(name: string, unit: string, { asked, most }: Growth, found: Shortage): string {
  if (most === asked) return `request_${name} = ${asked} ${unit}`;
  return `request_${name} = min({${most}, ${asked} * pow(2, ${shortageCount(found)})})`;
}

type Shortage = keyof typeof ranOutAttributes;

/**
 * How often a job ran out: by holds, and by the agents' count. If an agent cannot reach the access point, its last exit
 * code counts. Site policies and cgroups have different hold codes.
 */
const shortageCount = (found: Shortage): string =>
  `(NumHoldsByReason.JobOutOfResources ?: 0) + (NumHoldsByReason.StartdHeldJob ?: 0) + (${ranOutAttributes[found]} ?: (ExitCode =?= ${kinds[found].exit} ? 1 : 0))`;

/** That the last attempt had the maximum memory. */
export const hadAllMemory = ({ memory }: Policy): string =>
  `${shortageCount('memory-exceeded')} > ${growthSteps(memory).length}`;
