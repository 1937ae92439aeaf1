import {
  batches,
  unquoted,
  whereSet,
  valueOf,
  type SubmitFacts,
  isOfDag,
  undefinedNames,
  unsetIn,
} from '../../submit/submit-facts.ts';
import { isSecretName } from '@updraft/base/secrets';
import { asFound, type Found, type Rule, rule } from '@updraft/base';
import type { Assignment, ReadingProblem, Submission } from '../../submit/submission.ts';
import { nearestCommand } from '../../submit/submit-commands.ts';
import { oldGpuNames, todaysGpuLines } from './gpus.ts';
import { sendSecret } from './values.ts';

const problems = ({ submission }: SubmitFacts, kinds: ReadingProblem['kind'][], fix: string): Found[] =>
  submission.problems
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ message, place }) => asFound(message, fix, place));

/** Commands that nobody sets twice on purpose: the second value silently replaces the first. */
const replaced = new Set([
  'requirements',
  'require_gpus',
  'periodic_release',
  'periodic_hold',
  'transfer_input_files',
  'environment',
]);

export const statementRules: Rule<SubmitFacts>[] = [
  rule('syntax', 'error', 'HTCondor refuses the file at this line.', (facts) =>
    problems(facts, ['syntax'], 'correct the line, then test it: condor_submit -dry-run - FILE'),
  ),
  rule(
    'encoding',
    'error',
    'The file is in UTF-16, or begins with a byte order mark, as editors on Windows write it.',
    (facts) => [
      ...problems(facts, ['utf-16'], 'save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW'),
      ...problems(
        facts,
        ['byte-order-mark'],
        String.raw`save it as UTF-8 without BOM: sed -i '1s/^\xEF\xBB\xBF//' FILE`,
      ),
    ],
  ),
  rule(
    'no-item-list',
    'error',
    'The file with the items of a queue statement cannot be read, so HTCondor refuses the submit file.',
    (facts) =>
      problems(
        facts,
        ['no-list'],
        'create it, one line per job, or correct its name: it is relative to the folder where condor_submit runs',
      ),
  ),
  rule(
    'blank-item',
    'warning',
    'A blank line in a list of items makes a job of its own, with the values of the line before.',
    (facts) => problems(facts, ['blank-item'], 'delete blank lines, also at the end of the list'),
  ),
  rule(
    'replaced-command',
    'warning',
    'A command is set twice for the same jobs, so the second value silently replaces the first.',
    replacedCommands,
  ),
  rule(
    'no-queue',
    'warning',
    'There is no queue statement: HTCondor 25 queues one job, earlier versions none.',
    ({ submission }) =>
      submission.hasNoQueue
        ? asFound(
            'no queue statement: HTCondor 25 queues one job, earlier versions none',
            'end the file with `queue`',
            { file: submission.file, line: 1 },
          )
        : [],
  ),
  rule(
    'unused-name',
    'warning',
    'A name that is not a submit command and is not used anywhere: probably mistyped; HTCondor ignores it.',
    unusedNames,
  ),
  rule(
    'undefined-macro',
    'warning',
    'A macro or environment variable is used but not defined; ' +
      'HTCondor silently replaces it with nothing, or with UNDEFINED.',
    undefinedMacros,
  ),
  rule(
    'comment-in-continuation',
    'warning',
    'A comment inside a continued line ends the statement, and its last character becomes part of the value.',
    (facts) => problems(facts, ['odd-comment'], 'move the comment above the statement'),
  ),
  rule(
    'getenv-all',
    'warning',
    '`getenv = true` copies your environment, with secrets and local paths, into every job.',
    (facts) =>
      batches(facts)
        .filter((batch) => /^true$/i.test(valueOf(batch, 'getenv') ?? ''))
        .map((batch) =>
          asFound(
            'your environment is copied into every job: ' +
              'PATH and library paths that are wrong on the worker, and any secrets',
            'name the variables: `getenv = NAME, PREFIX_*`, or set them with `environment`',
            whereSet(batch, 'getenv'),
          ),
        ),
  ),
  rule(
    'unquoted-attribute',
    'warning',
    'An attribute is set to a bare word, which HTCondor reads as the name of another attribute.',
    unquotedAttributes,
  ),
  rule(
    'not-read',
    'note',
    'Part of the file depends on a command, a list or the ' +
      'configuration that only HTCondor reads; it was not checked.',
    (facts) =>
      problems(facts, ['not-run', 'list-unread', 'missing', 'chance'], 'check by hand what depends on it'),
  ),
];

function replacedCommands({ submission }: SubmitFacts): Found[] {
  const lastQueue = Math.max(0, ...submission.queues.map(({ place }) => place.line));
  const last = new Map<string, Assignment>();
  return submission.assignments.flatMap((second) => {
    const { command = '' } = second;
    const first = last.get(command);
    if (replaced.has(command)) last.set(command, second);
    if (first === undefined || first.value === '' || first.value === second.value) return [];
    const between = submission.queues.some(
      ({ place }) => place.line > first.place.line && place.line < second.place.line,
    );
    const refersToFirst = second.value.includes(first.value);
    if (between || refersToFirst || (lastQueue > 0 && second.place.line > lastQueue)) return [];
    return asFound(
      `\`${second.name}\` silently replaces the value of line ${first.place.line}`,
      joined(first, second, submission),
      second.place,
    );
  });
}

