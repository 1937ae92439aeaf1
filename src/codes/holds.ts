import { rowsWith, type CodeRow } from './row.ts';
import { accessPointFull, quotaWords } from './transfers.ts';

const memory = {
  cause: 'memory-exceeded',
  says: 'It ran out of the memory it asked for{memory}.',
  more: ['The slot had {slotMemory} MB.'],
  advice: 'Ask for at least {enoughMemory} MB of memory.',
} as const;
const disk = { cause: 'disk-exceeded', says: 'It used more disk than it asked for{disk}.' } as const;
const image = {
  cause: 'environment-broken',
  says: 'The container image{image} could not be used on that machine.',
  more: ['The container tool said: {tool}'],
} as const;

/** Words for running times that a rule of the access point does not allow. */
export const timeWords = 'wall time|walltime|run time|runtime|duration|running for';

const notStarted = (by: Partial<CodeRow>, why: string): CodeRow => ({
  codes: [6],
  ...by,
  cause: 'command-missing',
  says: `The program{program} could not be started${why}.`,
});
const tooBig = (way: string, name: string): Pick<CodeRow, 'says' | 'more'> => ({
  says: `The ${way} that HTCondor itself is to move is over the limit of the access point or the job (${name}){sizes}.`,
  more: ['Splitting the files does not help: the limit is on their sum.'],
});

/** Holds whose code is clear, whatever their words mention. */
export const clearHolds: readonly CodeRow[] = [
  ...rowsWith('user', 'never', [
    [1, 'Somebody held it by hand{words}.', 'Ask whoever held it what they are waiting for.'],
    [
      15,
      'It was submitted on hold (hold = true){words}.',
      'Nothing is wrong: it waits until it is released.',
    ],
  ]),
  ...rowsWith('job-policy', 'never', [
    [3, 'A rule of the job itself (periodic_hold or on_exit_hold) held it{words}.'],
    [5, 'A rule of the job could not be evaluated{words}.', 'An attribute that it names is not there.'],
    [20, 'It missed the time at which it was to start (deferral_time){words}.'],
    [25, 'The times at which it is to start (cron_*) cannot be understood{words}.'],
  ]),
  ...rowsWith('access-refused', 'never', [[4, 'Its credential is bad{words}.']]),
  {
    codes: [6],
    subcodes: [5, 11, 12, 116],
    cause: 'machine-broken',
    answer: 'elsewhere',
    says: 'The machine could not start the program{program}: no memory, no process, or a disk that fails (error number {subcode|#}).',
  },
  notStarted(
    { words: 'invalid interpreter' },
    ': its first line names {interpreter|an interpreter}, which the machine does not have',
  ),
  notStarted(
    { subcodes: [2] },
    ': a file is missing: the program itself, or the interpreter its first line names',
  ),
  notStarted(
    { subcodes: [8] },
    ': it is not a program for that machine: another processor, or a script without a first line such as #!/bin/sh',
  ),
  notStarted({ subcodes: [13] }, ': it is not executable, or a folder above it is closed'),
  notStarted({ outlook: 'unclear' }, '{words}'),
  ...rowsWith('staging', 'never', [[16, 'Its input is being copied to the access point{words}.']]),
  { codes: [26], words: 'memory', ...memory },
  {
    codes: [26],
    words: 'cpu',
    cause: 'cpu-exceeded',
    says: 'The access point held it for its use of CPUs{words}.',
  },
  { codes: [26], words: 'disk', ...disk },
  {
    codes: [26],
    words: timeWords,
    cause: 'time-limit',
    says: 'The access point held it for its running time{words}.',
  },
  ...rowsWith('pool-policy', 'never', [
    [26, 'A rule of the access point held it{words}.'],
    [27, 'A rule of the access point could not be evaluated{words}.'],
  ]),
  { codes: [32], cause: 'input-too-big', ...tooBig('input', 'MAX_TRANSFER_INPUT_MB') },
  { codes: [33], cause: 'output-too-big', ...tooBig('output', 'MAX_TRANSFER_OUTPUT_MB') },
  { codes: [35], ...image, answer: 'later' },
  ...rowsWith('checkpoint-failed', 'later', [[36, 'A checkpoint could not be saved{words}.']]),
  ...rowsWith('exit-code', 'never', [
    [43, 'The script before the program failed{words}.'],
    [44, 'The script after the program failed{words}.'],
  ]),
  { codes: [45], ...image, answer: 'elsewhere' },
  ...rowsWith('time-limit', 'never', [
    [46, 'It reached its time limit{limit} on a slot, transfers included (allowed_job_duration).'],
  ]),
  // The agent keeps the time itself: HTCondor's limit is reached only where the agent hangs with its machine.
  ...rowsWith('time-limit', 'elsewhere', [
    [47, 'It reached its time limit{limit} of running the program (allowed_execute_duration).'],
  ]),
];

const memoryWords =
  'memory usage exceeded|memory limit exceeded|over memory limit|over cgroup memory limit|too much memory|out of memory';
const diskWords = 'disk usage exceeded|more disk space than requested';

/** Memory and disk, also where only the words say so. */
export const resources: readonly CodeRow[] = [
  { codes: [21, 34], subcodes: [102], ...memory, answer: 'more-memory' },
  { codes: [21, 34], subcodes: [104], ...disk, answer: 'more-disk' },
  { codes: [21, 34], words: memoryWords, ...memory, answer: 'more-memory' },
  { codes: [21, 34], words: diskWords, ...disk, answer: 'more-disk' },
  { words: memoryWords, ...memory },
  { words: diskWords, ...disk },
];

const keepAway = 'Keep away from that machine until its staff has repaired it.';

/** Words that decide where a code says nothing, and codes that say it all. */
export const otherHolds: readonly CodeRow[] = [
  { words: quotaWords, ...accessPointFull },
  // Errors ENOSPC and EDQUOT of streams and the event log: a full disk may have cut the words off.
  { codes: [9, 22], subcodes: [28, 122], ...accessPointFull },
  {
    words: 'failed to create a user',
    cause: 'machine-broken',
    says: 'The machine is broken: it could not make the account that jobs run under{words}.',
    advice: keepAway,
  },
  {
    words: 'lvm',
    cause: 'machine-broken',
    says: 'The machine is broken: it could not make the disk that the job was to have (LVM){words}.',
    advice: keepAway,
  },
  ...rowsWith('file-unusable', 'never', [
    [[7, 8, 9, 10], 'Standard input, output or error could not be opened{words}.'],
    [14, 'The job’s folder on the access point cannot be used{words}.'],
    [22, 'The event log cannot be written{words}.'],
  ]),
  ...rowsWith('transfer-failed', 'later', [[[11, 18], 'The connection that moves its files broke{words}.']]),
  ...rowsWith('pool-policy', 'never', [
    [[17, 24], 'The access point has no program for jobs of this kind{words}.'],
  ]),
  ...rowsWith('machine-broken', 'elsewhere', [
    [19, 'The machine could not prepare the job{words}.'],
    [23, 'The machine has no account for the job{words}.'],
    [48, 'The access point could not prepare the job{words}.'],
    [49, 'The machine has no group for the job{words}.'],
  ]),
  ...rowsWith('site-policy', 'never', [
    [21, 'A rule of the machine’s site held it{words}.'],
    [34, 'It used more of a resource than it asked for{words}.'],
  ]),
];
