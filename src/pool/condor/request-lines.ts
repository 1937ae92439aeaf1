import { kinds } from '../../fault/kinds.ts';
import { growthSteps, type Growth, type Policy } from '../../recovery/policy.ts';

/**
 * Memory and disk of a job, and how they grow when an attempt ran out of them. Newer schedds do that by themselves and
 * at once; for others the request is an expression that counts the holds. `extraDisk` is what HTCondor puts beside the
 * job's own files. Pure.
 */
export function requestLines({ memory, disk, growsItself }: Policy, extraDisk: number): string[] {
  const megabytes = inUnits(memory, 2 ** 20);
  const kilobytes = inUnits({ asked: disk.asked + extraDisk, most: disk.most + extraDisk }, 2 ** 10);
  const [more] = kilobytes.steps;
  // An agent that found the disk full has ended by itself: nobody held the job, but the next attempt needs more.
  const found =
    more === undefined
      ? undefined
      : `ifThenElse(ExitCode =?= ${kinds['disk-full'].exit}, ${more}, ${kilobytes.asked})`;
  if (growsItself)
    return [
      `request_memory = ${megabytes.asked} MB`,
      ...retryLine('memory', 'MB', megabytes.steps),
      `request_disk = ${found ?? `${kilobytes.asked} KB`}`,
      ...retryLine('disk', 'KB', kilobytes.steps),
    ];
  return [
    `request_memory = ${byHolds(megabytes, String(megabytes.asked)) ?? `${megabytes.asked} MB`}`,
    `request_disk = ${byHolds(kilobytes, found ?? '') ?? `${kilobytes.asked} KB`}`,
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

const retryLine = (name: string, unit: string, steps: number[]): string[] =>
  steps.length === 0 ? [] : [`retry_request_${name} = ${steps.map((step) => `${step} ${unit}`).join(', ')}`];

const ranOut = '((NumHoldsByReason.JobOutOfResources ?: 0) + (NumHoldsByReason.StartdHeldJob ?: 0))';

function byHolds({ steps }: Steps, asked: string): string | undefined {
  const most = steps.at(-1);
  return most === undefined ? undefined : `min({${most}, ${asked} * pow(2, ${ranOut})})`;
}
