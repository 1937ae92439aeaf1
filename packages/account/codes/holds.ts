import { rowsWith, type CodeRow } from './row.ts';
import { accessPointFull, quotaPhrases } from './transfer-holds.ts';

const memory = {
  cause: 'memory-exceeded',
  sentence: 'It used more memory than requested{memory}.',
  more: ['The slot had {slotMemory} MB.'],
  advice: 'Request at least {enoughMemory} MB of memory.',
} as const;
const disk = { cause: 'disk-exceeded', sentence: 'It used more disk than requested{disk}.' } as const;
const toolSaid = ['The container tool said: {tool}'];
const image = {
  cause: 'image-unusable',
  sentence: 'The container image{image} could not be used on that machine.',
  more: toolSaid,
} as const;
/** What registries answer for an image that no machine can have. */
const noImage = {
  phrases:
    'manifest unknown|name unknown|requested access to the resource is denied|' +
    'repository name not known|repository does not exist',
  cause: 'image-missing',
  sentence: 'The registry does not have the container image{image}, or gives it only to those who log in.',
  more: toolSaid,
} as const;

/** Rules of access points mention a limit on running time in these words. */
export const timePhrases = 'wall time|walltime|run time|runtime|duration|running for';

const notStarted = (by: Partial<CodeRow>, why: string): CodeRow => ({
  codes: [6],
  ...by,
  cause: 'command-missing',
  sentence: `The program{program} could not be started${why}.`,
});
const tooBig = (way: string, name: string): Pick<CodeRow, 'sentence' | 'more'> => ({
  sentence:
    `The ${way} files that HTCondor transfers exceed the limit of the access point or the job ` +
    `(${name}){sizes}.`,
  more: ['Splitting the files does not help: the limit is on the total size.'],
});

/** Holds whose code decides, whatever the words say, after one whose words name any attribute. */
export const clearHolds: readonly CodeRow[] = [
  {
    phrases: 'cannot expand $$',
    cause: 'attribute-missing',
    sentence: 'HTCondor could not fill in $$( ) in its submit file from the machine{words}.',
  },
  ...rowsWith('user', 'never', [
    [1, 'A user held it{words}.', 'Ask whoever held it what they are waiting for.'],
    [
      15,
      'It was submitted on hold (hold = true){words}.',
      'Nothing is wrong: it waits until it is released.',
    ],
  ]),
  ...rowsWith('job-policy', 'never', [
    [3, 'A rule of the job (periodic_hold or on_exit_hold) held it{words}.'],
    [5, 'A rule of the job could not be evaluated{words}.', 'An attribute that it uses is undefined.'],
    [20, 'It missed its start time (deferral_time){words}.'],
    [25, 'Its start times (cron_*) are invalid{words}.'],
  ]),
  {
    codes: [4],
    phrases: 'job credentials are not available',
    cause: 'credential-missing',
    sentence: 'The access point has no credential of the kind that its use_oauth_services names.',
    advice: 'For SciTokens, this stores one: echo | condor_store_cred add-oauth -s scitokens -i -',
  },
  ...rowsWith('credential-missing', 'never', [[4, 'Its credential is invalid{words}.']]),
  {
    codes: [6],
    subcodes: [5, 11, 12, 116],
    cause: 'machine-broken',
    answer: 'elsewhere',
    sentence:
      'The machine could not start the program{program}: out of memory, out of processes, or a disk ' +
      'error (errno {subcode|#}).',
  },
  notStarted(
    { phrases: 'invalid interpreter' },
    ': the machine does not have {interpreter|the interpreter}, which its first line names',
  ),
  notStarted(
    { subcodes: [2] },
    ': the program, or the interpreter that its first line names, does not exist',
  ),
  notStarted(
    { subcodes: [8] },
    ': it was built for another processor, or is a script without a first line such as #!/bin/sh',
  ),
  notStarted(
    { subcodes: [13] },
    ': permission denied. It is not executable, or one of its directories is not accessible',
  ),
  notStarted({ outlook: 'unclear' }, '{words}'),
  ...rowsWith('staging', 'never', [[16, 'Its input is being copied to the access point{words}.']]),
  { codes: [26], phrases: 'memory', ...memory },
  {
    codes: [26],
    phrases: 'cpu',
    cause: 'cpu-exceeded',
    sentence: 'The access point held it for its CPU usage{words}.',
  },
  { codes: [26], phrases: 'disk', ...disk },
  {
    codes: [26],
    phrases: timePhrases,
    cause: 'time-limit',
    sentence: 'The access point held it for its running time{words}.',
  },
  ...rowsWith('pool-policy', 'never', [
    [26, 'A rule of the access point held it{words}.'],
    [27, 'A rule of the access point could not be evaluated{words}.'],
  ]),
  { codes: [32], cause: 'input-too-big', ...tooBig('input', 'MAX_TRANSFER_INPUT_MB') },
  { codes: [33], cause: 'output-too-big', ...tooBig('output', 'MAX_TRANSFER_OUTPUT_MB') },
  { codes: [35, 45], ...noImage },
  { codes: [35], ...image, answer: 'later' },
  ...rowsWith('checkpoint-failed', 'later', [[36, 'A checkpoint could not be saved{words}.']]),
  ...rowsWith('exit-code', 'never', [
    [43, 'The script before the program failed{words}.'],
    [44, 'The script after the program failed{words}.'],
  ]),
  { codes: [45], ...image, answer: 'elsewhere' },
  ...rowsWith('time-limit', 'never', [
    [46, 'It reached its allowed_job_duration{limit}, the time limit on a slot including transfers.'],
  ]),
  // The agent enforces the limit itself: HTCondor's applies only if the agent hangs with its machine.
  ...rowsWith('time-limit', 'elsewhere', [[47, 'Its program reached its allowed_execute_duration{limit}.']]),
];

