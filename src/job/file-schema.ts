import { z } from 'zod';
import { parameterPattern } from '@updraft/account/parameters';
import { avoidances } from '@updraft/account/recovery';
import { dataMethods, pools, secretPlaces, unpackModes } from './choices.ts';
import {
  agentPlace,
  cacheList,
  count,
  duration,
  entry,
  matching,
  names,
  choiceOf,
  path,
  paths,
  sentPaths,
  scalar,
  size,
  table,
  nonEmptyText,
  urlOrFile,
  urlOrPath,
} from './field-schemas.ts';
import { defined, repacking } from '@updraft/base';
import { deliveries } from '../environment/describe-environment.ts';

const archive = 'an archive of pixi-pack: a file beside this one, or a URL, like "env-1a2b3c4d.sh"';

const packTable = table('a table like { url = "osdf:///my-project/env-1a2b3c4d.sh", sha256 = "…" }', {
  url: urlOrPath(archive).describe(
    'The archive: a file beside this one, or an osdf://, pelican:// or https:// URL.',
  ),
  sha256: matching('a SHA-256: 64 hexadecimal digits', /^[0-9a-fA-F]{64}$/)
    .toLowerCase()
    .optional()
    .describe('SHA-256 of the archive, in hexadecimal.'),
  bytes: count('a number of bytes', 1).optional().describe('Size of the archive in bytes.'),
  manifest: urlOrPath('a URL, or a file beside this one')
    .optional()
    .describe('Manifest of chunk hashes: a URL, or a file beside this one.'),
  token_file: nonEmptyText('the path of a file with the token')
    .optional()
    .describe('File with the bearer token; never put the token itself here.'),
});

/** A bare text is the archive's URL or path. */
const pack = z.union(
  [urlOrPath(archive).transform((url): z.output<typeof packTable> => ({ url })), packTable],
  entry(archive),
);

/** `[environment]` of the user's file. */
const environmentSchema = table('a table', {
  image: nonEmptyText('an Apptainer image: a URL or a path')
    .optional()
    .describe("Apptainer image (default: the worker's own software)."),
  image_token_file: nonEmptyText('the path of a file with the token')
    .optional()
    .describe('File with the bearer token for an image that needs one.'),
  python: z
    .array(
      matching('the name of a Python module, like "torch"', /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/),
      entry('a list of Python modules, like ["torch"]'),
    )
    .default([])
    .describe(
      'Python modules that the training imports; a Python that has them is found before the data is fetched.',
    ),
  pixi: path('the manifest of a Pixi workspace beside this file, like "pixi.toml"')
    .optional()
    .describe('Manifest of the Pixi workspace with the software. Its lock file decides GPU and disk.'),
  pixi_environment: nonEmptyText('the name of an environment of the workspace')
    .optional()
    .describe('Environment of the workspace (default: "default").'),
  platform: nonEmptyText('a platform of the lock, like "linux-64"')
    .optional()
    .describe('Platform of the workers (default: "linux-64").'),
  delivery: choiceOf(deliveries)
    .optional()
    .describe(
      'How the Pixi environment reaches the worker: in an image, ' +
        'as a pixi-pack archive, or on the local pool installed by Pixi.',
    ),
  fallback: choiceOf(['system'])
    .optional()
    .describe(
      'On the local pool, without a pixi.lock that Pixi could write: ' +
        "use this machine's own software, with a warning. No other pool falls back.",
    ),
  pack: pack.optional().describe('pixi-pack archive that is unpacked and activated before the training.'),
  pixi_unpack: path('the program pixi-unpack beside this file')
    .optional()
    .describe('pixi-unpack program to send along; self-extracting archives have their own.'),
})
  .transform(
    ({ pixi: manifest, pixiEnvironment: environment = 'default', platform = 'linux-64', ...rest }) => ({
      ...rest,
      ...defined({ pixi: manifest === undefined ? undefined : { manifest, environment, platform } }),
    }),
  )
  .describe('The software of the training.');

const variable = () =>
  names(
    'a variable: letters, digits and "_", no digit first, not UPDRAFT_…',
    /^(?!UPDRAFT_)[A-Za-z_][A-Za-z0-9_]*$/,
  );

