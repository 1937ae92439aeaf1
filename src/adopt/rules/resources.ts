import { nearest } from '../../base/nearest.ts';
import {
  assignmentOf,
  attributeValue,
  type Batch,
  type SubmitFacts,
  parseQuantity,
  perBatch,
  whereSet,
  formatQuantity,
  valueOf,
} from '../submit-facts.ts';
import type { RuleResult, Rule } from '../../base/finding.ts';

/** Rules about the resources a job requests. */
export const resourceRules: Rule<SubmitFacts>[] = [
  {
    name: 'no-units',
    level: 'warning',
    about: 'Memory or disk is requested without a unit: memory is then in MB and disk in KB.',
    check: perBatch(withoutUnits),
  },
  {
    name: 'no-request',
    level: 'warning',
    about: 'Memory or disk is not requested, so a small default applies.',
    check: perBatch(withoutRequest),
  },
  {
    name: 'odd-resource',
    level: 'warning',
    about: 'The name of a requested resource looks mistyped: no machine has it, so the job waits forever.',
    check: perBatch(oddResources),
  },
  {
    name: 'below-use',
    level: 'error',
    about: 'The file requests less memory or disk than earlier jobs used, according to their log.',
    check: perBatch(belowUse),
  },
  {
    name: 'gpu-any',
    level: 'warning',
    about: 'A GPU is requested without a condition on its capability, memory or driver.',
    check: perBatch(anyGpu),
  },
  {
    name: 'gpu-condition-ignored',
    level: 'error',
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
    name: 'no-project',
    level: 'warning',
    about: 'The pool accounts by project, and the file names none.',
    check: perBatch((batch, { limits }) =>
      limits.wantsProject &&
      attributeValue(batch, 'ProjectName') === undefined &&
      valueOf(batch, 'project_name') === undefined
        ? {
            message: `no project: ${limits.title} accounts by project, and uses your default project or refuses the job`,
            fix: '+ProjectName = "YourProject"',
            place: batch.queue.place,
          }
        : undefined,
    ),
  },
  {
    name: 'duration-category',
    level: 'warning',
    about:
      'The pool limits the running time by category, and the file names none or one that does not exist.',
    check: perBatch(durationCategory),
  },
];

const plainUnits = { request_memory: 'm', request_disk: 'k' } as const;
type Request = keyof typeof plainUnits;
const requests: Request[] = ['request_memory', 'request_disk'];

function withoutUnits(batch: Batch): RuleResult {
  return requests.flatMap((name) => {
    const quantity = parseQuantity(valueOf(batch, name) ?? '', plainUnits[name]);
    if (quantity === undefined || quantity.hasUnit) return [];
    const unit = name === 'request_memory' ? 'MB' : 'KB';
    return {
      message: `\`${name} = ${valueOf(batch, name) ?? ''}\` means ${formatQuantity(quantity.bytes)}: without a unit it is in ${unit}, and some access points refuse it`,
      fix: `add the unit: ${name} = ${formatQuantity(quantity.bytes)}`,
      place: whereSet(batch, name),
    };
  });
}

function withoutRequest(batch: Batch): RuleResult {
  const missing = requests.filter((name) => valueOf(batch, name) === undefined);
  if (missing.length === 0) return [];
  return {
    message: `no \`${missing.join('` and no `')}\`: the default is 128 MB of memory and about what the input takes on disk`,
    fix: missing.map((name) => `${name} = ${name === 'request_memory' ? '4 GB' : '10 GB'}`).join(', '),
    place: batch.queue.place,
  };
}

const resources = ['cpus', 'memory', 'disk', 'gpus'];

function oddResources(batch: Batch): RuleResult {
  return Object.keys(batch.job.commands).flatMap((command) => {
    const name = /^request_(\w+)$/.exec(command)?.[1];
    const suggestion = name === undefined || resources.includes(name) ? undefined : nearest(name, resources);
    if (name === undefined || suggestion === undefined) return [];
    return {
      message: `\`${command}\` requests a resource named "${name}", which no machine has: the job would wait forever`,
      fix: `request_${suggestion} = ${valueOf(batch, command) ?? ''}`,
      place: whereSet(batch, command),
    };
  });
}

function belowUse(batch: Batch, { usage }: SubmitFacts): RuleResult {
  const used: Record<Request, number | undefined> = {
    request_memory: usage?.memoryMegabytes === undefined ? undefined : usage.memoryMegabytes * 2 ** 20,
    request_disk: usage?.diskKilobytes === undefined ? undefined : usage.diskKilobytes * 1024,
  };
  return requests.flatMap((name) => {
    const asked = parseQuantity(valueOf(batch, name) ?? '', plainUnits[name])?.bytes;
    const max = used[name];
    if (asked === undefined || max === undefined || asked >= max) return [];
    const enough = Math.ceil((max * 1.2) / 2 ** 30);
    return {
      message: `${formatQuantity(asked)} requested, but a job in ${usage?.log ?? ''} used ${formatQuantity(max)}: such jobs are held or killed`,
      fix: `${name} = ${enough} GB`,
      place: whereSet(batch, name),
    };
  });
}

const gpuConditions = [
  'gpus_minimum_capability',
  'gpus_minimum_memory',
  'gpus_minimum_runtime',
  'gpus_maximum_capability',
  'require_gpus',
];

const wantsGpu = (batch: Batch): boolean => {
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

function oldGpuAttributes(batch: Batch): RuleResult {
  const used = (valueOf(batch, 'requirements') ?? '').matchAll(/\bCUDA(?:0)?[A-Z]\w+/gi);
  const names = [...new Set([...used].map(([name]) => name))].filter(
    (name) => name.toLowerCase() in newGpuCommands,
  );
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

function durationCategory(batch: Batch, { limits }: SubmitFacts): RuleResult {
  const known = limits.durationCategories;
  const given = attributeValue(batch, 'JobDurationCategory')?.replaceAll('"', '');
  if (known.length === 0 || (given !== undefined && known.includes(given))) return [];
  return {
    message:
      given === undefined
        ? `no +JobDurationCategory: ${limits.title} uses "${known[0] ?? ''}" and holds jobs that run longer`
        : `${limits.title} has no duration category "${given}"`,
    fix: `+JobDurationCategory = "${known.join('" or "')}"`,
    place: whereSet(batch, 'MY.JobDurationCategory'),
  };
}
