import type { CodeRow } from './row.ts';
import { accessPointFull, quotaWords } from './transfers.ts';

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
  advice: 'Ask for at least {enoughMemory} MB of memory.',
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
const tooBig = (way: string, name: string): string =>
  `The ${way} that HTCondor itself is to move is over the limit of the access point or the job (${name}){sizes}.`;
const onTheirSum = ['Splitting the files does not help: the limit is on their sum.'];

/** Holds whose code is clear, whatever their words mention. */
export const clearHolds: readonly CodeRow[] = [
  {
    codes: [1],
    cause: 'user',
    says: 'Somebody held it by hand{words}.',
    advice: 'Ask whoever held it what they are waiting for.',
  },
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
    says: 'The machine could not start the program{program}: no memory, no process, or a disk that fails (error number {subcode|#}).',
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
  {
    codes: [26],
    words: ['cpu', 'cpus'],
    cause: 'cpu-exceeded',
    says: 'The access point held it for its use of CPUs{words}.',
  },
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
  {
    codes: [33],
    cause: 'output-too-big',
    says: tooBig('output', 'MAX_TRANSFER_OUTPUT_MB'),
    more: onTheirSum,
  },
  { codes: [35], ...image, answer: 'later' },
  {
    codes: [36],
    cause: 'checkpoint-failed',
    answer: 'later',
    says: 'A checkpoint could not be saved{words}.',
  },
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
  {
    codes: [19],
    cause: 'machine-broken',
    answer: 'elsewhere',
    says: 'The machine could not prepare the job{words}.',
  },
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
