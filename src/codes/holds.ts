import type { CodeRow } from './row.ts';

const memoryWords = [
  'memory usage exceeded',
  'memory limit exceeded',
  'over memory limit',
  'over cgroup memory limit',
  'too much memory',
  'out of memory',
];
const diskWords = ['disk usage exceeded', 'more disk space than requested'];

const memory = {
  cause: 'memory-exceeded',
  says: 'It ran out of the memory it asked for{memory}.',
  more: ['The slot had {slotMemory} MB.'],
  advice: 'Ask for at least {enoughMemory} MB.',
} as const;
const disk = { cause: 'disk-exceeded', says: 'It used more disk than it asked for{disk}.' } as const;
const notStarted = 'The program{program} could not be started';
const notOpened: Omit<CodeRow, 'codes'> = {
  cause: 'file-unusable',
  says: 'Standard input, output or error could not be opened{words}.',
};
const image: Omit<CodeRow, 'codes'> = {
  cause: 'environment-broken',
  says: 'The container image{image} could not be used on that machine.',
  more: ['The container tool said: {tool}'],
};
/** Full disks where outputs, logs and streams are written. */
const quotaWords = ['disk quota exceeded', 'quota exceeded', 'no space left'];
const accessPointFull = {
  cause: 'access-point-full',
  says: 'Output could not be written on the access point: its disk or your quota there is full.',
} as const;
const tooBig = (way: string, name: string): string =>
  `The ${way} that HTCondor itself is to move is over the limit of the access point or the job (${name}){sizes}.`;
const onTheirSum = ['Splitting the files does not help: the limit is on their sum.'];

/** Holds whose code is clear, whatever their words mention. */
export const clearHolds: readonly CodeRow[] = [
  { codes: [1], cause: 'user', says: 'Somebody held it by hand{words}.' },
  {
    codes: [3],
    cause: 'job-policy',
    says: 'A rule of the job itself (periodic_hold or on_exit_hold) held it{words}.',
  },
  { codes: [4], cause: 'access-refused', says: 'Its credential is bad{words}.' },
  {
    codes: [5],
    cause: 'job-policy',
    says: 'A rule of the job could not be evaluated{words}.',
    advice: 'Fix the expression: an attribute it names is not there.',
    outlook: 'lasting',
  },
  {
    codes: [6],
    subcodes: [5, 11, 12, 116],
    cause: 'machine-broken',
    answer: 'elsewhere',
    says: 'The machine could not start the program{program}: no memory, no process, or a disk that fails (error number {subcode}).',
  },
  {
    codes: [6],
    words: ['invalid interpreter'],
    cause: 'command-missing',
    says: `${notStarted}: its first line names {interpreter|an interpreter}, which the machine does not have.`,
  },
  {
    codes: [6],
    subcodes: [2],
    cause: 'command-missing',
    says: `${notStarted}: a file is missing: the program itself, or the interpreter its first line names.`,
  },
  {
    codes: [6],
    subcodes: [8],
    cause: 'command-missing',
    says: `${notStarted}: it is not a program for that machine: another processor, or a script without a first line such as #!/bin/sh.`,
  },
  {
    codes: [6],
    subcodes: [13],
    cause: 'command-missing',
    says: `${notStarted}: it is not executable, or a folder above it is closed.`,
  },
  { codes: [6], cause: 'command-missing', says: `${notStarted}{words}.`, outlook: 'unclear' },
  {
    codes: [15],
    cause: 'user',
    says: 'It was submitted on hold (hold = true){words}.',
    advice: 'Nothing is wrong: it waits until it is released.',
  },
  { codes: [16], cause: 'staging', says: 'Its input is being copied to the access point{words}.' },
  {
    codes: [20],
    cause: 'job-policy',
    says: 'It missed the time at which it was to start (deferral_time){words}.',
  },
  {
    codes: [25],
    cause: 'job-policy',
    says: 'The times at which it is to start (cron_*) cannot be understood{words}.',
    outlook: 'lasting',
  },
  { codes: [26], words: ['memory'], ...memory },
  { codes: [26], words: ['cpu', 'cpus'], cause: 'cpu-exceeded', says: 'The access point held it for its use of CPUs{words}.' },
  { codes: [26], words: ['disk'], ...disk },
  {
    codes: [26],
    words: ['wall time', 'walltime', 'run time', 'runtime', 'duration', 'running for'],
    cause: 'time-limit',
    says: 'The access point held it for its running time{words}.',
  },
  { codes: [26], cause: 'pool-policy', says: 'A rule of the access point held it{words}.' },
  { codes: [27], cause: 'pool-policy', says: 'A rule of the access point could not be evaluated{words}.' },
  { codes: [32], cause: 'input-too-big', says: tooBig('input', 'MAX_TRANSFER_INPUT_MB'), more: onTheirSum },
  { codes: [33], cause: 'output-too-big', says: tooBig('output', 'MAX_TRANSFER_OUTPUT_MB'), more: onTheirSum },
  { codes: [35], ...image, answer: 'later' },
  { codes: [36], cause: 'checkpoint-failed', answer: 'later', says: 'A checkpoint could not be saved{words}.' },
  { codes: [43], cause: 'exit-code', says: 'The script before the program failed{words}.' },
  { codes: [44], cause: 'exit-code', says: 'The script after the program failed{words}.' },
  { codes: [45], ...image, answer: 'elsewhere' },
  {
    codes: [46],
    cause: 'time-limit',
    says: 'It reached its time limit{limit} on a slot, transfers included (allowed_job_duration).',
  },
  // The agent keeps the time itself: HTCondor's limit is reached only where the agent hangs with its machine.
  {
    codes: [47],
    cause: 'time-limit',
    answer: 'elsewhere',
    says: 'It reached its time limit{limit} of running the program (allowed_execute_duration).',
  },
];

