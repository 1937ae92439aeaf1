import { asFound, type Found, type Rule, type RuleResult, rule, given } from '@updraft/base';
import {
  assignmentOf,
  type Batch,
  parseQuantity,
  perBatch,
  type SubmitFacts,
  valueOf,
  whereSet,
} from '../../submit/submit-facts.ts';

/** Rules about GPUs. */
export const gpuRules: Rule<SubmitFacts>[] = [
  rule(
    'gpu-any',
    'warning',
    'A GPU is requested without a condition on its capability, memory or driver.',
    perBatch(anyGpu),
  ),
  rule(
    'gpu-condition-ignored',
    'warning',
    'There are conditions on GPUs, but no GPU is requested: HTCondor ignores them.',
    perBatch(ignoredConditions),
  ),
  rule(
    'old-gpu-attributes',
    'warning',
    '`requirements` or `require_gpus` use GPU attributes that no longer exist, so they match none.',
    perBatch((batch) => ['requirements', 'require_gpus'].flatMap((command) => oldNamesIn(batch, command))),
  ),
  rule(
    'gpu-nowhere',
    'warning',
    'A condition on GPUs that no GPU meets, or that every GPU does.',
    perBatch(impossibleGpu),
  ),
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
  return asFound(
    'no condition on the GPU: one that is too old for your CUDA fails the job after its data has arrived',
    'add what you need; the runtime is the CUDA of your PyTorch:\n' +
      'gpus_minimum_capability = 7.0\ngpus_minimum_runtime = 12.1\ngpus_minimum_memory = 8 GB',
    whereSet(batch, 'request_gpus'),
  );
}

/** The property of a GPU that each attribute has become, and the command for its minimum. */
const newGpuNames: Record<string, [property: string, minimum?: string]> = {
  cudacapability: ['Capability', 'gpus_minimum_capability'],
  cudaglobalmemorymb: ['GlobalMemoryMb', 'gpus_minimum_memory'],
  cudadriverversion: ['DriverVersion', 'gpus_minimum_runtime'],
  cudaruntimeversion: ['DriverVersion', 'gpus_minimum_runtime'],
  cudadevicename: ['DeviceName'],
};
const oldName = /(?:\b(?:TARGET|MY)\.)?\bCUDA[A-Z]\w+/gi;
const newName = (name: string): [string, string?] | undefined =>
  newGpuNames[name.replace(/^.*\./, '').toLowerCase()];

/** Attributes of GPUs in an expression that machines no longer have. */
export function oldGpuNames(expression: string): string[] {
  const used = expression.replaceAll(/"[^"]*"/g, '').matchAll(oldName);
  return [...new Set([...used].map(([name]) => name))].filter((name) => newName(name) !== undefined);
}

/** The conditions that an expression joins with `&&`, also within parentheses. */
function conditionsIn(expression: string): string[] {
  const text = expression.trim();
  const parts: string[] = [];
  let [depth, from, isQuoted, isWrapped] = [0, 0, false, text.startsWith('(')];
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at] ?? '';
    if (mark === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (mark === '(') depth += 1;
    if (mark === ')') depth -= 1;
    if (depth === 0 && at < text.length - 1) isWrapped = false;
    if (depth !== 0) continue;
    // One of several alternatives is no condition.
    if (text.startsWith('||', at) || mark === '?') return [text];
    if (!text.startsWith('&&', at)) continue;
    parts.push(text.slice(from, at));
    from = at + 2;
  }
  if (isWrapped && depth === 0) return conditionsIn(text.slice(1, -1));
  return parts.length === 0 ? [text] : [...parts, text.slice(from)].flatMap(conditionsIn);
}

/** Lines that say what an expression with old attributes means; undefined where only its author can write them. */
export function todaysGpuLines(expression: string, requireGpus: string | undefined): string[] | undefined {
  const conditions = conditionsIn(expression);
  const kept = conditions.filter((one) => oldGpuNames(one).length === 0);
  const [lines, own]: [string[], string[]] = [[], []];
  for (const one of conditions.filter((each) => !kept.includes(each))) {
    const [, name = '', operator = '', value = ''] =
      /^([\w.]+)\s*([<>=!?]+|isnt|is)\s*(\S.*)$/i.exec(one) ?? [];
    // Every GPU has them.
    if (/^undefined$/i.test(value) || /^!\s*isUndefined\(/i.test(one)) continue;
    const minimum = newName(name)?.[1];
    if (minimum !== undefined && operator === '>=' && /^\d+(\.\d+)?$/.test(value))
      lines.push(`${minimum} = ${value}`);
    else own.push(withNewNames(one));
  }
  // Attributes of the machine are no properties of its GPUs.
  const known = new Set([
    'true',
    'false',
    'regexp',
    ...Object.values(newGpuNames).map(([one]) => one.toLowerCase()),
  ]);
  const words =
    own
      .join(' ')
      .replaceAll(/"[^"]*"/g, '')
      .match(/[A-Za-z_][\w.]*/g) ?? [];
  if (words.some((word) => !known.has(word.toLowerCase()))) return undefined;
  const all = requireGpus === undefined ? own : [...conditionsIn(requireGpus), ...own];
  return given(
    kept.length > 0 && `requirements = ${joined(kept)}`,
    ...lines,
    own.length > 0 && `require_gpus = ${joined(all)}`,
  );
}

const joined = (conditions: readonly string[]): string =>
  conditions.map((one) => (conditions.length > 1 && /\|\||\?/.test(one) ? `(${one})` : one)).join(' && ');

const withNewNames = (expression: string): string =>
  expression.replaceAll(/"[^"]*"|[^"]+/g, (part) =>
    part.startsWith('"') ? part : part.replaceAll(oldName, (old) => newName(old)?.[0] ?? old),
  );