function joined({ command = '', value }: Assignment, second: Assignment, submission: Submission): string {
  if (command === 'transfer_input_files') return `combine them:\n${command} = ${value}, ${second.value}`;
  const operator = { requirements: '&&', require_gpus: '&&', periodic_hold: '||' }[command];
  if (operator === undefined) return 'keep one of the two lines';
  const both = `${inParentheses(value)} ${operator} ${inParentheses(second.value)}`;
  if (command !== 'requirements' || oldGpuNames(both).length === 0)
    return `combine them:\n${command} = ${both}`;
  const own = submission.assignments.findLast((one) => one.command === 'require_gpus')?.value;
  const lines = todaysGpuLines(both, own);
  return lines === undefined
    ? 'combine them, without the old attributes of GPUs'
    : ['remove both, and write:', ...lines].join('\n');
}

const inParentheses = (text: string): string => (/^\([^()]*\)$/.test(text) ? text : `(${text})`);

/** Attributes that pools without a profile ask for; with `+` in their pages. */
const otherAttributes =
  /^(want(flocking|glidein)|jobflavour|maxruntime|maxwalltimemins|singularity(image|bindcwd)|(un)?desiredsites)$/;

/** The same attribute, however it is written: `WantGPULab`, `want_gpulab`. */
const plainName = (name: string): string => name.toLowerCase().replaceAll('_', '');

function unusedNames({ submission, limits }: SubmitFacts): Found[] {
  const used = (name: string): boolean => submission.referenced.has(name.toLowerCase());
  const assigned = submission.assignments
    .filter(
      ({ name, command, attribute }) =>
        command === undefined &&
        attribute === undefined &&
        !name.includes('.') &&
        !used(name) &&
        !limits.commands.includes(name.toLowerCase()) &&
        !isOfDag(name),
    )
    .map(({ name, value, place }, index) => {
      // Comparing is slow, and nobody mistypes more names.
      const ofPools = limits.ofPools ?? {};
      const pool = ofPools[name.toLowerCase()];
      if (pool !== undefined)
        return asFound(
          `\`${name}\` is for ${pool} only: here it has no effect`,
          `remove it, or check the file for ${pool}: see --pool`,
          place,
        );
      if (isSecretName(name) && value !== '')
        return asFound(
          `\`${name}\` is not a submit command, is not used, and looks like a secret`,
          `remove it; if the job needs it, ${sendSecret}`,
          place,
        );
      const plain = plainName(name);
      if (otherAttributes.test(plain) || limits.attributesOfPools?.some((one) => plainName(one) === plain))
        return asFound(
          `\`${name}\` is an attribute of the job, not a submit command: HTCondor ignores it without \`+\``,
          `+${name} = ${value}`,
          place,
        );
      const suggestion = index < 100 ? nearestCommand(name, Object.keys(ofPools)) : undefined;
      return asFound(
        `\`${name}\` is not a submit command and is not ` +
          `used${suggestion === undefined ? '' : `: did you mean \`${suggestion}\`?`}`,
        suggestion === undefined
          ? 'remove it, or prefix it with `+` if it is an attribute of the job'
          : `write \`${suggestion}\`, or \`+${name}\` if it is an attribute of the job`,
        place,
      );
    });
  return assigned;
}

function undefinedMacros({ submission }: SubmitFacts): Found[] {
  const unset = submission.assignments.flatMap(({ value, place }) =>
    unsetIn(value, submission).map((name) => ({
      message:
        `the environment variable ${name} is not set here: ` +
        `HTCondor replaces \`$ENV(${name})\` with the word UNDEFINED`,
      fix: `export ${name} before you submit, or give it a default: \`$ENV(${name}:value)\``,
      place,
      about: [name, 'environment'] as const,
    })),
  );
  const names = undefinedNames(submission).map(({ name, place }) => ({
    message: `\`$(${name})\` is not defined: HTCondor replaces it with nothing`,
    fix:
      `define it, give it a default: \`$(${name}:value)\`, ` +
      `or pass it: \`condor_submit ${name}=value\` or VARS in a DAG`,
    place,
    about: [`\`$(${name})\``] as const,
  }));
  return [...names, ...unset];
}

function unquotedAttributes({ submission }: SubmitFacts): Found[] {
  return submission.assignments
    .filter(
      ({ attribute, value }) =>
        attribute !== undefined &&
        /^([A-Za-z_][\w-]*|'[^']*')$/.test(value) &&
        !/^(true|false|undefined|error)$/i.test(value),
    )
    .map(({ attribute, name, value, place }) =>
      asFound(
        `\`${attribute ?? ''}\` is set to the attribute \`${value}\`, not to that text`,
        `if you mean the text:\n${name.replace(/^MY\./, '+')} = "${unquoted(value)}"`,
        place,
      ),
    );
}