/** Memory and disk, also where only the words say so. */
export const resources: readonly CodeRow[] = [
  { codes: [21, 34], subcodes: [102], ...memory, answer: 'more-memory' },
  { codes: [21, 34], subcodes: [104], ...disk, answer: 'more-disk' },
  { codes: [21, 34], words: memoryWords, ...memory, answer: 'more-memory' },
  { codes: [21, 34], words: diskWords, ...disk, answer: 'more-disk' },
  { words: memoryWords, ...memory },
  { words: diskWords, ...disk },
];

/** Words that decide where a code says nothing, and codes that say it all. */
export const otherHolds: readonly CodeRow[] = [
  { words: quotaWords, ...accessPointFull },
  {
    words: ['failed to create a user'],
    cause: 'machine-broken',
    says: 'The machine is broken: it could not make the account that jobs run under{words}.',
    advice: 'Keep away from that machine until its staff has repaired it.',
  },
  {
    words: ['lvm'],
    cause: 'machine-broken',
    says: 'The machine is broken: it could not make the disk that the job was to have (LVM){words}.',
    advice: 'Keep away from that machine until its staff has repaired it.',
  },
  { codes: [7, 8, 9, 10], ...notOpened },
  {
    codes: [11, 18],
    cause: 'transfer-failed',
    answer: 'later',
    says: 'The connection that moves its files broke{words}.',
    outlook: 'passing',
  },
  {
    codes: [14],
    cause: 'file-unusable',
    says: 'The job’s folder on the access point cannot be used{words}.',
  },
  {
    codes: [17, 24],
    cause: 'pool-policy',
    says: 'The access point has no program for jobs of this kind{words}.',
    outlook: 'lasting',
  },
  { codes: [19], cause: 'machine-broken', answer: 'elsewhere', says: 'The machine could not prepare the job{words}.' },
  { codes: [21], cause: 'site-policy', says: 'A rule of the machine’s site held it{words}.' },
  { codes: [22], cause: 'file-unusable', says: 'The event log cannot be written{words}.' },
  {
    codes: [23],
    cause: 'machine-broken',
    answer: 'elsewhere',
    says: 'The machine has no account for the job{words}.',
  },
  { codes: [34], cause: 'site-policy', says: 'It used more of a resource than it asked for{words}.' },
  {
    codes: [48],
    cause: 'machine-broken',
    answer: 'elsewhere',
    says: 'The access point could not prepare the job{words}.',
  },
  {
    codes: [49],
    cause: 'machine-broken',
    answer: 'elsewhere',
    says: 'The machine has no group for the job{words}.',
  },
];

const tryIt =
  'Try the plugin by hand on one file (`-infile`, `-outfile`), and see that it writes its answer even when it fails.';
const plugin = { codes: [12, 13], cause: 'plugin-failed', answer: 'later' } as const;
const server = { codes: [12, 13], answer: 'later' } as const;
const missingWords = ['not found', 'no such file', 'no such object', 'does not exist'];