const secret = table('a table like { from = "env" } or { from = "file", path = "~/.wandb-key" }', {
  from: choiceOf(secretPlaces).describe(
    'env: a variable of the shell that submits; file: a file on that machine.',
  ),
  name: matching('the name of a variable', /^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional()
    .describe('With env: the variable, if it has another name.'),
  path: nonEmptyText('the path of a file with the secret').optional().describe('With file: its path.'),
});

const train = table('the table [train] with command and outputs', {
  command: nonEmptyText('the command that trains, like "python3 train.py --epochs 5"').describe(
    'The training, run by /bin/sh in the work folder. {name} is a parameter of [run.matrix]; ' +
      '{job} and {index} are the id and number of the job; {{ and }} are literal braces.',
  ),
  files: sentPaths('a list of files and folders beside this file, like ["train.py"]')
    .default([])
    .describe('Files and folders beside this file that are sent with each job.'),
  outputs: paths(
    'a list of the files a valid result consists of, like ["model.pt"]: without them a job cannot prove its success',
  )
    .min(1, {
      error:
        'is empty; name at least one file, like ["model.pt"]: a job without outputs cannot prove its success',
    })
    .describe(
      'Files that a valid result must have, new and not empty. Without them a job has failed, whatever its exit code.',
    ),
  check: nonEmptyText('a command, like "python3 check.py"')
    .optional()
    .describe('Command that runs after the training; the result is valid only if it exits with 0.'),
  checkpoint: path('a folder in the work folder, like "checkpoints"')
    .optional()
    .describe('Folder kept across attempts, so that the training can resume from it.'),
  checkpoint_keep: count('a whole number of checkpoints', 1, 100)
    .optional()
    .describe('How many checkpoints are kept (default: 3).'),
  processes: z
    .union(
      [z.literal('gpus'), z.int().min(1).max(512)],
      entry('a number of processes, or "gpus": one for each'),
    )
    .optional()
    .describe(
      'Processes of one training, each started with the RANK, WORLD_SIZE and MASTER_ADDR that torch.distributed ' +
        'reads: a number, or "gpus" for one per GPU (default: 1).',
    ),
  checkpoint_every: duration()
    .optional()
    .describe(
      'On HTCondor: how often the training must save and exit, so that its checkpoint ' +
        'reaches the access point. It resumes at once, with its data still there.',
    ),
  quiet_limit: duration()
    .optional()
    .describe(
      'An attempt that is idle, without output or progress, for this long is stopped as hung. ' +
        'One that computes silently gets three times as long (default: 1h idle).',
    ),
  idle_limit: duration()
    .optional()
    .describe(
      'An attempt whose GPU is idle for this long, although the training prints, is stopped as hung ' +
        '(default: it is said after 10m, and nothing is stopped).',
    ),
  slow_limit: z
    .number(entry('how many times as slow as elsewhere is too slow, like 3, or 0 for never'))
    .refine((value) => value === 0 || (value > 1 && value <= 1000), {
      error: ({ input }) => `is ${String(input)}; expected 0 (never), or a number above 1, like 3`,
    })
    .optional()
    .describe(
      'An attempt leaves a machine whose first epoch takes this many times ' +
        'as long as in other attempts of the run; 0 turns it off (default: 3).',
    ),
  env: z
    .record(variable(), scalar().transform(String), entry('a table of strings'))
    .prefault({})
    .describe('Environment variables of the training. Names that start with UPDRAFT_ are reserved.'),
  secrets: z
    .record(variable(), secret, entry('a table like { WANDB_API_KEY = { from = "env" } }'))
    .optional()
    .describe(
      'Secret environment variables, and where each value comes from. Values are written to no file of the run.',
    ),
}).describe('What to run, and what a valid result is.');

const data = table('a table like [data.train]', {
  url: urlOrFile().describe(
    'The data: a folder or file on this machine, its path relative to this file, or the URL of ' +
      'an object (osdf://, pelican://, https://, http://, file://). A folder is packed once per run. ' +
      'A list of shards (.shards.json), as `updraft stage` writes it, stands for all of them; ' +
      'with `method = "on-demand"` so does a range of numbered tars, like train-{0000..0099}.tar.',
  ),
  into: path('a folder in the work folder, like "data"')
    .default('data')
    .describe('Folder in which the data appears once it is complete.'),
  arriving: z
    .boolean(entry('true or false'))
    .default(false)
    .transform((isAsked) => isAsked || undefined)
    .describe(
      'Start the training with the first part of the data. Each file (in a nested archive: ' +
        'each folder) appears when it is complete; the file .arriving disappears when all is there.',
    ),
  unpack: choiceOf(unpackModes, (asked) => repacking(`data.${asked}`)?.fix)
    .default('auto')
    .describe(
      'auto decides by the name of the object; nested is a tar of tars, with a folder for each inner tar.',
    ),
  method: choiceOf(dataMethods)
    .default('auto')
    .describe(
      'How the data reaches the job (docs/methods.md). updraft plan shows what auto chooses, and why.',
    ),
  keep: size()
    .optional()
    .describe(
      'With on-demand: disk for the shards. Used ones are removed when others need it (default: all of them are kept).',
    ),
  expect: table('a table like { files = 10, bytes = 2048 }', {
    files: count('a number of files', 1).optional().describe('Number of files in the data.'),
    bytes: count('a number of bytes', 1)
      .optional()
      .describe('Size of the object in bytes; of a list of shards, the sum of their sizes.'),
  })
    .prefault({})
    .describe('What the data must have; other data is refused.'),
  sha256: matching('a SHA-256: 64 hexadecimal digits', /^[0-9a-fA-F]{64}$/)
    .toLowerCase()
    .optional()
    .describe('SHA-256 of the object, in hexadecimal.'),
  manifest: urlOrPath('a URL, or a file beside this one')
    .optional()
    .describe('Manifest of chunk hashes: a URL, or a file beside this one.'),
  token_file: nonEmptyText('the path of a file with the token')
    .optional()
    .describe(
      'File with the bearer token; never put the token itself here (default: your login for the namespace).',
    ),
  caches: cacheList()
    .optional()
    .describe('Caches to try first, in this order, before those the director names.'),
  avoid_caches: cacheList().optional().describe('Caches that are never used.'),
}).describe('Data that is downloaded, verified and unpacked before the training starts, or while it runs.');

const resources = table('a table', {
  nodes: count('a whole number of machines', 1, 512)
    .optional()
    .describe('On Slurm: nodes of a job, each with the resources below (default: 1).'),
  cpus: count('a whole number of CPUs', 1, 4096).default(1).describe('CPU cores of a job.'),
  gpus: count('a whole number of GPUs', 0, 64).default(0).describe('GPUs of a job.'),
  gpu: table('a table like { capability = 7.5, memory = "16 GB", cuda = "12.1" }', {
    capability: z
      .number(entry('a CUDA compute capability, like 7.5'))
      .min(1, entry('a CUDA compute capability, like 7.5'))
      .max(99, entry('a CUDA compute capability, like 7.5'))
      .optional()
      .describe('Minimum CUDA compute capability.'),
    memory: size().optional().describe('Minimum memory of each GPU.'),
    cuda: matching('a CUDA version as a string, like "12.1"', /^\d{1,2}\.\d{1,2}$/)
      .optional()
      .describe('CUDA version that the driver must support.'),
  })
    .optional()
    .describe('Minimum requirements of each GPU.'),
  memory: size().prefault('2 GB').describe('Memory of a job.'),
  disk: size('auto')
    .prefault('auto')
    .describe('Disk of a job; auto computes it from the data and the method.'),
  time: duration().optional().describe('Time limit of an attempt.'),
}).describe('What a job needs.');

const parameterName = () =>
  names(
    'a parameter: letters, digits and "_", no digit first; "." and "-" between them',
    new RegExp(`^${parameterPattern}$`),
  );

/** The table [run] alone: it says how many jobs there are, with which parameters. */
export const runSchema = table('a table', {
  jobs: count('a whole number of jobs', 1, 100_000)
    .default(1)
    .describe('Number of jobs; with a matrix, of each combination.'),
  matrix: z
    .record(
      parameterName(),
      z
        .array(
          z.union(
            [scalar(), z.record(parameterName(), scalar())],
            entry('a string, a number, true or false, or a table of these'),
          ),
          entry('a list of values, like [0.1, 0.01]; a name with dots needs quotes, like "optim.lr"'),
        )
        .min(1, { error: 'is empty; a parameter needs at least one value' }),
      entry('a table of lists, like { lr = [0.1, 0.01] }'),
    )
    .default({})
    .describe(
      'Parameters and their values; every combination is a job. A list of tables has parameters that ' +
        'belong together. {name} is filled in [train], [data], [environment], [resources] and run.requirements.',
    ),
  repeat: count('a whole number of repetitions', 1, 10_000)
    .optional()
    .describe(
      'Repetitions of every combination, each with its own {seed}: 1, 2, ' +
        '3 … Combinations take turns, so that a bad hour of the pool hits all alike.',
    ),
  pool: choiceOf(pools).default('local').describe('Where the jobs run.'),
  profile: matching('the name of a pool profile, like "ospool"', /^[A-Za-z0-9][\w.-]*$/)
    .optional()
    .describe(
      'On HTCondor: whose rules and limits apply: "ospool", "chtc", "htcondor", "mini", or one that a ' +
        'file in `~/.config/updraft/pools/` or `/etc/updraft/pools/` describes (default: detected).',
    ),
  like: nonEmptyText('the folder of a run')
    .optional()
    .describe(
      'On HTCondor: a run by whose speed at each site and GPU slots are ranked, like "runs/resnet-1a2b3c" ' +
        '(default: the latest run of this name).',
    ),
  project: matching('a project name: letters, digits, ".", "_" and "-"', /^[A-Za-z0-9][A-Za-z0-9._-]*$/)
    .optional()
    .describe('Project (HTCondor) or account (Slurm) that the jobs are charged to.'),
  requirements: matching('a condition on machines in one line, like "TARGET.HasAVX2"', /^[^\0\n\r]+$/)
    .optional()
    .describe(
      'Further condition on machines: an HTCondor expression, or on Slurm what sbatch --constraint takes.',
    ),
  partition: matching('the name of a partition, or several with "," between', /^[\w.+-]+(,[\w.+-]+)*$/)
    .optional()
    .describe("On Slurm: the partition, or several (default: the cluster's own default)."),
  qos: matching('the name of a quality of service', /^[\w.+-]+$/)
    .optional()
    .describe('On Slurm: the quality of service.'),
  caches: cacheList().optional().describe('Caches to try first, for every object without its own list.'),
  avoid_caches: cacheList().optional().describe('Caches that are never used, for any object of the run.'),
  attempts: count('a whole number of attempts (1 means no retry)', 1, 100)
    .default(5)
    .describe('A job fails for good after this many failed attempts. Evictions do not count.'),
  on_end: matching(
    'a command of the shell in one line, like "mail -s done me@example.org < /dev/null"',
    /^[^\0\n\r]+$/,
  )
    .optional()
    .describe(
      'Command that runs on this machine, once, when the run has ended; it gets UPDRAFT_RUN, ' +
        'UPDRAFT_RUN_FOLDER, UPDRAFT_STATE ("success" or "failed"), UPDRAFT_SUCCEEDED and UPDRAFT_FAILED. ' +
        'On HTCondor and Slurm only while `updraft run` or `updraft watch` is open.',
    ),
}).describe('How many jobs, and where.');

const recovery = table('a table', {
  avoid: choiceOf(avoidances)
    .default('site')
    .describe(
      'What the next attempt avoids after a failure that another place can fix: the site, the machine, or nothing.',
    ),
  memory_max: size()
    .optional()
    .describe(
      'Limit up to which memory doubles after an attempt ran out of it (default: four times `memory`).',
    ),
  disk_max: size()
    .optional()
    .describe('Limit up to which disk doubles after an attempt ran out of it (default: four times `disk`).'),
  give_up_after: duration()
    .optional()
    .describe('No attempt starts later than this after the job was queued.'),
  failed_jobs: count('a whole number of jobs', 1)
    .optional()
    .describe('After this many jobs have failed for good, the rest of the run is cancelled.'),
}).describe('How failures that another attempt can fix are handled.');

const pool = table('agent, or the table [pool.submit]', {
  agent: agentPlace()
    .optional()
    .describe(
      'How the agent reaches the workers of an HTCondor pool: a URL that updraft env ' +
        'agent printed, from which they fetch it through caches; the place in its image that updraft env ' +
        'image --agent printed; or "common": once per machine, ' +
        'where HTCondor is 25.14 or newer. By default it is sent with every attempt.',
    ),
  submit: z
    .record(z.string(), scalar(), entry('a table of strings, numbers, true and false'))
    .optional()
    .describe(
      'Further lines for the pool: commands of the HTCondor submit file (a ' +
        'name that starts with + or MY. is an attribute of the job), ' +
        'or long options of sbatch. Lines that Updraft writes itself are refused.',
    ),
}).describe('What else the pool needs.');

const metrics = (what: string) => z.array(nonEmptyText('the name of a metric'), entry(what)).optional();

const results = table('a table', {
  smaller_is_better: metrics('a list of metrics, like ["latency"]').describe(
    'Metrics of which a smaller value is better, as `updraft results` names them; also with val_ or ' +
      'test/ before them. Without it, the name decides: a loss, an error, `wer`, `perplexity` and the like.',
  ),
  larger_is_better: metrics('a list of metrics, like ["reconstruction_time_gain"]').describe(
    'Metrics of which a larger value is better, against what their names suggest.',
  ),
}).describe('How results are judged.');

export const rangeForms =
  'a list of values, or one of { log = [1e-5, 0.1] }, { uniform = [0, 0.5] }, { int = [2, 8] }, ' +
  'the smaller number first';
const end = () => z.number(entry(`two numbers, of ${rangeForms}`));
const ends = z.tuple([end(), end()], entry(rangeForms)).optional();

/** `check` says what is wrong with a range. */
const range = z.union(
  [
    z.array(scalar(), entry(rangeForms)).min(1),
    z.strictObject({ log: ends, uniform: ends, int: ends }, entry(rangeForms)),
  ],
  entry(rangeForms),
);

const budgets = (unit: string) =>
  z
    .array(count(`a whole number of ${unit}`, 1), entry(`a rising list of ${unit}, like [1, 3, 9, 27]`))
    .refine((list) => list.length > 1 && list.every((one, at) => one > (list[at - 1] ?? 0)), {
      error: `needs two or more numbers that rise; expected a list of ${unit}, like [1, 3, 9, 27]`,
    })
    .optional();

/** The table [search] alone: it says which trials there are. */
export const searchSchema = table('a table with ranges and metric', {
  ranges: z
    .record(parameterName(), range, entry('a table like { lr = { log = [1e-5, 0.1] } }'))
    .refine((all) => Object.keys(all).length > 0, {
      error: 'is empty; a search needs at least one parameter',
    })
    .describe(
      'Parameters, each with a list of values or a range: { log = […] }, { uniform = […] } or { int = […] }. ' +
        'Each trial is a job with a value of each, filled in as those of a matrix are.',
    ),
  trials: count('a whole number of trials', 1, 100_000)
    .optional()
    .describe('Number of trials (default: all combinations, with `method = "grid"`).'),
  metric: nonEmptyText('the name of a metric, like "val_accuracy"').describe(
    'What decides, as `run.log` or a printed line of the training calls it.',
  ),
  direction: choiceOf(['maximize', 'minimize'])
    .optional()
    .describe("Which value is better (default: by [results], or else by the metric's name)."),
  method: choiceOf(['random', 'grid', 'asha'])
    .optional()
    .describe(
      'random: values are drawn; grid: every combination; asha: drawn, and the worse of them are stopped at ' +
        'the rungs (default: asha with rungs, else random).',
    ),
  epochs: budgets('epochs').describe(
    'Rungs: the numbers of epochs after which a trial is judged; the last one is all of them.',
  ),
  steps: budgets('steps').describe('Rungs in steps, instead of epochs.'),
  eta: count('a whole number', 2, 100).default(3).describe('At a rung, one in this many goes on: the best.'),
  seed: count('a whole number', 0).default(0).describe('Another seed draws other trials.'),
  sampler: path('the name of a Python file, like "next.py"')
    .optional()
    .describe('A Python file of yours that prints the parameters of trials, instead of our drawing them.'),
}).describe('A search: trials instead of a matrix, of which the worse ones are stopped early.');

/** The user's file: the one source of its types, defaults, descriptions and JSON Schema. */
export const fileSchema = table('tables and keys', {
  name: matching(
    'a name for the run, like "cifar10": up to 64 letters, digits, ".", "_" and "-", a letter or digit first',
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  ).describe('Name of the run and of its folders.'),
  train,
  data: z
    .record(
      names('a data set: up to 64 letters, digits, "_" and "-"', /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/),
      data,
      entry('tables like [data.train]'),
    )
    .transform((all) => Object.entries(all).map(([name, source]) => ({ name, ...source })))
    .prefault({})
    .describe('The data, by name.'),
  environment: environmentSchema.prefault({}),
  resources: resources.prefault({}),
  run: runSchema.prefault({}),
  recovery: recovery.prefault({}),
  pool: pool.optional(),
  search: searchSchema.optional(),
  results: results.optional(),
}).meta({
  title: 'Updraft job file',
  description:
    'What to run, on which data, in which software, with which resources, and what a valid result is.',
});
