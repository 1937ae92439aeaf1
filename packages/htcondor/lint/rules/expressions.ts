import type { Found, Rule } from '@updraft/base';
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
} from '../../submit/submit-facts.ts';
import { canonicalCommand } from '../../submit/submit-commands.ts';
import { meantRequest } from './resources.ts';
import { opennessOf } from '../../submit/undefined-names.ts';

/** Commands whose value HTCondor reads as an expression, if it is not an amount. It ignores `request_gpu`. */
const expressions =
  /^(requirements|rank|require_gpus|request_(?![cg]pu$)\w+|gpus_(minimum|maximum)_\w+|leave_in_queue|(periodic|on_exit)_(hold|release|remove|vacate)(_reason|_subcode)?|retry_until|job_lease_duration|allowed_(job|execute)_duration|want_graceful_removal|job_max_vacate_time|keep_claim_idle|next_job_start_delay|max_transfer_(input|output)_mb|max_job_retirement_time|deferral_time|concurrency_limits_expr|noop_job(_exit_code|_exit_signal)?)$/;
export const isExpression = (command: string): boolean => expressions.test(command);
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
    about: 'A value is not a valid ClassAd expression or amount, so HTCondor refuses the file.',
    check: (facts) => {
      // The command line or a DAG may complete a value.
      const isOpen = opennessOf(facts.submission);
      return batches(facts).flatMap((batch) => badExpressions(batch, isOpen));
    },
  },
  {
    name: 'odd-amount',
    level: 'warning',
    about:
      'An amount or a condition is read as something else: a text or a name, which no machine satisfies, or its first digits.',
    check: perBatch((batch) => [
      ...texts(batch),
      ...['request_memory', 'request_disk'].flatMap((command) => shortened(batch, command)),
    ]),
  },
];

function badExpressions(batch: Batch, isOpen: (raw: string) => boolean): Found[] {
  const { commands, attributes } = batch.job;
  const values = [
    ...Object.entries(commands)
      .filter(([name, value]) => isExpression(name) && !isAmount(name, value))
      .map(([name, value]) => ({ name, shown: name, value })),
    ...Object.entries(attributes).map(([name, value]) => ({ name: `MY.${name}`, shown: `+${name}`, value })),
  ];
  return values.flatMap(({ name, shown, value }) => {
    const raw = assignmentOf(batch.queue, name)?.value ?? value;
    if (value.trim() === '' || value.includes('$') || isOpen(raw)) return [];
    const why = whyNoExpression(value);
    if (why === undefined) return [];
    return {
      message: `\`${shown} = ${clipped(value)}\` is not a valid expression: ${why}; HTCondor refuses the file`,
      fix: fixOf(shown, value),
      place: whereSet(batch, name),
    };
  });
}

function isAmount(command: string, value: string): boolean {
  const unit = amounts[command];
  const isList = command === 'gpus_minimum_memory' && value.includes(',');
  return unit !== undefined && !isList && parseQuantity(value, unit) !== undefined;
}

const clipped = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

function fixOf(shown: string, value: string): string {
  const [, before, comment] = /^(.*?)\s+(#.*)$/s.exec(value) ?? [];
  if (before !== undefined && comment !== undefined)
    return `put the comment on its own line:\n${shown} = ${before}`;
  const command = meantRequest(shown) ?? canonicalCommand(shown.replace('+', '')) ?? shown;
  if (command in amounts && /^[\d.]+\s*[a-z]/i.test(value)) {
    const [, number, unit = ''] =
      /^([\d.]*\d)\s*([kmgt])(?:i?b|ig\w*|eg\w*|ilo\w*|era\w*)?(?!\w)/i.exec(value) ?? [];
    const amount = number === undefined ? '4 GB' : `${number} ${unit.toUpperCase()}B`;
    const words = number === undefined ? 'write the amount with its unit, such as:\n' : '';
    return `${shown.startsWith('+') ? `remove \`${shown}\`, and write:\n` : words}${command} = ${amount}`;
  }
  const [, count] = /^request_\w+$/.test(shown) ? (/^\s*(\d+)\s/.exec(value) ?? []) : [];
  if (count !== undefined) return `${command} = ${count}`;
  const [, kept] = /^(.*?)\s*;+$/s.exec(value) ?? [];
  if (kept !== undefined && whyNoExpression(kept) === undefined)
    return `remove the semicolon:\n${shown} = ${kept}`;
  if (/^\+|_reason$/.test(shown) && !value.includes('"'))
    return `if you mean the text:\n${shown} = "${value}"`;
  return 'correct the expression';
}

/** What machines compare with a number or take as a condition. */
const compared = /^(request_\w+|gpus_(minimum|maximum)_\w+|requirements|require_gpus)$/;

function texts(batch: Batch): Found[] {
  return Object.entries(batch.job.commands).flatMap(([command, text]) => {
    const value = text.trim();
    const [, inner] = /^"((?:[^"\\]|\\.)*)"$/s.exec(value) ?? [];
    const isWord =
      /^request_[cg]pus$/.test(command) && /^(yes|no|on|off|one|two|four|all|any|max|auto)$/i.test(value);
    if (!compared.test(command) || (inner === undefined && !isWord)) return [];
    const what = isWord ? 'the name of an attribute, not a number' : 'a text';
    return {
      message: `\`${command} = ${clipped(value)}\` is ${what}: no machine satisfies it, and the job waits forever`,
      fix: `${command} = ${inner?.replaceAll(String.raw`\"`, '"') ?? '1'}`,
      place: whereSet(batch, command),
    };
  });
}

function shortened(batch: Batch, command: string): Found | [] {
  const value = valueOf(batch, command) ?? '';
  const [, first = '', rest = ''] = /^(\d+),(\d{1,3}(?:\.\d+)?(?:\s*[kmgt]?b?)?)$/i.exec(value) ?? [];
  if (rest === '') return [];
  const read = parseQuantity(first, amounts[command] ?? 'm')?.bytes ?? 0;
  return {
    message: `\`${command} = ${value}\` is a list: the first attempt gets ${formatQuantity(read)}`,
    fix: `write it without the comma:\n${command} = ${/^\d{3}/.test(rest) ? first + rest : `${first}.${rest}`}`,
    place: whereSet(batch, command),
  };
}