/** Transfers: 12 is output, 13 is input. */
export const transfers: readonly CodeRow[] = [
  {
    codes: [12, 13],
    words: ['remote object already exists', 'object already exists', 'upload aborted'],
    cause: 'output-failed',
    fault: 'file-invalid',
    says: 'The destination already has {url|an object of that name}, and objects are never overwritten.',
    advice: 'Give each run’s output a name of its own, or delete the object that is there.',
    outlook: 'lasting',
  },
  { codes: [12], subcodes: [28, 122], ...accessPointFull },
  { codes: [12], words: quotaWords, ...accessPointFull },
  {
    codes: [12],
    subcodes: [2],
    words: ['writing to', 'failed to write'],
    cause: 'output-failed',
    says: 'The access point could not write {file|the output}{errno}.',
    outlook: 'lasting',
  },
  {
    codes: [12],
    subcodes: [2],
    cause: 'output-missing',
    says: 'The program ended without writing {file|a file}, which it was to bring back.',
  },
  {
    codes: [12],
    words: ['writing to file…errno', 'failed to write…errno'],
    cause: 'output-failed',
    answer: 'later',
    says: 'The access point could not write {file|the output}{errno}.',
    outlook: 'lasting',
  },
  {
    codes: [13],
    subcodes: [2],
    words: ['x509up'],
    cause: 'access-refused',
    fault: 'token-missing',
    says: 'The access point was to send your proxy {file|(x509up)}, which is not there.',
    advice: 'Make a new proxy at the place that x509userproxy names, before the job is submitted or released.',
  },
  {
    codes: [13],
    subcodes: [2],
    cause: 'input-missing',
    says: 'The access point was to send {file|an input file}, which is not there.',
  },
  {
    codes: [13],
    subcodes: [13],
    words: ['reading from'],
    cause: 'file-unusable',
    says: 'The access point may not read {file|an input file}{errno}.',
  },
  { codes: [13], subcodes: [28, 122], cause: 'disk-full', answer: 'elsewhere', says: 'The disk of the machine was full before all of the input had arrived.' },
  { codes: [13], words: ['no space left'], cause: 'disk-full', answer: 'elsewhere', says: 'The disk of the machine was full before all of the input had arrived.' },
  {
    ...plugin,
    words: ['exited (signal #)'],
    says: 'The file-transfer plugin{plugin} was ended by signal {signal} before it could answer.',
    advice: tryIt,
  },
  {
    ...plugin,
    subcodes: [-1004],
    says: 'The file-transfer plugin{plugin} ended{exit} without saying what became of the {way} files.',
    advice: tryIt,
    outlook: 'lasting',
  },
  {
    ...plugin,
    words: ['no valid classads in output'],
    says: 'The file-transfer plugin{plugin} ended{exit} without saying what became of the {way} files.',
    advice: tryIt,
  },
  { ...plugin, subcodes: [-1001], says: 'The file-transfer plugin{plugin} is not installed on that machine.' },
  {
    ...plugin,
    subcodes: [-1002],
    says: 'The file-transfer plugin{plugin} does not work on that machine, or is not allowed there.',
  },
  { ...plugin, subcodes: [-1003], says: 'The file-transfer plugin{plugin} could not be started.', advice: tryIt },
  {
    ...plugin,
    subcodes: [62],
    says: 'The file-transfer plugin{plugin} took longer than the pool allows and was ended.',
    advice: 'Use a cache near the machine, or smaller objects.',
  },
  {
    ...server,
    words: [
      'lack of progress',
      'stall',
      'too slow',
      'tooslow',
      'slowtransfer',
      'slow transfer',
      'timed out',
      'time out',
      'timeout',
      'timer expired',
      'no progress',
    ],
    cause: 'transfer-stalled',
    says: 'The transfer of {url|a file} stood still and was given up.',
  },
  {
    ...server,
    words: ['401', '403', 'forbidden', 'unauthorized', 'permission denied', 'authorization', 'token'],
    cause: 'access-refused',
    says: 'The server refuses to {takes} {url|a file} (access denied).',
  },
  {
    codes: [13],
    answer: 'later',
    words: ['404', ...missingWords],
    // The names under which HTCondor keeps checkpoints at a checkpoint_destination.
    url: /\/[^/]+_\d+\.\d+_\d+\/\d{4}\//,
    cause: 'checkpoint-failed',
    says: 'A part of the checkpoint that it had saved is not there any more (404): {url}.',
    outlook: 'lasting',
  },
  {
    codes: [13],
    answer: 'later',
    words: ['no sources found', 'no caches found', 'no origins found'],
    cause: 'object-missing',
    says: 'The director of the federation knows no server that has {url|a file}.',
    advice: 'Ask who has it now: updraft stat {federated}',
  },
  {
    codes: [13],
    answer: 'later',
    words: ['404'],
    cause: 'object-missing',
    says: 'The server says that {url|a file} is not there (404).',
    advice: 'Ask who has it now: updraft stat {federated}',
  },
  {
    codes: [13],
    answer: 'later',
    words: missingWords,
    url: /./,
    cause: 'object-missing',
    says: 'The server says that {url} is not there (404).',
    advice: 'Ask who has it now: updraft stat {federated}',
  },
  {
    codes: [12],
    answer: 'later',
    words: ['404'],
    cause: 'object-missing',
    says: 'The server says that the place for {url|a file} is not there (404).',
  },
  {
    ...server,
    words: [
      'failed to connect',
      'could not connect',
      "couldn't connect",
      'could not resolve',
      "couldn't resolve",
      'connection refused',
      'connection reset',
      'unreachable',
      'no route',
      'resolve host',
      'no such host',
    ],
    cause: 'servers-unreachable',
    says: 'The server of {url|a file} could not be reached from that machine.',
  },
  {
    ...server,
    words: [
      ...['error 5#', 'error: 5#', '500', '501', '502', '503', '504'],
      'internal server error',
      'bad gateway',
      'service unavailable',
    ],
    cause: 'server-failed',
    says: 'The server failed while it was asked for {url|a file}.',
  },
  {
    codes: [12],
    cause: 'output-failed',
    answer: 'later',
    says: 'The output could not be transferred{details}',
    more: ['The plugin ended with exit code {pluginExit}.'],
    advice: 'Another try, elsewhere, may do.',
  },
  {
    codes: [13],
    cause: 'transfer-failed',
    answer: 'later',
    says: 'The input could not be transferred{details}',
    more: ['The plugin ended with exit code {pluginExit}.'],
  },
];
