import { batches, perBatch, valueOf, whereSet, type Batch, type SubmitFacts } from '../submit-facts.ts';
import type { Found, Rule } from '../../base/finding.ts';
import { secretInOption, secretInVariable } from '../../base/printable.ts';
import { textWithoutSecrets } from '../../base/file-without-secrets.ts';
import { wordsOf } from '../split-arguments.ts';
import { canonicalCommand } from '../submit-commands.ts';

/** Commands that take one of a few words; HTCondor refuses any other. */
const choices: Record<string, readonly string[]> = {
  should_transfer_files: ['YES', 'NO', 'IF_NEEDED', 'TRUE', 'FALSE', 'ALWAYS', 'NEVER'],
  // HTCondor 25 takes the words after the first three, too.
  when_to_transfer_output: [
    ...['ON_EXIT', 'ON_EXIT_OR_EVICT', 'ON_SUCCESS'],
    ...['YES', 'NO', 'TRUE', 'FALSE', 'ALWAYS', 'NEVER', 'IF_NEEDED'],
  ],
  notification: ['NEVER', 'COMPLETE', 'ERROR', 'ALWAYS', 'START'],
  universe: [
    ...['VANILLA', 'CONTAINER', 'DOCKER', 'LOCAL', 'SCHEDULER', 'GRID', 'JAVA', 'VM', 'PARALLEL'],
    // These no longer exist, which is another finding.
    ...['STANDARD', 'PVM', 'MPI', 'GLOBUS'],
  ],
};

/** Commands that take an expression of numbers or booleans; HTCondor refuses any other word, also `yes`. */
const literals = {
  'true or false':
    /^(preserve_relative_paths|transfer_(output|input|error|container)|stream_(output|error|input)|nice_user|encrypt_execute_directory|run_as_owner|hold|skip_filechecks|log_xml)$/,
  'a number': /^(max_retries|success_exit_code|checkpoint_exit_code|priority|max_idle|max_materialize)$/,
};

/** Signals that HTCondor knows, always with `SIG`. */
const signals =
  /^SIG(ABRT|ALRM|BUS|CHLD|CONT|FPE|HUP|ILL|INT|IO|KILL|PIPE|PROF|QUIT|SEGV|STOP|SYS|TERM|TRAP|TSTP|TTIN|TTOU|URG|USR1|USR2|WINCH|XCPU|XFSZ)$/i;

/** Commands whose value is a name or a quantity: a `#` in it was meant as a comment. */
const plain = /^(log|output|error|input|initialdir|executable|universe|container_image)$/;

/** How a job gets a secret. */
export const sendSecret =
  'send a file that only you can read in transfer_input_files, read the secret from it in the job, and replace the secret: it may have been seen';

/** Rules about single values. */
export const valueRules: Rule<SubmitFacts>[] = [
  {
    name: 'bad-value',
    level: 'error',
    about: 'A command that takes one of a few words has another one, and HTCondor refuses the file.',
    check: perBatch((batch) => [
      ...badWords(batch),
      ...badSignals(batch),
      ...Object.entries(choices).flatMap(([command, words]) => {
        const value = valueOf(batch, command)?.replace(/^"(.*)"$/, '$1');
        if (value === undefined || value.includes('$') || words.includes(value.toUpperCase())) return [];
        return {
          message: `\`${command}\` is \`${value}\`: HTCondor refuses the file`,
          fix: `use ${words.slice(0, 3).join(', ')}`,
          place: whereSet(batch, command),
        };
      }),
    ]),
  },
  {
    name: 'comment-in-value',
    level: 'warning',
    about:
      'A comment follows a value on its line; HTCondor has no such comments, so it is part of the value.',
    check: ({ submission }) =>
      submission.assignments
        .filter(({ command, value }) => plain.test(command ?? '') && /\s#/.test(value))
        .map(({ name, value, place }) => ({
          message: `\`${value.slice(value.search(/\s#/)).trim()}\` is part of the value: HTCondor allows comments only on their own lines`,
          fix: `put the comment on the line above:\n${name} = ${value.slice(0, value.search(/\s#/)).trim()}`,
          place,
        })),
  },
  {
    name: 'command-as-attribute',
    level: 'warning',
    about: 'A submit command is written as an attribute (`+request_gpus`), so HTCondor does not act on it.',
    check: attributesForCommands,
  },
  {
    name: 'environment-secret',
    level: 'error',
    about: 'A secret is in `environment` or `arguments`, which everyone can read in the queue and in logs.',
    check: (facts) => {
      // The same words are in many queue statements.
      const known = new Map<string, string[]>();
      const names = (word: string): string[] =>
        known.get(word) ?? known.set(word, secretIn(word)).get(word) ?? [];
      return batches(facts).flatMap((batch) => secretsOf(batch, names));
    },
  },
];

function badWords(batch: Batch): Found[] {
  return Object.entries(literals).flatMap(([expected, commands]) =>
    Object.entries(batch.job.commands)
      .filter(([command, value]) => commands.test(command) && /^[a-z]+$/i.test(value.trim()))
      .filter(([, value]) => !/^(true|false)$/i.test(value.trim()))
      .map(([command, value]) => ({
        message: `\`${command}\` is \`${value}\`: HTCondor refuses the file`,
        fix: `use ${expected}`,
        place: whereSet(batch, command),
      })),
  );
}

const badSignals = (batch: Batch): Found[] =>
  ['kill_sig', 'remove_kill_sig', 'hold_kill_sig'].flatMap((command) => {
    const value = valueOf(batch, command) ?? 'SIGTERM';
    if (value.includes('$') || signals.test(value) || /^([1-9]|[12]\d|3[01])$/.test(value)) return [];
    const plain = `SIG${value.replaceAll('"', '').replace(/^SIG/i, '').toUpperCase()}`;
    return {
      message: `\`${command}\` is \`${value}\`, which is not a signal: HTCondor refuses the file`,
      fix: `${command} = ${signals.test(plain) ? plain : 'SIGTERM'}`,
      place: whereSet(batch, command),
    };
  });

function attributesForCommands({ submission }: SubmitFacts): Found[] {
  return submission.assignments
    .filter(({ attribute = '' }) =>
      /^(request_\w+|requirements|docker_image|container_image)$/i.test(attribute),
    )
    .map(({ attribute = '', value, place }) => ({
      message: `\`+${attribute}\` only sets an attribute of that name: HTCondor does not read it as the command \`${canonicalCommand(attribute) ?? attribute.toLowerCase()}\``,
      fix: `${canonicalCommand(attribute) ?? attribute.toLowerCase()} = ${value}`,
      place,
    }));
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
    return [...found.map(({ name }) => name), ...others.flatMap(namesIn)].map((name) => ({
      message: `${name === '' ? 'a word' : `\`${name}\``} is a secret in \`${command}\`: anyone who can see the queue or the log can read it`,
      fix: sendSecret,
      place: whereSet(batch, command),
    }));
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

/** Not a path, a URL or a macro, which only name a secret, nor HTCondor's word for `$ENV()` of a variable that is not set. */
const isSecretValue = (value: string): boolean =>
  value.length >= 8 && value !== 'UNDEFINED' && !/^(?:[./~$]|\w+:\/\/)/.test(value);
