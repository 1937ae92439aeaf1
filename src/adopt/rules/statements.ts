import { splitArguments, BadQuoting, splitEnvironment } from '../split-arguments.ts';
import { batches, whereSet, valueOf, type Batch, type SubmitFacts } from '../submit-facts.ts';
import type { Found, Rule } from '../../base/finding.ts';
import type { Assignment, ReadingProblem } from '../submission.ts';
import { nearestCommand } from '../submit-commands.ts';

const problems = ({ submission }: SubmitFacts, kinds: ReadingProblem['kind'][], fix: string): Found[] =>
  submission.problems
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ message, place }) => ({ message, place, fix }));

/** Names that DAGMan defines or that HTCondor never calls unused. */
const elsewhere = /^(dag_status|failed_count|job|retry|dag_parent_names|node_name|dagmanjobid)$/i;
const automatic =
  /^(cluster|clusterid|process|procid|jobid|step|row|item|itemindex|node|dollar|arch|opsys\w*|islinux|iswindows|submit_file|submit_time|year|month|day|condorversion|spool|item_?index)$/i;

/** Commands that cannot be meant to be set twice: the second value silently replaces the first. */
const replaced = new Set([
  'requirements',
  'require_gpus',
  'periodic_release',
  'periodic_hold',
  'transfer_input_files',
  'environment',
]);

export const statementRules: Rule<SubmitFacts>[] = [
  {
    name: 'syntax',
    level: 'error',
    about: 'HTCondor refuses the file at this line.',
    check: (evidence) =>
      problems(
        evidence,
        ['syntax'],
        'correct the line; `condor_submit -dry-run - FILE` says when HTCondor accepts it',
      ),
  },
  {
    name: 'replaced-command',
    level: 'error',
    about: 'A command is set twice for the same jobs, so that the second value silently replaces the first.',
    check: replacedCommands,
  },
  {
    name: 'no-queue',
    level: 'error',
    about: 'There is no queue statement, so no job is queued.',
    check: ({ submission }) =>
      submission.queues.length > 0 || submission.problems.some(({ kind }) => kind === 'syntax')
        ? []
        : [
            {
              message: 'no queue statement: nothing would be queued',
              fix: 'end the file with `queue`',
              place: { file: submission.file, line: 1 },
            },
          ],
  },
  {
    name: 'no-jobs',
    level: 'error',
    about: 'A queue statement makes no job: its list is empty, or its count is 0.',
    check: ({ submission }) =>
      submission.queues
        .filter(({ total }) => total === 0)
        .map(({ text, place }) => ({
          message: `\`${text}\` makes no job: its list is empty or its count is 0`,
          fix: 'check the pattern, the file or the count',
          place,
        })),
  },
  {
    name: 'bad-quoting',
    level: 'error',
    about: '`arguments` or `environment` is quoted in a way that HTCondor refuses or reads differently.',
    check: (evidence) => batches(evidence).flatMap(quotingOf),
  },
  {
    name: 'several-queues',
    level: 'warning',
    about: 'Several queue statements: HTCondor 25 and later refuse them unless the access point allows it.',
    check: ({ submission }) =>
      submission.queues.slice(1, 2).map(({ place }) => ({
        message: `${submission.queues.length} queue statements: from version 25 on HTCondor reads nothing after the first one and refuses the file`,
        fix: 'use one `queue … from (…)` with a line per job, or a file for each',
        place,
      })),
  },
  {
    name: 'unused-name',
    level: 'warning',
    about:
      'A name that is no submit command and that nothing refers to: most likely mistyped, and ignored by HTCondor.',
    check: unusedNames,
  },
  {
    name: 'undefined-macro',
    level: 'warning',
    about: 'A macro is used that nothing defines; HTCondor puts nothing in its place and says nothing.',
    check: undefinedMacros,
  },
  {
    name: 'comment-in-continuation',
    level: 'warning',
    about:
      'A comment inside a continued line ends the statement, and its last character becomes part of the value.',
    check: (evidence) => problems(evidence, ['odd-comment'], 'move the comment above the statement'),
  },
  {
    name: 'getenv-all',
    level: 'warning',
    about:
      '`getenv = true` copies the whole environment of the submitter, secrets and local paths included, into every job.',
    check: (evidence) =>
      batches(evidence)
        .filter((batch) => /^true$/i.test(valueOf(batch, 'getenv') ?? ''))
        .map((batch) => ({
          message:
            'the whole environment of the submitter goes into every job: PATH and library paths that are wrong on the worker, and any secret in it',
          fix: 'name the variables: `getenv = NAME, PREFIX_*`, or set them with `environment`',
          place: whereSet(batch, 'getenv'),
        })),
  },
  {
    name: 'unquoted-attribute',
    level: 'warning',
    about: 'An attribute is set to a bare word, which HTCondor reads as the name of another attribute.',
    check: unquotedAttributes,
  },
  {
    name: 'old-universe',
    level: 'error',
    about: 'The universe is one that HTCondor no longer has.',
    check: (evidence) =>
      batches(evidence)
        .filter((batch) => /^(standard|pvm|mpi|globus)$/i.test(valueOf(batch, 'universe') ?? ''))
        .map((batch) => ({
          message: `the universe "${valueOf(batch, 'universe') ?? ''}" is gone from HTCondor`,
          fix: 'use `universe = vanilla`, or `container` with `container_image`',
          place: whereSet(batch, 'universe'),
        })),
  },
  {
    name: 'not-read',
    level: 'note',
    about:
      'Part of the file is only known when HTCondor runs a command or reads a list or the configuration; here it was not run.',
    check: (evidence) =>
      problems(
        evidence,
        ['not-run', 'missing', 'chance'],
        'what depends on it was not checked; look at it yourself',
      ),
  },
];

