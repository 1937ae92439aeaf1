/** The names `[pool.submit]` accepts on a pool, and those that Updraft writes itself. */
export interface PoolLines {
  names: RegExp;
  expected: string;
  /** Lines that a key of the job file sets, by that key. */
  byKey: Record<string, RegExp>;
  /** Lines that recovery depends on; no key changes them. */
  fixed: RegExp;
}

export const submitFileLines: PoolLines = {
  names: /^(?:\+|MY\.)?[A-Za-z_]\w*$/i,
  expected: 'a submit command, or an attribute of the job, like "+WantGlidein"',
  byKey: {
    name: /^(batch_name|jobbatchname)$/,
    'train.command': /^(executable|arguments|args|cmd)$/,
    'train.env': /^(environment|getenv|env)$/,
    'environment.image': /^(container|docker)_image$/,
    'resources.cpus': /^request_?cpus$/,
    'resources.gpus': /^request_?gpus$/,
    'resources.gpu': /^(require_gpus|gpus_minimum.*)$/,
    'resources.memory': /^request_?memory$/,
    'resources.disk': /^request_?disk$/,
    'resources.time': /^(allowed_?(execute|job)_?duration|jobdurationcategory)$/,
    'recovery.memory_max': /^retry_request_memory$/,
    'run.attempts': /^max_retries$/,
    'run.jobs': /^queue$/,
    'run.requirements': /^requirements$/,
    'run.project': /^projectname$/,
  },
  fixed: new RegExp(
    [
      '^(universe|log|output|error|input|iwd|initial_?dir|description|submit_event_notes|hold|noop_job)$',
      '^(ulog_execute_attrs|max_idle|max_materialize|leave_in_queue|job_?lease_?duration|want_?io_?proxy)$',
      '^(want_?graceful_?removal|retry_until|success_?exit_?code|include|use|if|elif|else|endif)$',
      '^(leavejobinqueue|jobuniverse|jobstatus|userlog|ulogexecuteattrs|in|out|err|clusterid|procid)$',
      '^num(jobstarts|shadowstarts|holds.*)$',
      '^(transfer|should_transfer|when_to_transfer|on_?exit|periodic|checkpoint|stream|job_machine|updraft)',
    ].join('|'),
  ),
};

export const sbatchLines: PoolLines = {
  names: /^[a-z][a-z0-9-]*$/,
  expected: 'a long sbatch option without its dashes, like "reservation"',
  byKey: {
    name: /^job-name$/,
    'train.command': /^wrap$/,
    'train.env': /^export(-file)?$/,
    'resources.nodes': /^nodes$/,
    'resources.cpus': /^cpus-per-task$/,
    'resources.gpus': /^(gres|gpus.*)$/,
    'resources.memory': /^mem(-.*)?$/,
    'resources.time': /^time$/,
    'run.jobs': /^array$/,
    'run.partition': /^partition$/,
    'run.project': /^account$/,
    'run.qos': /^qos$/,
    'run.requirements': /^constraint$/,
  },
  fixed:
    /^(chdir|input|output|error|open-mode|signal|(no-)?requeue|ntasks(-.*)?|parsable|wait|test-only|hold)$/,
};
