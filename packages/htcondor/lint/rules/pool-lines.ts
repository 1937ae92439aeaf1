import type { Rule, RuleResult } from '@updraft/base';
import {
  attributeValue,
  type Batch,
  perBatch,
  type SubmitFacts,
  whereSet,
} from '../../submit/submit-facts.ts';
import { wantsGpu } from './gpus.ts';

/** Rules about the lines that a pool asks of its users. */
export const poolLineRules: Rule<SubmitFacts>[] = [
  {
    name: 'duration-category',
    level: 'warning',
    about:
      'The pool limits the running time by category, and the file names none or one that does not exist.',
    check: perBatch(durationCategory),
  },
  {
    name: 'gpu-lines',
    level: 'warning',
    about: 'The pool gives its shared GPUs only to jobs with certain attributes, and the file lacks them.',
    check: perBatch(gpuLines),
  },
];

const oneOf = (attribute: string, names: readonly string[]): string =>
  `choose "${names.join('" or "')}", and write:\n+${attribute} = "${names[0] ?? ''}"`;

function durationCategory(batch: Batch, { limits }: SubmitFacts): RuleResult {
  const known = limits.durationCategories;
  const given = attributeValue(batch, 'JobDurationCategory')?.replaceAll('"', '');
  if (known.length === 0 || (given !== undefined && known.includes(given))) return [];
  return {
    message:
      given === undefined
        ? `no +JobDurationCategory: ${limits.title} uses "${known[0] ?? ''}" and holds jobs that run longer`
        : `${limits.title} has no duration category "${given}"`,
    fix: oneOf('JobDurationCategory', known),
    place: whereSet(batch, 'MY.JobDurationCategory'),
  };
}

function gpuLines(batch: Batch, { limits }: SubmitFacts): RuleResult {
  if (!wantsGpu(batch)) return [];
  const missing = Object.entries(limits.gpuAttributes).filter(
    ([name]) => attributeValue(batch, name) === undefined,
  );
  const { attribute, names } = limits.gpuLengths ?? { attribute: '', names: [] };
  const length = attributeValue(batch, attribute)?.replaceAll('"', '');
  return [
    ...missing.map(([name, value]) => ({
      message: `no +${name}: ${limits.title} keeps its shared GPUs for jobs that have it, so this one waits for other GPUs`,
      fix: `+${name} = ${value}`,
      place: whereSet(batch, 'request_gpus'),
    })),
    ...(length === undefined || names.includes(length)
      ? []
      : [
          {
            message: `${limits.title} has no ${attribute} "${length}"`,
            fix: oneOf(attribute, names),
            place: whereSet(batch, `MY.${attribute}`),
          },
        ]),
  ];
}
