import { anyOf, type Found, type Rule, rule } from '@updraft/base';
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
  opennessOf,
} from '../../submit/submit-facts.ts';
import { whyNoExpression } from '../../classad/expression.ts';
import { wordsOf } from '../../submit/split-arguments.ts';
import { canonicalCommand } from '../../submit/submit-commands.ts';
import { meantRequest } from './resources.ts';

type Form = readonly [commands: RegExp, expected: string, accepts: RegExp | ((value: string) => boolean)];

const signals = anyOf(`
  ABRT ALRM BUS CHLD CONT FPE HUP ILL INT IO KILL PIPE PROF QUIT SEGV STOP SYS TERM TRAP TSTP TTIN TTOU
  URG USR1 USR2 WINCH XCPU XFSZ
`);

/** What HTCondor accepts as the values of commands that are no files, texts or expressions: it refuses any others. */
const forms: readonly Form[] = [
  [/^should_transfer_files$/, 'YES, NO or IF_NEEDED', /^(yes|no|if_needed|true|false|always|never|auto)$/i],
  [
    /^when_to_transfer_output$/,
    'ON_EXIT, ON_EXIT_OR_EVICT or ON_SUCCESS',
    // HTCondor 25 takes the words after these three, too.
    /^(on_exit|on_exit_or_evict|on_success|yes|no|if_needed|true|false|always|never|auto)$/i,
  ],
  [/^notification$/, 'NEVER, COMPLETE, ERROR, ALWAYS or START', /^(never|complete|error|always|start)$/i],
  [
    /^universe$/,
    '`vanilla`, or `container` with `container_image`',
    /^(vanilla|container|docker|local|scheduler|grid|java|vm|parallel|5|7|9|1[0-3])$/i,
  ],
  [
    /^(remove_|hold_)?kill_sig$/,
    'SIGTERM or another signal',
    new RegExp(String.raw`^(SIG(${signals})|([1-9]|[12]\d|3[01])(\.\d*)?)$`, 'i'),
  ],
  [/^accounting_group(_user)?$/, 'a name without blanks', /^\S+$/],
  [
    /^concurrency_limits$/,
    'names with commas between them, such as licence, disk:2',
    /^[\s,]*([a-z_]\w*(\.[a-z_]\w*)?(:[^\s,]*)?([\s,]+|$))*$/i,
  ],
  [/^cuda_version$/, 'a version such as 12.1', /^\d+(\.\d+)?$/],
  [/^skip_filechecks$/, 'true, false or warn', (value) => /^warn$/i.test(value) || isConstant(value)],
  [
    new RegExp(
      `^(${anyOf(`
      preserve_relative_paths transfer_(output|input|error|container) stream_(output|error|input)
      nice_user encrypt_execute_directory run_as_owner hold log_xml load_profile want_io_proxy
      want_job_networking container_is_common erase_output_and_error_on_restart skip_if_dataflow
      manifest docker_override_entrypoint allow_(arguments|environment)_v1
    `)})$`,
    ),
    'true or false',
    isConstant,
  ],
  [
    new RegExp(
      `^(${anyOf(`
      max_retries success_exit_code checkpoint_exit_code priority max_idle max_materialize core_size
      match_list_length
    `)})$`,
    ),
    'a number',
    isConstant,
  ],
];

const exampleImage = 'pytorch/pytorch:2.5.1-cuda12.1-cudnn9-runtime';
/** Universes that HTCondor refuses without another command. */
const companions: Record<string, string> = {
  container: `container_image = docker://${exampleImage}`,
  docker: `docker_image = ${exampleImage}`,
  parallel: 'machine_count = 2',
  grid: 'grid_resource = batch slurm',
};

/** How a job gets a secret. */
export const sendSecret =
  'send a file that only you can read in transfer_input_files, read the ' +
  'secret from it in the job, and replace the secret: it may have been seen';