const memoryPhrases =
  'memory usage exceeded|memory limit exceeded|over memory limit|over cgroup memory limit|' +
  'too much memory|out of memory';
const diskPhrases = 'disk usage exceeded|more disk space than requested';

/** Memory and disk, also if only the words say so. */
export const resources: readonly CodeRow[] = [
  { codes: [21, 34], subcodes: [102], ...memory, answer: 'more-memory' },
  { codes: [21, 34], subcodes: [104], ...disk, answer: 'more-disk' },
  { codes: [21, 34], phrases: memoryPhrases, ...memory, answer: 'more-memory' },
  { codes: [21, 34], phrases: diskPhrases, ...disk, answer: 'more-disk' },
  { phrases: memoryPhrases, ...memory },
  { phrases: diskPhrases, ...disk },
];

const keepAway = 'Exclude that machine until its staff have repaired it.';

/** Words that decide where the code does not, then codes that need no words. */
export const otherHolds: readonly CodeRow[] = [
  // The starter writes on the machine that runs the job.
  {
    phrases: 'starter at…failed to write to file…no space left',
    cause: 'disk-full',
    sentence: 'The disk of the machine was full before all input had arrived.',
  },
  { phrases: quotaPhrases, ...accessPointFull },
  // ENOSPC and EDQUOT of streams and the event log: a full disk may have truncated the words.
  { codes: [9, 22], subcodes: [28, 122], ...accessPointFull },
  {
    phrases: 'failed to create a user',
    cause: 'machine-broken',
    sentence: 'The machine is broken: it could not create the account that jobs run under{words}.',
    advice: keepAway,
  },
  {
    phrases: 'lvm',
    cause: 'machine-broken',
    sentence: 'The machine is broken: it could not create the disk for the job (LVM){words}.',
    advice: keepAway,
  },
  ...rowsWith('file-unusable', 'never', [
    [[7, 8, 9, 10], 'Standard input, output or error could not be opened{words}.'],
    [14, "The job's directory on the access point cannot be used{words}."],
    [22, 'The event log cannot be written{words}.'],
  ]),
  ...rowsWith('transfer-failed', 'later', [[[11, 18], 'The connection for its file transfer broke{words}.']]),
  ...rowsWith('pool-policy', 'never', [[[17, 24], 'The access point cannot run jobs of this kind{words}.']]),
  ...rowsWith('machine-broken', 'elsewhere', [
    [19, 'The machine could not prepare the job{words}.'],
    [23, 'The machine has no account for the job{words}.'],
    [48, 'The access point could not prepare the job{words}.'],
    [49, 'The machine has no group for the job{words}.'],
  ]),
  ...rowsWith('site-policy', 'never', [
    [21, 'A rule of the site held it{words}.'],
    [34, 'It used more of a resource than requested{words}.'],
  ]),
];
