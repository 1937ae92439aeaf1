import {
  assignmentOf,
  batches,
  perBatch,
  unquoted,
  valueOf,
  whereSet,
  type Batch,
  type SubmitFacts,
} from '../../submit/submit-facts.ts';
import type { Found, Rule } from '@updraft/base';
import { whyNoExpression } from '../../classad/expression.ts';
import { secretInOption, secretInVariable, textWithoutSecrets } from '@updraft/base/secrets';
import { wordsOf } from '../../submit/split-arguments.ts';
import { canonicalCommand } from '../../submit/submit-commands.ts';
import { isExpression } from './expressions.ts';

type Form = readonly [commands: RegExp, expected: string, accepts: RegExp | ((value: string) => boolean)];

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
    /^(SIG(ABRT|ALRM|BUS|CHLD|CONT|FPE|HUP|ILL|INT|IO|KILL|PIPE|PROF|QUIT|SEGV|STOP|SYS|TERM|TRAP|TSTP|TTIN|TTOU|URG|USR1|USR2|WINCH|XCPU|XFSZ)|([1-9]|[12]\d|3[01])(\.\d*)?)$/i,
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
    /^(preserve_relative_paths|transfer_(output|input|error|container)|stream_(output|error|input)|nice_user|encrypt_execute_directory|run_as_owner|hold|log_xml|load_profile|want_io_proxy|want_job_networking|container_is_common|erase_output_and_error_on_restart|skip_if_dataflow|manifest|docker_override_entrypoint|allow_(arguments|environment)_v1)$/,
    'true or false',
    isConstant,
  ],
  [
    /^(max_retries|success_exit_code|checkpoint_exit_code|priority|max_idle|max_materialize|core_size|match_list_length)$/,
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
  'send a file that only you can read in transfer_input_files, read the secret from it in the job, and replace the secret: it may have been seen';

/** Rules about single values. */
export const valueRules: Rule<SubmitFacts>[] = [
  {
    name: 'bad-value',
    level: 'error',
    about: 'HTCondor does not accept the value of a command, or not without another, and refuses the file.',
    check: perBatch((batch) => [badWords(batch), withoutCompanion(batch)].flat()),
  },
  {
    name: 'comment-in-value',
    level: 'warning',
    about:
      'A comment follows a value on its line, and is part of the value; an error where HTCondor then refuses the file, or the jobs fail.',
    check: commentsInValues,
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
      message: `\`${value.slice(at).trim()}\` is part of the value: HTCondor allows comments only on their own lines${isFatal && isRead ? ', and refuses the file' : ''}`,
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
      message: `\`+${attribute}\` only sets an attribute of that name: HTCondor does not read it as the command \`${command}\``,
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
