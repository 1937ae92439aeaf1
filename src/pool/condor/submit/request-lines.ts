import { ranOutAttributes } from '../../../codes/remedies.ts';
import { kinds } from '../../../fault/kinds.ts';
import { growthSteps, type Growth, type Policy } from '../../../recovery/policy.ts';

/**
 * Memory and disk of a job, and how they grow when an attempt ran out of them: expressions that count holds and what
 * agents found. HTCondor's own growth (retry_request_memory) knows its own evictions only, and needs a plain figure.
 * `extraDisk` is what HTCondor puts beside the job's own files. Pure.
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

/** Twice as much for each time that it ran out. */
function requestLine(name: string, unit: string, { asked, most }: Growth, found: Shortage): string {
  if (most === asked) return `request_${name} = ${asked} ${unit}`;
  return `request_${name} = min({${most}, ${asked} * pow(2, ${shortageCount(found)})})`;
}

type Shortage = keyof typeof ranOutAttributes;

/**
 * How often a job ran out: by holds, and by what agents counted. Where an agent cannot reach the access point its last
 * exit code counts. Site policies and cgroups have different codes for holds.
 */
const shortageCount = (found: Shortage): string =>
  `(NumHoldsByReason.JobOutOfResources ?: 0) + (NumHoldsByReason.StartdHeldJob ?: 0) + (${ranOutAttributes[found]} ?: (ExitCode =?= ${kinds[found].exit} ? 1 : 0))`;

/** That the last attempt had all the memory that may be asked for. */
export const hadAllMemory = ({ memory }: Policy): string =>
  `${shortageCount('memory-exceeded')} > ${growthSteps(memory).length}`;
