import type { SlotCondition, SlotFact, SlotFacts, Where } from '../../../check/facts.ts';
import { Fault } from '@updraft/account/fault';
import type { Plan } from '../../../job/plan.ts';
import { formatSize } from '@updraft/base';
import { agentObject, requiredArch } from '../submit/job-inputs.ts';
import type { CondorTools } from './condor-tools.ts';

/** Excludes dynamic slots, which would count a busy machine several times. */
const wholeSlots = 'SlotType =!= "Dynamic" && DynamicSlot =!= true';

/** Has HTCondor evaluate a plan's conditions on the ads of all machines in the pool. */
export async function askSlots(plan: Plan, where: Where, tools: CondorTools): Promise<SlotFacts> {
  const conditions = slotConditions(plan, where, await tools.setting('ARCH'));
  const columns = [
    'Name',
    '(TotalSlotMemory ?: Memory)',
    '(TotalSlotDisk ?: Disk)',
    ...conditions.map(({ ever }) => ever),
    conditions.map(({ now }) => `(${now})`).join(' && '),
  ];
  let text: string;
  try {
    text = await tools.ask('condor_status', ['-constraint', wholeSlots, '-af:t', ...columns]);
  } catch (error) {
    if (await isReadable(plan.spec.run.requirements, tools)) throw error;
    return { conditions: [], slots: [], largest: { memoryBytes: 0, diskBytes: 0 }, isUnreadable: true };
  }
  const rows = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trim().split('\t'));
  if (rows.length === 0)
    throw new Fault('pool-unreachable', 'condor_status lists no machines', {
      fix: 'run condor_status and read its output',
    });
  const maxOf = (column: number, unit: number): number =>
    Math.max(0, ...rows.map((row) => Number(row[column]) * unit).filter((size) => size > 0));
  return {
    conditions: conditions.map(({ words, place }) => ({ words, place })),
    slots: rows.map(readRow),
    largest: { memoryBytes: maxOf(1, 2 ** 20), diskBytes: maxOf(2, 2 ** 10) },
  };
}

/** Whether HTCondor can parse the user's condition; true unless it complains. */
async function isReadable(requirements: string | undefined, tools: CondorTools): Promise<boolean> {
  if (requirements === undefined) return true;
  return await tools.ask('condor_status', ['-limit', '1', '-constraint', `(${requirements})`]).then(
    () => true,
    (error: unknown) => !(error instanceof Fault && error.message.includes('invalid constraint')),
  );
}

/** As in HTCondor, a condition that is undefined for a machine does not match it. */
function readRow([name = '', , , ...values]: string[]): SlotFact {
  return {
    name,
    meets: values.slice(0, -1).map((value) => value === 'true'),
    fitsNow: values.at(-1) === 'true',
  };
}

/** A condition for a machine's ad: `ever` on the empty machine, `now` on what is free. */
export interface SlotExpression extends SlotCondition {
  ever: string;
  now: string;
}

/** What a plan requires of a machine, condition by condition, as in `renderSubmit` and HTCondor's own rules. */
function slotConditions(plan: Plan, where: Where, arch: string): SlotExpression[] {
  return [
    ...sizeConditions(plan, where),
    ...gpuConditions(plan, where),
    ...imageConditions(plan, where),
    ...(arch === '' || requiredArch(plan) !== undefined
      ? []
      : [same(`the architecture ${arch} of this access point`, where('run', 'pool'), `Arch == "${arch}"`)]),
    ...agentConditions(plan, where),
    ...ownConditions(plan, where),
  ];
}

/** HTCondor sends a job whose input is a URL only to machines that can fetch it. */
function agentConditions(plan: Plan, where: Where): SlotExpression[] {
  const scheme = /^\w+(?=:)/.exec(agentObject(plan)?.url ?? '')?.[0];
  if (scheme === undefined || scheme === 'image') return [];
  const has = `stringListIMember("${scheme}", HasFileTransferPluginMethods)`;
  return [same(`a plugin of the machine for ${scheme}:// of agent`, where('pool', 'agent'), has)];
}

const same = (words: string, place: SlotCondition['place'], expression: string): SlotExpression => ({
  words,
  place,
  ever: expression,
  now: expression,
});

function sizeConditions({ spec, disk }: Plan, where: Where): SlotExpression[] {
  const { cpus, memoryBytes } = spec.resources;
  const amounts: [key: string, words: string, attribute: string, minimum: number][] = [
    ['cpus', `cpus = ${cpus}`, 'Cpus', cpus],
    ['memory', `memory = ${formatSize(memoryBytes)}`, 'Memory', Math.ceil(memoryBytes / 2 ** 20)],
    ['disk', `disk = ${formatSize(disk.bytes)}`, 'Disk', Math.ceil(disk.bytes / 2 ** 10)],
  ];
  return amounts.map(([key, words, attribute, minimum]) => ({
    words,
    place: where('resources', key),
    ever: `(TotalSlot${attribute} ?: ${attribute}) >= ${minimum}`,
    now: `${attribute} >= ${minimum}`,
  }));
}

function gpuConditions({ spec }: Plan, where: Where): SlotExpression[] {
  const { gpus, gpu } = spec.resources;
  if (gpus === 0) return [];
  const properties: [key: string, words: string, attribute: string, minimum: number][] = [];
  if (gpu?.capability !== undefined)
    properties.push(['capability', `gpu.capability = ${gpu.capability}`, 'Capability', gpu.capability]);
  if (gpu?.memoryBytes !== undefined) {
    const words = `gpu.memory = ${formatSize(gpu.memoryBytes)}`;
    properties.push(['memory', words, 'GlobalMemoryMb', Math.ceil(gpu.memoryBytes / 2 ** 20)]);
  }
  if (gpu?.cuda !== undefined)
    properties.push(['cuda', `gpu.cuda = ${gpu.cuda}`, 'MaxSupportedVersion', cudaNumber(gpu.cuda)]);
  return [
    {
      words: `gpus = ${gpus}`,
      place: where('resources', 'gpus'),
      ever: `(TotalSlotGPUs ?: GPUs ?: 0) >= ${gpus}`,
      now: `(GPUs ?: 0) >= ${gpus}`,
    },
    ...properties.map(([key, words, attribute, minimum]) => {
      const free = `countMatches(${attribute} >= ${minimum}, AvailableGPUs) >= ${gpus}`;
      // The list has only the free GPUs; what all of them have in common is beside it.
      const ever = `${free} || (GPUs_${attribute} ?: 0) >= ${minimum}`;
      return { words, place: where('resources', 'gpu', key), ever, now: free };
    }),
  ];
}

/** `12.4` is 12040 for drivers. */
function cudaNumber(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major * 1000 + minor * 10;
}

function imageConditions({ spec }: Plan, where: Where): SlotExpression[] {
  const { image } = spec.environment;
  if (image === undefined) return [];
  const ability = /^(docker|oras):\/\//.test(image)
    ? 'HasDockerURL'
    : /\.sif$/.test(image)
      ? 'HasSIF'
      : 'HasSandboxImage';
  const place = where('environment', 'image');
  return [same('an image', place, `(HasContainer ?: HasSingularity ?: false) && (${ability} ?: false)`)];
}

/** The user's own condition, if a machine's ad alone can answer it. */
function ownConditions({ spec }: Plan, where: Where): SlotExpression[] {
  const { requirements } = spec.run;
  if (requirements === undefined || /\bMY\s*\./i.test(requirements)) return [];
  const place = where('run', 'requirements');
  return [same(`requirements = ${requirements}`, place, `(${requirements.replace(/\bTARGET\s*\./gi, '')})`)];
}