/** Rules about single values. */
export const valueRules: Rule<SubmitFacts>[] = [
  rule(
    'bad-value',
    'error',
    'HTCondor does not accept the value of a command, or not without another, and refuses the file.',
    perBatch((batch) => [badWords(batch), withoutCompanion(batch)].flat()),
  ),
  rule(
    'comment-in-value',
    'warning',
    'A comment follows a value on its line, and is part of the value; ' +
      'an error where HTCondor then refuses the file, or the jobs fail.',
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
/** Besides those that HTCondor reads itself: with a `#` in these, it refuses the file, or the jobs fail. */
const fatal =
  /^(executable|initialdir|input|arguments|environment|container_image|transfer_(input|output|checkpoint)_files)$/;

function commentsInValues({ submission }: SubmitFacts): Found[] {
  return submission.assignments.flatMap((assignment) => {
    const { name, command = '', attribute, value, place } = assignment;
    const at = withoutTexts(value).search(/\s#/);
    const isPlain = /^(arguments|environment)$/.test(command) && !value.startsWith('"');
    const isMacro = command === '' && attribute === undefined;
    if (at === -1 || isMacro || (isPlain && command === 'arguments') || free.test(command)) return [];
    const isRead = attribute !== undefined || isExpression(command) || formOf(command) !== undefined;
    const isUsed = submission.queues.some((queue) => assignmentOf(queue, command || name) === assignment);
    const isFatal = isUsed && (isRead || (fatal.test(command) && !isPlain));
    return {
      ...(isFatal ? { level: 'error' as const } : {}),
      message:
        `\`${value.slice(at).trim()}\` is part of the value: HTCondor allows comments ` +
        `only on their own lines${isFatal && isRead ? ', and refuses the file' : ''}`,
      fix: `put the comment on the line above:\n${name.replace(/^MY\./i, '+')} = ${value.slice(0, at).trim()}`,
      place,
    };
  });
}

/** Of the same length, with nothing in its quotes. */
const withoutTexts = (value: string): string =>
  value.replaceAll(/"(?:[^"\\]|\\.)*"/gs, (text) => `"${'_'.repeat(text.length - 2)}"`);

function badWords(batch: Batch): Found[] {
  return Object.entries(batch.job.commands).flatMap(([command, value]) => {
    const [, expected = '', form = /^/] = formOf(command) ?? [];
    const accepts = (one: string): boolean => (form instanceof RegExp ? form.test(one) : form(one));
    const text = value.trim();
    if (text === '' || text.includes('$') || accepts(text)) return [];
    const plain = unquoted(text.replace(/\s*;$/, '')).replaceAll(/(?<=\d),(?=\d{3}\b)/g, '');
    const truth = plain.replace(/^(y|yes|on|t)$/i, 'true').replace(/^(n|no|off|f)$/i, 'false');
    const meant = [plain, truth, `SIG${plain.toUpperCase()}`].find(accepts);
    return {
      message: `\`${command}\` is \`${text}\`: HTCondor refuses the file`,
      fix: meant === undefined ? `use ${expected}` : `${command} = ${meant}`,
      place: whereSet(batch, command),
    };
  });
}

const formOf = (command: string): Form | undefined => forms.find(([commands]) => commands.test(command));

/** Whether an expression has a value, as a number or boolean, without the job; true where only HTCondor can know. */
function isConstant(value: string): boolean {
  const bare = withoutTexts(value).replaceAll(/"_*"/g, '""');
  if (whyNoExpression(value) !== undefined || /^(""$|\{)/.test(bare)) return false;
  const isOpen = /&&|\|\||\?|=!=|\b(is|isnt)\b|\w\s*\(/i.test(bare);
  return isOpen || (bare.match(/(?<![\w.])[a-z_]\w*/gi) ?? []).every((word) => /^(true|false)$/i.test(word));
}

function withoutCompanion(batch: Batch): Found | [] {
  const universe = valueOf(batch, 'universe')?.toLowerCase() ?? '';
  const line = companions[universe] ?? '';
  const [command = ''] = line.split(' ');
  const either = command.endsWith('_image') ? ['container_image', 'docker_image'] : [command];
  if (line === '' || either.some((one) => valueOf(batch, one) !== undefined)) return [];
  return {
    message: `\`universe = ${universe}\` without \`${command}\`: HTCondor refuses the file`,
    fix: `write what fits, such as:\n${line}`,
    place: whereSet(batch, 'universe'),
  };
}

function attributesForCommands({ submission }: SubmitFacts): Found[] {
  return submission.assignments.flatMap(({ attribute = '', value, place }) => {
    if (!/^(request_\w+|requirements|docker_image|container_image)$/i.test(attribute)) return [];
    const command = canonicalCommand(attribute) ?? attribute.toLowerCase();
    return {
      message:
        `\`+${attribute}\` only sets an attribute of that name: ` +
        `HTCondor does not read it as the command \`${command}\``,
      fix: `${command} = ${unquoted(value)}`,
      place,
    };
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
    return [...found.map(({ name }) => name), ...others.flatMap(namesIn)].map((name) => ({
      message:
        `${name === '' ? 'a word' : `\`${name}\``} is a secret in \`${command}\`: ` +
        'anyone who can see the queue or the log can read it',
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

/** Not a path, URL or macro, which only name a secret, nor HTCondor's word for `$ENV()` of an unset variable. */
const isSecretValue = (value: string): boolean =>
  value.length >= 8 && value !== 'UNDEFINED' && !/^(?:[./~$]|\w+:\/\/)/.test(value);

/** Commands whose value HTCondor reads as an expression, if it is not an amount. It ignores `request_gpu`. */
const expressions = new RegExp(
  `^(?:${anyOf(String.raw`
    requirements rank require_gpus request_(?![cg]pu$)\w+ gpus_(minimum|maximum)_\w+ leave_in_queue
    (periodic|on_exit)_(hold|release|remove|vacate)(_reason|_subcode)? retry_until job_lease_duration
    allowed_(job|execute)_duration want_graceful_removal job_max_vacate_time keep_claim_idle
    next_job_start_delay max_transfer_(input|output)_mb max_job_retirement_time deferral_time
    concurrency_limits_expr noop_job(_exit_code|_exit_signal)?
  `)})$`,
);
const isExpression = (command: string): boolean => expressions.test(command);
const amounts: Record<string, 'k' | 'm'> = {
  request_memory: 'm',
  request_disk: 'k',
  gpus_minimum_memory: 'm',
};

/** Rules about values that HTCondor reads as ClassAd expressions. */
export const expressionRules: Rule<SubmitFacts>[] = [
  rule(
    'bad-expression',
    'error',
    'A value is not a valid ClassAd expression or amount, so HTCondor refuses the file.',
    (facts) => {
      // The command line or a DAG may complete a value.
      const isOpen = opennessOf(facts.submission);
      return batches(facts).flatMap((batch) => badExpressions(batch, isOpen));
    },
  ),
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
