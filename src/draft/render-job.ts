import { type GroupEntry, isGroupEntry } from '../job/matrix.ts';
import type { ScriptArg } from '../script/script-args.ts';
import type { JobDraft } from './draft-job.ts';

/** What is known beside the script itself. */
export interface RenderFacts {
  script: string;
  pool: string;
  /** Whether jobs leave this machine. */
  isRemote: boolean;
  /** The first line, for editors. */
  schema: string;
}

const quote = (text: string): string => JSON.stringify(text);
const list = (names: readonly string[]): string => `[${names.map(quote).join(', ')}]`;
const table = (entry: GroupEntry): string =>
  `{ ${Object.entries(entry)
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    .join(', ')} }`;
const column = 40;
/** A line with its comment beside it, or above it where it is long. */
const line = (text: string, comment = ''): string =>
  comment === ''
    ? text
    : text.length < column
      ? `${text.padEnd(column)}# ${comment}`
      : `# ${comment}\n${text}`;

export function renderJob(draft: JobDraft, facts: RenderFacts): string {
  const tables = [
    trainLines(draft, facts),
    ...dataLines(draft),
    environmentLines(draft),
    resourceLines(draft, facts),
  ];
  const run = [
    '[run]',
    line(`pool = ${quote(facts.pool)}`, 'local | condor | slurm'),
    draft.submitted?.jobs === undefined
      ? line('# jobs = 10', 'this many copies; {index} is the number of each')
      : `jobs = ${draft.submitted.jobs}`,
    ...(draft.swept === undefined ? [] : sweepLines(draft.swept)),
    ...(draft.submitted?.project === undefined ? [] : [`project = ${quote(draft.submitted.project)}`]),
    ...(draft.submitted?.requirements === undefined
      ? []
      : [`requirements = ${quote(draft.submitted.requirements)}`]),
  ];
  const matrix = Object.entries(draft.submitted?.matrix ?? {}).map(([name, values]) => {
    const entries = values.map((value) => (isGroupEntry(value) ? table(value) : JSON.stringify(value)));
    return `${name} = [\n${entries.map((entry) => `  ${entry},\n`).join('')}]`;
  });
  const head = [
    ...(facts.schema === '' ? [] : [facts.schema]),
    `# Made from ${facts.script} by updraft ${draft.submitted === undefined ? 'init' : 'adopt'}: read it ` +
      'through, and change what it guessed.',
    line(`name = ${quote(draft.name)}`, 'names the run and its folders'),
  ];
  const lines = Object.entries(draft.submitted?.lines ?? {}).map(
    ([name, value]) => `${quote(name)} = ${typeof value === 'string' ? quote(value) : value}`,
  );
  const optional = [
    ...(matrix.length === 0 ? [] : [['[run.matrix]', ...matrix]]),
    ...(lines.length === 0 ? [] : [['[pool.submit]', ...lines]]),
  ];
  return `${[head, ...tables, run, ...optional].map((table) => table.join('\n')).join('\n\n')}\n`;
}

const sweepLines = ({ flag, dest, default: value = '0.1' }: ScriptArg): string[] => [
  line(
    `# matrix.${dest} = [${/seed/.test(dest) ? '1, 2, 3' : `${value}, ${Number(value) / 10}`}]`,
    `a job for each, with \`${flag} {${dest}}\` in the command`,
  ),
];

function trainLines(
  { command, files, outputs, checkpoint, importsFromAbove = false, open, ranks, submitted }: JobDraft,
  { isRemote }: RenderFacts,
): string[] {
  const isGuessed = open.some(([what]) => what === 'outputs');
  return [
    '[train]',
    `command = ${quote(command)}`,
    line(`files = ${list(files)}`, 'sent with each job: files and folders beside this file'),
    line(
      `outputs = ${list(outputs)}`,
      isGuessed
        ? 'FILL IN: the files that it writes'
        : 'a job without them has failed, whatever its exit code',
    ),
    checkpoint === undefined
      ? line(
          '# checkpoint = "checkpoints"',
          'a folder kept across attempts, to resume from: updraft docs checkpoints',
        )
      : line(`checkpoint = ${quote(checkpoint)}`, 'kept across attempts; the training resumes from it'),
    ...(ranks === undefined
      ? []
      : [
          isRemote
            ? line('processes = "gpus"', `the agent starts one for each GPU, without a launcher (${ranks})`)
            : line('processes = 1', `on a pool: "gpus", one for each of them (${ranks})`),
        ]),
    ...(importsFromAbove ? [line('env.PYTHONPATH = "."', 'it imports modules that are not beside it')] : []),
    ...Object.entries(submitted?.env ?? {}).map(([name, value]) => `env.${name} = ${quote(value)}`),
  ];
}

const dataLines = ({ data }: JobDraft): string[][] =>
  data.map(({ name, url, into, why, unpack }) =>
    url === undefined
      ? [
          `# [data.${name}]`,
          line('# url = "images.tar.gz"', 'FILL IN: a folder or archive here, or osdf://, https://'),
          line(`# into = ${quote(into)}`, why),
        ]
      : [
          `[data.${name}]`,
          line(`url = ${quote(url)}`, 'or osdf://, https://: updraft docs methods'),
          line(`into = ${quote(into)}`, why),
          ...(unpack === undefined ? [] : [`unpack = ${quote(unpack)}`]),
        ],
  );

function environmentLines({ python, submitted }: JobDraft): string[] {
  return [
    '[environment]',
    ...(submitted?.image === undefined ? [] : [`image = ${quote(submitted.image)}`]),
    line(`python = ${list(python)}`, 'modules that must exist before any data moves'),
  ];
}

function resourceLines(
  { cpus, memory, gpu, checkpoint, submitted }: JobDraft,
  { isRemote }: RenderFacts,
): string[] {
  if (submitted !== undefined)
    return [
      '[resources]',
      `cpus = ${cpus}`,
      `memory = ${quote(memory)}`,
      ...(submitted.gpus === undefined ? [] : [`gpus = ${submitted.gpus}`]),
      ...(submitted.gpu === undefined ? [] : [`gpu = ${submitted.gpu}`]),
      ...(submitted.disk === undefined ? [] : [`disk = ${quote(submitted.disk)}`]),
      ...(submitted.timeSeconds === undefined ? [] : [`time = "${submitted.timeSeconds}s"`]),
    ];
  const gpus =
    gpu === undefined
      ? []
      : [
          isRemote
            ? line('gpus = 1', `used at ${gpu}`)
            : line('# gpus = 1', `on a pool: it can use one (${gpu})`),
        ];
  return [
    '[resources]',
    `cpus = ${cpus}`,
    line(`memory = ${quote(memory)}`, 'a guess: after a run, `updraft report` shows what it used'),
    ...gpus,
    // Without checkpoints, a longer attempt is a risk that `check` warns of.
    line(`time = ${quote(checkpoint === undefined ? '2h' : '8h')}`, 'a guess: the limit of one attempt'),
  ];
}
