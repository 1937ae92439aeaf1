import type { Rule, RuleResult } from '../../base/finding.ts';
import {
  assignmentOf,
  type Batch,
  parseQuantity,
  perBatch,
  type SubmitFacts,
  valueOf,
  whereSet,
} from '../submit-facts.ts';

/** Rules about GPUs. */
export const gpuRules: Rule<SubmitFacts>[] = [
  {
    name: 'gpu-any',
    level: 'warning',
    about: 'A GPU is requested without a condition on its capability, memory or driver.',
    check: perBatch(anyGpu),
  },
  {
    name: 'gpu-condition-ignored',
    level: 'warning',
    about: 'There are conditions on GPUs, but no GPU is requested: HTCondor ignores them.',
    check: perBatch(ignoredConditions),
  },
  {
    name: 'old-gpu-attributes',
    level: 'warning',
    about: '`requirements` use GPU attributes that machines no longer have, so they match none.',
    check: perBatch(oldGpuAttributes),
  },
  {
    name: 'gpu-nowhere',
    level: 'warning',
    about: 'A condition on GPUs that no GPU meets, or that every GPU does.',
    check: perBatch(impossibleGpu),
  },
];

const gpuConditions =
  'gpus_minimum_capability gpus_minimum_memory gpus_minimum_runtime gpus_maximum_capability require_gpus'.split(
    ' ',
  );

export const wantsGpu = (batch: Batch): boolean => {
  const asked = valueOf(batch, 'request_gpus');
  return asked !== undefined && asked !== '0';
};

function anyGpu(batch: Batch): RuleResult {
  const conditioned =
    gpuConditions.some((name) => valueOf(batch, name) !== undefined) ||
    /cuda|gpu/i.test(valueOf(batch, 'requirements') ?? '');
  if (!wantsGpu(batch) || conditioned) return [];
  return {
    message:
      'no condition on the GPU: one that is too old for your CUDA fails the job after its data was transferred',
    fix: 'gpus_minimum_capability = 7.0 and gpus_minimum_runtime = 12.1 (the CUDA of your PyTorch), gpus_minimum_memory = 8 GB',
    place: whereSet(batch, 'request_gpus'),
  };
}

/** What today's HTCondor has instead of each. */
const newGpuCommands: Record<string, string> = {
  cudacapability: 'gpus_minimum_capability = 7.0',
  cudaglobalmemorymb: 'gpus_minimum_memory = 8 GB',
  cudadriverversion: 'gpus_minimum_runtime = 12.1',
  cudaruntimeversion: 'gpus_minimum_runtime = 12.1',
  cudadevicename: 'require_gpus = regexp("A100", DeviceName)',
};

/** Attributes of GPUs in an expression that machines no longer have. */
export function oldGpuNames(expression: string): string[] {
  const used = expression.matchAll(/\bCUDA(?:0)?[A-Z]\w+/gi);
  return [...new Set([...used].map(([name]) => name))].filter((name) => name.toLowerCase() in newGpuCommands);
}

function oldGpuAttributes(batch: Batch): RuleResult {
  const names = oldGpuNames(valueOf(batch, 'requirements') ?? '');
  if (names.length === 0) return [];
  return {
    message: `\`requirements\` uses \`${names.join('`, `')}\`: machines describe each GPU by itself now, so this matches none, and the job waits forever`,
    fix: `remove ${names.length === 1 ? 'it' : 'them'} and write: ${names.map((name) => newGpuCommands[name.toLowerCase()]).join(', ')}`,
    place: whereSet(batch, 'requirements'),
  };
}

function ignoredConditions(batch: Batch): RuleResult {
  const set = gpuConditions.filter((name) => assignmentOf(batch.queue, name) !== undefined);
  const [first] = set;
  if (wantsGpu(batch) || first === undefined) return [];
  return {
    message: `\`${set.join('`, `')}\` without \`request_gpus\`: HTCondor ignores ${set.length === 1 ? 'it' : 'them'}`,
    fix: 'request_gpus = 1',
    place: whereSet(batch, first),
  };
}

/** Beyond what any GPU or machine had in 2026. */
export const maxGpus = 16;
const maxCapability = 13;
const maxRuntime = 20;
const maxMemoryBytes = 512 * 2 ** 30;
const minMemoryBytes = 2 ** 30;

function impossibleGpu(batch: Batch): RuleResult {
  if (!wantsGpu(batch)) return [];
  const numberOf = (command: string): number => Number(valueOf(batch, command) ?? NaN);
  const [lowest, highest] = [numberOf('gpus_minimum_capability'), numberOf('gpus_maximum_capability')];
  const runtime = numberOf('gpus_minimum_runtime');
  const memory = parseQuantity(valueOf(batch, 'gpus_minimum_memory') ?? '', 'm');
  const problems: [string, boolean, string, string][] = [
    [
      'request_gpus',
      numberOf('request_gpus') > maxGpus,
      'no machine has that number of GPUs',
      'request_gpus = 1',
    ],
    [
      'gpus_minimum_capability',
      lowest > maxCapability,
      'a capability is a number like 8.0, and none is so high',
      `gpus_minimum_capability = ${(lowest / 10).toFixed(1)}`,
    ],
    [
      'gpus_maximum_capability',
      highest < lowest,
      `no GPU has at most ${highest} and at least ${lowest}`,
      'remove one of the two limits',
    ],
    [
      'gpus_minimum_runtime',
      // HTCondor also takes 12010 for 12.1.
      runtime > maxRuntime && runtime < 1000,
      'it is the version of CUDA, not of the driver',
      'gpus_minimum_runtime = 12.1',
    ],
    [
      'gpus_minimum_memory',
      memory !== undefined && memory.bytes > maxMemoryBytes,
      'no GPU has that much memory',
      'gpus_minimum_memory = 16 GB',
    ],
    [
      'gpus_minimum_memory',
      memory?.hasUnit === false && memory.bytes < minMemoryBytes,
      'without a unit it is in MB, so any GPU will do',
      `gpus_minimum_memory = ${valueOf(batch, 'gpus_minimum_memory') ?? ''} GB`,
    ],
  ];
  return problems
    .filter(([, isWrong]) => isWrong)
    .map(([command, , why, fix]) => ({
      message: `\`${command} = ${valueOf(batch, command) ?? ''}\`: ${why}`,
      fix,
      place: whereSet(batch, command),
    }));
}
