import { nearest, type Rule, type RuleResult, withHeadroom } from '@updraft/base';
import { whyNoExpression } from '../../classad/expression.ts';
import {
  type Batch,
  type SubmitFacts,
  parseQuantity,
  perBatch,
  whereSet,
  formatQuantity,
  valueOf,
} from '../../submit/submit-facts.ts';

/** Rules about the resources a job requests. */
export const resourceRules: Rule<SubmitFacts>[] = [
  {
    name: 'no-units',
    level: 'warning',
    about: 'Memory or disk is requested without a unit: memory is then in MB and disk in KB.',
    check: perBatch(withoutUnits),
  },
  {
    name: 'odd-resource',
    level: 'warning',
    about: 'The name of a requested resource looks mistyped: the job waits forever, or gets none of it.',
    check: perBatch(oddResources),
  },
  {
    name: 'below-use',
    level: 'warning',
    about: 'The file requests less memory or disk than earlier jobs used, according to their log.',
    check: perBatch(belowUse),
  },
];

const plainUnits = { request_memory: 'm', request_disk: 'k' } as const;
type Request = keyof typeof plainUnits;
const requests: Request[] = ['request_memory', 'request_disk'];

function withoutUnits(batch: Batch): RuleResult {
  return requests.flatMap((name) => {
    const value = valueOf(batch, name) ?? '';
    const quantity = parseQuantity(value, plainUnits[name]);
    if (quantity === undefined || quantity.hasUnit || value.includes(',')) return [];
    const unit = name === 'request_memory' ? 'MB' : 'KB';
    const meant = meantAmount(Number(value), quantity.bytes);
    return {
      message: `\`${name} = ${value}\` means ${formatQuantity(quantity.bytes)}: without a unit it is in ${unit}, and some access points refuse it`,
      fix:
        meant === undefined
          ? `add the unit:\n${name} = ${exactAmount(quantity.bytes) ?? `${value} ${unit}`}`
          : `write what you mean, such as:\n${name} = ${meant}`,
      place: whereSet(batch, name),
    };
  });
}

/** In a large unit, if nothing is rounded. */
function exactAmount(bytes: number): string | undefined {
  const amount = formatQuantity(bytes);
  return parseQuantity(amount, 'k')?.bytes === bytes ? amount : undefined;
}

/** What somebody who requests less than any training takes probably meant. */
function meantAmount(number: number, bytes: number): string | undefined {
  if (bytes >= 128 * 2 ** 20) return undefined;
  return number < 1000 ? `${Math.max(1, number)} GB` : `${number} MB`;
}

const resources = ['cpus', 'memory', 'disk', 'gpus'];

/** What `request_memry` was meant to be; undefined where the name is right, or like no other. */
export function meantRequest(command: string): string | undefined {
  const name = /^request_(\w+)$/.exec(command)?.[1];
  const meant = name === undefined || resources.includes(name) ? undefined : nearest(name, resources);
  return meant && `request_${meant}`;
}

function oddResources(batch: Batch): RuleResult {
  return Object.entries(batch.job.commands).flatMap(([command, value]) => {
    const meant = meantRequest(command);
    // HTCondor knows these two mistakes, and does not read their values.
    const isIgnored = /^request_[cg]pu$/.test(command);
    // What HTCondor refuses is another finding.
    const isRefused = !isIgnored && !value.includes('$') && whyNoExpression(value) !== undefined;
    if (meant === undefined || isRefused) return [];
    return {
      message: isIgnored
        ? `\`${command}\` is not a submit command: HTCondor warns about it, and ignores it`
        : `\`${command}\` requests a resource named "${command.slice('request_'.length)}": the job waits forever, unless a machine has one`,
      fix: `${meant} = ${value}`,
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
    const enough = Math.ceil(withHeadroom(max) / 2 ** 30);
    return {
      message: `${formatQuantity(asked)} requested, but a job in ${usage?.log ?? ''} used ${formatQuantity(max)}: such jobs are held or killed`,
      fix: `${name} = ${enough} GB`,
      place: whereSet(batch, name),
    };
  });
}
