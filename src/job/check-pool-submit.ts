import {
  entriesAt,
  problemAt,
  problemAtKey,
  type SourceFile,
  type SpecProblem,
  valueAt,
} from './source-file.ts';

/** What of `[pool.submit]` a pool's own lines leave no room for. */
interface PoolLines {
  names: RegExp;
  expected: string;
  /** By lower-case name, the key of the job file to use instead; empty where there is none. */
  ours: Record<string, string>;
  /** Whole families of such names. */
  oursAlso: RegExp;
}

const condor: PoolLines = {
  names: /^(?:\+|MY\.)?[A-Za-z_]\w*$/i,
  expected: 'a command of a submit file, or an attribute of the job, like "+WantGlidein"',
  ours: {
    ...{
      executable: 'train.command',
      arguments: 'train.command',
      args: 'train.command',
      cmd: 'train.command',
    },
    ...{ environment: 'train.env', getenv: 'train.env', env: 'train.env' },
    ...{ container_image: 'environment.image', docker_image: 'environment.image' },
    ...{ request_cpus: 'resources.cpus', request_gpus: 'resources.gpus', require_gpus: 'resources.gpu' },
    ...{ request_memory: 'resources.memory', request_disk: 'resources.disk' },
    ...{ retry_request_memory: 'recovery.memory_max', max_retries: 'run.attempts', queue: 'run.jobs' },
    ...{ allowed_execute_duration: 'resources.time', allowed_job_duration: 'resources.time' },
    ...{
      jobdurationcategory: 'resources.time',
      requirements: 'run.requirements',
      projectname: 'run.project',
    },
    ...{ batch_name: 'name', jobbatchname: 'name', universe: '', log: '', output: '', error: '', input: '' },
    ...{ iwd: '', initialdir: '', initial_dir: '', description: '', submit_event_notes: '', hold: '' },
    ...{
      ulog_execute_attrs: '',
      max_idle: '',
      max_materialize: '',
      leave_in_queue: '',
      job_lease_duration: '',
    },
    ...{ want_io_proxy: '', want_graceful_removal: '', retry_until: '', success_exit_code: '', noop_job: '' },
    ...{ include: '', use: '', if: '', elif: '', else: '', endif: '' },
  },
  oursAlso:
    /^(transfer|should_transfer|when_to_transfer|on_exit|onexit|periodic|checkpoint|stream|gpus_minimum|job_machine|updraft|request(cpus|memory|disk|gpus))/,
};

const slurm: PoolLines = {
  names: /^[a-z][a-z0-9-]*$/,
  expected: 'a long option of sbatch without its dashes, like "reservation"',
  ours: {
    ...{ wrap: 'train.command', export: 'train.env', 'export-file': 'train.env', array: 'run.jobs' },
    ...{
      'cpus-per-task': 'resources.cpus',
      gres: 'resources.gpus',
      gpus: 'resources.gpus',
      time: 'resources.time',
    },
    ...{ partition: 'run.partition', account: 'run.project', qos: 'run.qos', constraint: 'run.requirements' },
    ...{ 'job-name': 'name', chdir: '', input: '', output: '', error: '', 'open-mode': '', signal: '' },
    ...{
      requeue: '',
      'no-requeue': '',
      nodes: '',
      ntasks: '',
      parsable: '',
      wait: '',
      'test-only': '',
      hold: '',
    },
  },
  oursAlso: /^(mem(-|$)|gpus-per|ntasks-)/,
};

/** Lines that the user adds for the pool: none of ours is replaced, and none ends before its end. */
export function checkPoolSubmit(source: SourceFile): SpecProblem[] {
  const lines = valueAt(source.value, ['run', 'pool']) === 'slurm' ? slurm : condor;
  return entriesAt(source.value, ['pool', 'submit']).flatMap(([name, value]) => {
    const at = ['pool', 'submit', name];
    const wrong = wrongName(name, lines);
    if (wrong !== undefined) return [problemAtKey(source, at, wrong)];
    const said = typeof value === 'string' ? wrongText(value) : undefined;
    return said === undefined ? [] : [problemAt(source, at, said)];
  });
}

function wrongName(name: string, { names, expected, ours, oursAlso }: PoolLines): string | undefined {
  const plain = name.toLowerCase().replace(/^(\+|my\.)/, '');
  const instead = Object.hasOwn(ours, plain) ? ours[plain] : oursAlso.test(plain) ? '' : undefined;
  if (instead === '') return 'Updraft writes this line itself, and its recovery rests on it; take it out';
  if (instead !== undefined) return `Updraft writes this line itself; use ${instead} instead`;
  return names.test(name) ? undefined : `this name cannot be used; expected ${expected}`;
}

function wrongText(text: string): string | undefined {
  if (/[\0\n\r]/.test(text)) return 'has a line break; expected one line';
  if (/\\\s*$/.test(text)) return 'ends in a backslash, which would join it with the line below; take it out';
  if (/\$\$?[\w:]*[([]/.test(text)) return 'has a macro, like $(NAME); expected the value itself';
  return text.trim() === '' ? 'is empty; expected a value' : undefined;
}