function oldNamesIn(batch: Batch, command: string): Found[] {
  const expression = valueOf(batch, command) ?? '';
  const names = oldGpuNames(expression);
  if (names.length === 0) return [];
  const own = valueOf(batch, 'require_gpus');
  const isOwn = command === 'require_gpus';
  const lines = isOwn
    ? [`require_gpus = ${withNewNames(expression)}`]
    : todaysGpuLines(expression, own && withNewNames(own));
  const keepsSome = isOwn || lines?.some((line) => line.startsWith('requirements')) === true;
  const all = given(...(lines ?? []), !wantsGpu(batch) && 'request_gpus = 1');
  const found = asFound(
    `\`${command}\` uses \`${names.join('`, `')}\`: machines describe each ` +
      'GPU by itself now, so this matches none, and the job waits forever',
    lines === undefined
      ? `express ${names.length === 1 ? 'it' : 'them'} in require_gpus, ` +
          `with ${names.map((name) => newName(name)?.[0] ?? '').join(', ')}`
      : all.length === 0
        ? 'remove `requirements`'
        : [`${keepsSome ? 'write instead' : 'remove `requirements`, and write'}:`, ...all].join('\n'),
    whereSet(batch, command),
  );
  return [found];
}

function ignoredConditions(batch: Batch): RuleResult {
  const set = gpuConditions.filter((name) => assignmentOf(batch.queue, name) !== undefined);
  const [first] = set;
  if (wantsGpu(batch) || first === undefined) return [];
  return asFound(
    `\`${set.join('`, `')}\` without \`request_gpus\`: HTCondor ignores ${set.length === 1 ? 'it' : 'them'}`,
    'request_gpus = 1',
    whereSet(batch, first),
  );
}

/** Beyond what any GPU or machine had in 2026. */
export const maxGpus = 16;
const maxCapability = 13;
const maxRuntime = 20;
const maxMemoryBytes = 512 * 2 ** 30;
const minMemoryBytes = 2 ** 30;

const maxProperties = {
  capability: maxCapability,
  globalmemorymb: maxMemoryBytes / 2 ** 20,
  driverversion: maxRuntime,
};
const minimumIn = (condition: string, property: string): number =>
  Number(new RegExp(`^\\s*${property}\\s*>=?\\s*([\\d.]+)\\s*$`, 'i').exec(condition)?.[1] ?? 0);

function impossibleGpu(batch: Batch): RuleResult {
  if (!wantsGpu(batch)) return [];
  const numberOf = (command: string): number => Number(valueOf(batch, command) ?? NaN);
  const [lowest, highest] = [numberOf('gpus_minimum_capability'), numberOf('gpus_maximum_capability')];
  const runtime = numberOf('gpus_minimum_runtime');
  const memory = parseQuantity(valueOf(batch, 'gpus_minimum_memory') ?? '', 'm');
  const own = conditionsIn(valueOf(batch, 'require_gpus') ?? '');
  const problems: [string, boolean, string, string][] = [
    [
      'require_gpus',
      Object.entries(maxProperties).some(([name, max]) => own.some((one) => minimumIn(one, name) > max)),
      'no GPU has that: Capability is like 8.0, GlobalMemoryMb in MB, DriverVersion the version of CUDA',
      'correct the number',
    ],
    [
      'request_gpus',
      numberOf('request_gpus') > maxGpus,
      'no machine has that number of GPUs',
      'request_gpus = 1',
    ],
    [
      'gpus_minimum_capability',
      lowest > maxCapability,
      'a capability is a number like 8.0, and none is that high',
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
    .map(([command, , why, fix]) =>
      asFound(`\`${command} = ${valueOf(batch, command) ?? ''}\`: ${why}`, fix, whereSet(batch, command)),
    );
}