function replacedCommands({ submission }: SubmitFacts): Found[] {
  const lastQueue = Math.max(0, ...submission.queues.map(({ place }) => place.line));
  const last = new Map<string, Assignment>();
  return submission.assignments.flatMap((second) => {
    const { command = '' } = second;
    const first = last.get(command);
    if (replaced.has(command)) last.set(command, second);
    if (first === undefined || first.value === second.value) return [];
    const between = submission.queues.some(
      ({ place }) => place.line > first.place.line && place.line < second.place.line,
    );
    const refersToFirst = second.value.includes(first.value) && first.value !== '';
    if (between || refersToFirst || (lastQueue > 0 && second.place.line > lastQueue)) return [];
    return [
      {
        message: `\`${second.name}\` replaces line ${first.place.line}: \`${first.value}\` is silently lost`,
        fix: /requirements|hold|release|require_gpus/.test(first.command ?? '')
          ? `make it one line: ${first.command ?? ''} = ${inParentheses(first.value)} && ${inParentheses(second.value)}`
          : 'make it one line',
        place: second.place,
      },
    ];
  });
}

const inParentheses = (text: string): string => (/^\([^()]*\)$/.test(text) ? text : `(${text})`);

function quotingOf(batch: Batch): Found[] {
  const checks = [
    ['arguments', splitArguments],
    ['environment', splitEnvironment],
  ] as const;
  return checks.flatMap(([command, words]) => {
    try {
      words(valueOf(batch, command) ?? '');
      return [];
    } catch (error) {
      if (!(error instanceof BadQuoting)) throw error;
      const example =
        command === 'arguments'
          ? `arguments = "one 'two words' ""quoted"""`
          : `environment = "A=1 B='two words'"`;
      return [
        {
          message: `\`${command}\`: ${error.message}`,
          fix: `put the whole value in double quotes: ${example}`,
          place: whereSet(batch, command),
        },
      ];
    }
  });
}

function unusedNames({ submission }: SubmitFacts): Found[] {
  const used = (name: string): boolean => submission.referenced.has(name.toLowerCase());
  const assigned = submission.assignments
    .filter(
      ({ name, command, attribute }) =>
        command === undefined &&
        attribute === undefined &&
        !name.includes('.') &&
        !used(name) &&
        !elsewhere.test(name),
    )
    .map(({ name, place }, index) => {
      // Comparing costs; nobody mistypes more.
      const suggestion = index < 100 ? nearestCommand(name) : undefined;
      return {
        message: `\`${name}\` is no submit command and nothing uses it${suggestion === undefined ? '' : `: did you mean \`${suggestion}\`?`}`,
        fix:
          suggestion === undefined
            ? 'remove it, or prefix it with `+` if it is an attribute of the job'
            : `write \`${suggestion}\`, or \`+${name}\` if it is an attribute of the job`,
        place,
      };
    });
  return assigned;
}

function undefinedMacros({ submission }: SubmitFacts): Found[] {
  const defined = new Set([
    ...submission.assignments.map(({ name }) => name.toLowerCase()),
    ...submission.queues.flatMap(({ variables }) => variables.map((name) => name.toLowerCase())),
  ]);
  return submission.assignments.flatMap(({ value, place }) =>
    [...value.matchAll(/(?<!\$)\$\(([\w.]+)\)/g)]
      .map(([, name = '']) => name)
      .filter((name) => !defined.has(name.toLowerCase()) && !automatic.test(name) && !elsewhere.test(name))
      .map((name) => ({
        message: `\`$(${name})\` is defined nowhere, so nothing stands in its place`,
        fix: `define it, give a default: \`$(${name}:value)\`, or pass it: \`condor_submit ${name}=value\`, or VARS of a DAG`,
        place,
      })),
  );
}

function unquotedAttributes({ submission }: SubmitFacts): Found[] {
  return submission.assignments
    .filter(
      ({ attribute, value }) =>
        attribute !== undefined &&
        /^[A-Za-z_][\w-]*$/.test(value) &&
        !/^(true|false|undefined|error)$/i.test(value),
    )
    .map(({ attribute, name, value, place }) => ({
      message: `\`${attribute ?? ''}\` is set to the value of another attribute, \`${value}\`, not to that text`,
      fix: `if text is meant: ${name.replace(/^MY\./, '+')} = "${value}"`,
      place,
    }));
}
