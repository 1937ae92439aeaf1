import { asFound, type Found, type Rule, rule } from '@updraft/base';
import { secretInOption, secretInVariable, textWithoutSecrets } from '@updraft/base/secrets';
import {
  assignmentOf,
  batches,
  perBatch,
  unquoted,
  valueOf,
  whereSet,
  type Batch,
  type SubmitFacts,
  formatQuantity,
  parseQuantity,
} from '../../submit/submit-facts.ts';
import { wordsOf } from '../../submit/split-arguments.ts';
import { canonicalCommand } from '../../submit/submit-commands.ts';

/** How a job gets a secret. */
export const sendSecret =
  'send a file that only you can read in transfer_input_files, read the ' +
  'secret from it in the job, and replace the secret: it may have been seen';

/** Rules about single values. */
export const valueRules: Rule<SubmitFacts>[] = [
  rule(
    'comment-in-value',
    'warning',
    'A comment follows a value on its line, and is part of the value; ' +
      'an error where the jobs then fail.',
    commentsInValues,
  ),
  rule(
    'command-as-attribute',
    'warning',
    'A submit command is written as an attribute (`+request_gpus`), so HTCondor does not act on it.',
    attributesForCommands,
  ),
  rule(
    'environment-secret',
    'error',
    'A secret is in `environment` or `arguments`, which everyone can read in the queue and in logs.',
    (facts) => {
      // The same words are in many queue statements.
      const known = new Map<string, string[]>();
      const names = (word: string): string[] =>
        known.get(word) ?? known.set(word, secretIn(word)).get(word) ?? [];
      return batches(facts).flatMap((batch) => secretsOf(batch, names));
    },
  ),
];

/** Commands whose value is read by people, or may well have a `#`. */
const free = /^(description|batch_name|submit_event_(user_)?notes|shell)$/;
/** With a `#` in these, the jobs fail. Where it fits no other value, HTCondor refuses the file and says so. */
const fatal =
  /^(executable|initialdir|input|arguments|environment|container_image|transfer_(input|output|checkpoint)_files)$/;

function commentsInValues({ submission }: SubmitFacts): Found[] {
  return submission.assignments.flatMap((assignment) => {
    const { name, command = '', attribute, value, place } = assignment;
    const at = withoutTexts(value).search(/\s#/);
    const isPlain = /^(arguments|environment)$/.test(command) && !value.startsWith('"');
    const isMacro = command === '' && attribute === undefined;
    if (at === -1 || isMacro || (isPlain && command === 'arguments') || free.test(command)) return [];
    const isUsed = submission.queues.some((queue) => assignmentOf(queue, command || name) === assignment);
    const isFatal = isUsed && fatal.test(command) && !isPlain;
    return {
      ...(isFatal ? { level: 'error' as const } : {}),
      message:
        `\`${value.slice(at).trim()}\` is part of the value: HTCondor allows comments ` +
        'only on their own lines',
      fix: `put the comment on the line above:\n${name.replace(/^MY\./i, '+')} = ${value.slice(0, at).trim()}`,
      place,
    };
  });
}

/** Of the same length, with nothing in its quotes. */
const withoutTexts = (value: string): string =>
  value.replaceAll(/"(?:[^"\\]|\\.)*"/gs, (text) => `"${'_'.repeat(text.length - 2)}"`);

function attributesForCommands({ submission }: SubmitFacts): Found[] {
  return submission.assignments.flatMap(({ attribute = '', value, place }) => {
    if (!/^(request_\w+|requirements|docker_image|container_image)$/i.test(attribute)) return [];
    const command = canonicalCommand(attribute) ?? attribute.toLowerCase();
    return asFound(
      `\`+${attribute}\` only sets an attribute of that name: ` +
        `HTCondor does not read it as the command \`${command}\``,
      `${command} = ${unquoted(value)}`,
      place,
    );
  });
}

const secretsOf = (batch: Batch, namesIn: (word: string) => string[]): Found[] =>
  (['environment', 'arguments'] as const).flatMap((command) => {
    const text = valueOf(batch, command) ?? '';
    const patterns = command === 'environment' ? [secretInVariable] : [secretInVariable, secretInOption];
    const found = patterns
      .flatMap((pattern) => [...text.matchAll(pattern)])
      .map(([whole, start = '']) => ({
        name: start.replace(/[^\w-]+$/, ''),
        value: whole.slice(start.length),
      }))
      .filter(({ value }) => isSecretValue(value));
    const others = wordsOf(command, text).filter((word) => !found.some(({ value }) => word.includes(value)));
    return [...found.map(({ name }) => name), ...others.flatMap(namesIn)].map((name) =>
      asFound(
        `${name === '' ? 'a word' : `\`${name}\``} is a secret in \`${command}\`: ` +
          'anyone who can see the queue or the log can read it',
        sendSecret,
        whereSet(batch, command),
      ),
    );
  });

/** The name of a secret that its form shows, or a name before several words. */
function secretIn(word: string): string[] {
  const [, name = '', value = word] = /^([\w.-]+)=(.*)$/s.exec(word) ?? [];
  // A user without a password is no secret.
  const plain = value.replaceAll(/(:\/\/)[^/@\s:]+@/g, '$1');
  const joined = `${name}=${value.replaceAll(/[\s"';]/g, '_')}`;
  const isNamed = isSecretValue(value) && joined.search(secretInVariable) !== -1;
  return isNamed || textWithoutSecrets(plain) !== plain ? [name] : [];
}

/** Not a path, URL or macro, which only name a secret, nor HTCondor's word for `$ENV()` of an unset variable. */
const isSecretValue = (value: string): boolean =>
  value.length >= 8 && value !== 'UNDEFINED' && !/^(?:[./~$]|\w+:\/\/)/.test(value);

const amounts: Record<string, 'k' | 'm'> = {
  request_memory: 'm',
  request_disk: 'k',
  gpus_minimum_memory: 'm',
};

/** Rules about values that HTCondor reads as ClassAd expressions. */
export const expressionRules: Rule<SubmitFacts>[] = [
  rule(
    'odd-amount',
    'warning',
    'An amount or a condition is read as something else: ' +
      'a text or a name, which no machine satisfies, or its first digits.',
    perBatch((batch) => [
      ...texts(batch),
      ...['request_memory', 'request_disk'].flatMap((command) => shortened(batch, command)),
    ]),
  ),
];

const clipped = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

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
    return asFound(
      `\`${command} = ${clipped(value)}\` is ${what}: no machine satisfies it, and the job waits forever`,
      `${command} = ${inner?.replaceAll(String.raw`\"`, '"') ?? '1'}`,
      whereSet(batch, command),
    );
  });
}

function shortened(batch: Batch, command: string): Found | [] {
  const value = valueOf(batch, command) ?? '';
  const [, first = '', rest = ''] = /^(\d+),(\d{1,3}(?:\.\d+)?(?:\s*[kmgt]?b?)?)$/i.exec(value) ?? [];
  if (rest === '') return [];
  const read = parseQuantity(first, amounts[command] ?? 'm')?.bytes ?? 0;
  return asFound(
    `\`${command} = ${value}\` is a list: the first attempt gets ${formatQuantity(read)}`,
    `write it without the comma:\n${command} = ${/^\d{3}/.test(rest) ? first + rest : `${first}.${rest}`}`,
    whereSet(batch, command),
  );
}
