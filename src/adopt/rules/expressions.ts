import type { Found, Rule } from '../../base/finding.ts';
import { whyNoExpression } from '../../classad/expression.ts';
import {
  assignmentOf,
  type Batch,
  batches,
  formatQuantity,
  parseQuantity,
  perBatch,
  type SubmitFacts,
  valueOf,
  whereSet,
} from '../submit-facts.ts';
import { meantRequest } from './resources.ts';
import { opennessOf } from '../undefined-names.ts';

/** Commands whose value HTCondor reads as an expression, if it is not an amount. It ignores `request_gpu`. */
const expressions =
  /^(requirements|rank|require_gpus|request_(?![cg]pu$)\w+|gpus_(minimum|maximum)_\w+|leave_in_queue|(periodic|on_exit)_(hold|release|remove|vacate)(_reason|_subcode)?|retry_until|job_lease_duration|allowed_(job|execute)_duration)$/;
const amounts: Record<string, 'k' | 'm'> = {
  request_memory: 'm',
  request_disk: 'k',
  gpus_minimum_memory: 'm',
};

/** Rules about values that HTCondor reads as ClassAd expressions. */
export const expressionRules: Rule<SubmitFacts>[] = [
  {
    name: 'bad-expression',
    level: 'error',
    about:
      'A value is neither a ClassAd expression nor an amount that HTCondor knows, so it refuses the file.',
    check: (facts) => {
      // The command line or a DAG may complete a value.
      const isOpen = opennessOf(facts.submission);
      return batches(facts).flatMap((batch) => badExpressions(batch, isOpen));
    },
  },
  {
    name: 'odd-amount',
    level: 'warning',
    about: 'An amount is read as something else: a text, which no machine satisfies, or its first digits.',
    check: perBatch((batch) => Object.keys(amounts).flatMap((command) => oddAmount(batch, command))),
  },
];

function badExpressions(batch: Batch, isOpen: (raw: string) => boolean): Found[] {
  const { commands, attributes } = batch.job;
  const values = [
    ...Object.entries(commands)
      .filter(([name, value]) => expressions.test(name) && !isAmount(name, value))
      .map(([name, value]) => ({ name, shown: name, value })),
    ...Object.entries(attributes).map(([name, value]) => ({ name: `MY.${name}`, shown: `+${name}`, value })),
  ];
  return values.flatMap(({ name, shown, value }) => {
    const raw = assignmentOf(batch.queue, name)?.value ?? value;
    if (value.trim() === '' || value.includes('$') || isOpen(raw)) return [];
    const why = whyNoExpression(value);
    if (why === undefined) return [];
    return {
      message: `\`${shown} = ${clipped(value)}\` is not an expression: ${why}; HTCondor refuses the file`,
      fix: fixOf(shown, value),
      place: whereSet(batch, name),
    };
  });
}

function isAmount(command: string, value: string): boolean {
  const unit = amounts[command];
  return unit !== undefined && parseQuantity(value, unit) !== undefined;
}

const clipped = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

function fixOf(shown: string, value: string): string {
  const [, before, comment] = /^(.*?)\s+(#.*)$/s.exec(value) ?? [];
  if (before !== undefined && comment !== undefined)
    return `put the comment on its own line:\n${shown} = ${before}`;
  const [, number = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([kmgt])[a-z]*\s*$/i.exec(value) ?? [];
  const command = meantRequest(shown) ?? shown;
  if (command in amounts && number !== '') return `${command} = ${number} ${unit.toUpperCase()}B`;
  const [, count] = /^request_\w+$/.test(shown) ? (/^\s*(\d+)\s/.exec(value) ?? []) : [];
  if (count !== undefined) return `${command} = ${count}`;
  if (/^\+|_reason$/.test(shown) && !value.includes('"'))
    return `if you mean the text:\n${shown} = "${value}"`;
  return 'correct the expression';
}

function oddAmount(batch: Batch, command: string): Found | [] {
  const value = valueOf(batch, command) ?? '';
  const place = whereSet(batch, command);
  const quoted = /^"(.*)"$/.exec(value)?.[1];
  if (quoted !== undefined)
    return {
      message: `\`${command} = ${value}\` is a text: no machine has that much of it, and the job waits forever`,
      fix: `${command} = ${quoted}`,
      place,
    };
  const [, first = '', rest = ''] = /^(\d+),(\d{1,3}(?:\.\d+)?(?:\s*[kmgt]?b?)?)$/i.exec(value) ?? [];
  if (rest === '') return [];
  const read = parseQuantity(first, amounts[command] ?? 'm')?.bytes ?? 0;
  return {
    message: `\`${command} = ${value}\` is a list: the first attempt gets ${formatQuantity(read)}`,
    fix: `write it without the comma:\n${command} = ${/^\d{3}/.test(rest) ? first + rest : `${first}.${rest}`}`,
    place,
  };
}
