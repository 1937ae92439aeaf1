import { z } from 'zod';
import { environmentSchema } from './environment-schema.ts';
import { avoidances, dataMethods, pools, profiles, secretPlaces, unpackModes } from './choices.ts';
import {
  cacheList,
  count,
  duration,
  entry,
  matching,
  names,
  oneOf,
  path,
  paths,
  scalar,
  size,
  table,
  text,
  url,
  urlOrPath,
} from './field-schemas.ts';

const variable = () =>
  names(
    'a variable: letters, digits and "_", no digit first, not UPDRAFT_…',
    /^(?!UPDRAFT_)[A-Za-z_][A-Za-z0-9_]*$/,
  );

const secret = table('a table like { from = "env" } or { from = "file", path = "~/.wandb-key" }', {
  from: oneOf(secretPlaces).describe('env: a variable of the shell that submits. file: a file there.'),
  name: matching('the name of a variable', /^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional()
    .describe('With env: the variable, where it has another name.'),
  path: text('the path of a file with the secret').optional().describe('With file: which one.'),
});

const train = table('the table [train] with command and outputs', {
  command: text('the command that trains, like "python3 train.py --epochs 5"').describe(
    'Run by /bin/sh in the work folder of the attempt. {name} stands for a parameter of [run.matrix], {job} and {index} for the job; {{ and }} are braces.',
  ),
  files: paths('a list of files and folders beside this file, like ["train.py"]')
    .default([])
    .describe('Files and folders beside this file that are sent with the job.'),
  outputs: paths(
    'a list of the files a valid result consists of, like ["model.pt"]: without them a job cannot prove its success',
  )
    .min(1, {
      error:
        'is empty; name at least one file, like ["model.pt"]: a job without outputs cannot prove its success',
    })
    .describe('A job without these files, new and not empty, has failed, whatever its exit code.'),
  check: text('a command, like "python3 check.py"')
    .optional()
    .describe('Run after the training; the result is valid only if it exits with 0.'),
  checkpoint: path('a folder in the work folder, like "checkpoints"')
    .optional()
    .describe('Folder kept across attempts, so that training can resume from it.'),
  checkpoint_keep: count('a whole number of checkpoints', 1, 100)
    .optional()
    .describe('How many checkpoints are kept; 3 where it is left out.'),
  checkpoint_every: duration()
    .optional()
    .describe(
      'On HTCondor: how often the training is asked to save and end, so that its checkpoint is brought to the access point; it goes on at once, with its data still there.',
    ),
  quiet_limit: duration()
    .optional()
    .describe(
      'No output and no progress for so long, while its processes do nothing: the attempt hangs and is ended. One that works silently gets three times as long. Left out: an hour of doing nothing.',
    ),
  slow_limit: z
    .number(entry('how many times as slow as elsewhere is too slow, like 3, or 0 for never'))
    .refine((value) => value === 0 || (value > 1 && value <= 1000), {
      error: ({ input }) => `is ${String(input)}; expected 0 (never), or a number above 1, like 3`,
    })
    .optional()
    .describe(
      'A first epoch that takes so many times as long as in other attempts of the run: the attempt leaves that machine. 3 unless told; 0 turns it off.',
    ),
  env: z
    .record(variable(), scalar().transform(String), entry('a table of texts'))
    .prefault({})
    .describe('Environment variables of the training. Names that begin with UPDRAFT_ are taken.'),
  secrets: z
    .record(variable(), secret, entry('a table like { WANDB_API_KEY = { from = "env" } }'))
    .optional()
    .describe(
      'Variables of the training whose values stand in no file of the run: where each comes from, by its name.',
    ),
}).describe('What to run, and what a valid result looks like.');

const data = table('a table like [data.train]', {
  url: url().describe(
    'Where the object is: osdf://, pelican://, https://, http://, or file:// on this machine.',
  ),
  into: path('a folder in the work folder, like "data"')
    .default('data')
    .describe('Folder in which the data appears, only when it is whole.'),
  arriving: z
    .boolean(entry('true or false'))
    .default(false)
    .transform((isAsked) => isAsked || undefined)
    .describe(
      'Start the training when the first part is there: each file, or of a nested archive each folder, appears when it is whole, and the file .arriving is gone when all is there.',
    ),
  unpack: oneOf(unpackModes)
    .default('auto')
    .describe('auto goes by the name of the object; nested is a tar of tars, a folder for each inner tar.'),
  method: oneOf(dataMethods)
    .default('auto')
    .describe(
      'How the data gets to the job (docs/methods.md); updraft plan says what auto chooses, and why.',
    ),
  expect: table('a table like { files = 10, bytes = 2048 }', {
    files: count('a number of files', 1).optional().describe('How many files unpacking must give.'),
    bytes: count('a number of bytes', 1).optional().describe('Size of the object in bytes.'),
  })
    .prefault({})
    .describe('What must be there, or the data is refused.'),
  sha256: matching('a SHA-256: 64 hexadecimal digits', /^[0-9a-fA-F]{64}$/)
    .toLowerCase()
    .optional()
    .describe('SHA-256 of the object, in hexadecimal.'),
  manifest: urlOrPath('a URL, or a file beside this one')
    .optional()
    .describe('Manifest of chunk hashes: a URL, or a file beside this one.'),
  token_file: text('the path of a file with the token')
    .optional()
    .describe(
      'File with the bearer token, which itself never stands here; if not said, that of your login for the namespace.',
    ),
  caches: cacheList()
    .optional()
    .describe('Caches that are tried first, before those the director names; of these the first one first.'),
  avoid_caches: cacheList().optional().describe('Caches that are not asked.'),
}).describe('One object that is fetched, verified and unpacked before training starts, or while it runs.');

const resources = table('a table', {
  cpus: count('a whole number of CPUs', 1, 4096).default(1).describe('CPU cores of one job.'),
  gpus: count('a whole number of GPUs', 0, 64).default(0).describe('GPUs of one job.'),
  gpu: table('a table like { capability = 7.5, memory = "16 GB", cuda = "12.1" }', {
    capability: z
      .number(entry('a CUDA compute capability, like 7.5'))
      .min(1, entry('a CUDA compute capability, like 7.5'))
      .max(99, entry('a CUDA compute capability, like 7.5'))
      .optional()
      .describe('Least CUDA compute capability.'),
    memory: size().optional().describe('Least memory of each GPU.'),
    cuda: matching('a version of CUDA as a text, like "12.1"', /^\d{1,2}\.\d{1,2}$/)
      .optional()
      .describe('Version of CUDA that the driver must support.'),
  })
    .optional()
    .describe('What each GPU must be at least.'),
  memory: size().prefault('2 GB').describe('Memory of one job.'),
  disk: size('auto')
    .prefault('auto')
    .describe('Disk of one job; auto computes it from the data and the method.'),
  time: duration().optional().describe('Longest time one attempt may take.'),
}).describe('What one job needs.');

const run = table('a table', {
  jobs: count('a whole number of jobs', 1, 100_000)
    .default(1)
    .describe('How many jobs; with a matrix, how many of each combination.'),
  matrix: z
    .record(
      names('a parameter: letters, digits and "_", no digit first', /^[A-Za-z_][A-Za-z0-9_]*$/),
      z
        .array(scalar(), entry('a list of values, like [0.1, 0.01]'))
        .min(1, { error: 'is empty; a parameter needs at least one value' }),
      entry('a table of lists, like { lr = [0.1, 0.01] }'),
    )
    .default({})
    .describe('Parameters and their values: every combination is a job.'),
  pool: oneOf(pools).default('local').describe('Where the jobs run.'),
  profile: oneOf(profiles)
    .optional()
    .describe('Whose customs and limits apply on HTCondor; found out where it is left out.'),
  project: matching('a project name: letters, digits, ".", "_" and "-"', /^[A-Za-z0-9][A-Za-z0-9._-]*$/)
    .optional()
    .describe(
      'Name under which the pool accounts for the jobs: the project on HTCondor, the account on Slurm.',
    ),
  requirements: matching('a condition on machines in one line, like "TARGET.HasAVX2"', /^[^\0\n\r]+$/)
    .optional()
    .describe(
      'A further condition on machines, as HTCondor writes it; on Slurm, features of nodes as sbatch --constraint takes them.',
    ),
  partition: matching('the name of a partition, or several with "," between', /^[\w.+-]+(,[\w.+-]+)*$/)
    .optional()
    .describe(
      'On Slurm: the partition in which the jobs queue, or several; the default one where it is left out.',
    ),
  qos: matching('the name of a quality of service', /^[\w.+-]+$/)
    .optional()
    .describe('On Slurm: the quality of service under which the jobs run.'),
  caches: cacheList()
    .optional()
    .describe('Caches that are tried first for every object of the run that names none of its own.'),
  avoid_caches: cacheList().optional().describe('Caches that are asked for no object of the run.'),
  attempts: count('a whole number of attempts (1 is one try and no other)', 1, 100)
    .default(5)
    .describe(
      'A job is given up when so many of its attempts have failed; those the pool took away do not count.',
    ),
}).describe('How many jobs, and where.');

const recovery = table('a table', {
  avoid: oneOf(avoidances)
    .default('site')
    .describe(
      'After a failure that another place can heal, the next attempt is made at another site, or on another machine, as long as there is one.',
    ),
  memory_max: size()
    .optional()
    .describe(
      'An attempt that ran out of memory is made again with twice as much, up to this; four times `memory` where it is left out.',
    ),
  disk_max: size().optional().describe('The same for disk; four times `disk` where it is left out.'),
  give_up_after: duration()
    .optional()
    .describe('No attempt is begun later than so long after the job was queued.'),
  failed_jobs: count('a whole number of jobs', 1)
    .optional()
    .describe('When so many jobs have failed for good, the rest of the run is given up.'),
}).describe('What is done about failures that another attempt can heal.');

const pool = table('the table [pool.submit]', {
  submit: z
    .record(z.string(), scalar(), entry('a table of texts, numbers, true and false'))
    .optional()
    .describe(
      'Lines that the pool needs and Updraft does not know: commands of the HTCondor submit file (a name that begins with + or MY. is an attribute of the job), or long options of sbatch. Those that Updraft writes itself are refused.',
    ),
}).describe('What the pool needs beyond what is said elsewhere.');

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
  run: run.prefault({}),
  recovery: recovery.prefault({}),
  pool: pool.optional(),
}).meta({
  title: 'Updraft job file',
  description:
    'What to run, on what data, in what software, with what resources, and what a valid result looks like.',
});
