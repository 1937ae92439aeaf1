import { timePhrases } from './holds.ts';
import { rowsWith, type CodeRow } from './row.ts';

/** The attempt ended because its job was removed. */
export const removedCode = 1023;
/** The machine could no longer be reached. */
export const disconnectedCode = 1008;

/** Attempts that went back to the queue have codes from 1000. */
export const evictions: readonly CodeRow[] = [
  {
    codes: [1007],
    phrases: 'transfer stalled for # seconds',
    cause: 'transfer-stalled',
    answer: 'requeued',
    sentence:
      'The transfer made no progress for {stalled|too many} seconds, and HTCondor ended it. The cache ' +
      'or the file-transfer plugin is to blame, not the machine.',
  },
  {
    codes: [disconnectedCode],
    phrases: 'job not found at execution machine|no longer at old port',
    cause: 'disconnected',
    answer: 'requeued',
    sentence:
      'The connection to the machine was lost, and after reconnecting the job was gone: HTCondor or ' +
      'the machine had been restarted.',
  },
  ...rowsWith('disconnected', 'requeued', [
    [disconnectedCode, 'The connection to the machine was lost and not restored in time{words}.'],
  ]),
  ...rowsWith('machine-broken', 'requeued', [
    [1002, "HTCondor's process for the job on the access point failed{words}."],
    [1003, 'A step before the start of the program failed on the machine{words}.'],
    [1006, 'The machine could not prepare for the job{words}.'],
    [1007, "HTCondor's process on the machine failed{words}."],
    [1012, "HTCondor's process for the slot failed{words}."],
    [1020, 'The virtual machine failed{words}.'],
    [1021, 'The container failed{words}.'],
    [1024, 'The scratch directory on the machine failed{words}.'],
    [1031, 'The slot is broken and rejected the job.'],
    [1036, 'The machine reported itself unhealthy and rejected the job.'],
  ]),
  ...rowsWith('evicted', 'requeued', [
    [1000, 'A rule of the job (periodic_vacate) evicted it.'],
    [1001, 'A rule of the access point evicted it.'],
    [1005, 'HTCondor put it back in the queue.'],
    [1009, 'The machine released the claim.'],
    [1010, "The machine's staff took the slot back (condor_vacate)."],
    [1011, "The machine's own policy (PREEMPT) took the slot back."],
    [1013, 'The machine was shut down.'],
    [1014, 'The machine was being drained.'],
    [1015, 'The machine rearranged its slots.'],
    [1016, 'The machine was put to sleep.'],
    [1017, "The machine's staff ended its claim."],
    [1018, 'A job that the machine prefers took the slot.'],
    [1019, 'A user with better priority took the slot.'],
    [1022, 'A user or a rule evicted it (condor_vacate_job).'],
    [1025, 'It saved a checkpoint, but the slot could not be reused.'],
    [[1026, 1027, 1028, 1029, 1030, 1032, 1033, 1034, 1035], 'The machine rejected the job.'],
    [1037, 'The machine was moving to another pool.'],
  ]),
  { codes: [removedCode], cause: 'user', sentence: 'The job was removed from the queue{words}.' },
];

/** Why jobs left the queue for good. HTCondor gives words for it, and no code. */
export const removals: readonly CodeRow[] = [
  { phrases: 'via condor_rm (by user', cause: 'user', sentence: '{user|A user} removed it with condor_rm.' },
  { phrases: '(by user', cause: 'user', sentence: '{user|A user} removed it{words}.' },
  {
    phrases: 'OtherJobRemoveRequirements',
    cause: 'user',
    sentence: 'It belonged to another job, such as a DAG, and was removed together with it.',
  },
  {
    phrases: timePhrases
      .split('|')
      .flatMap((time) => [`SYSTEM_PERIODIC_REMOVE…${time}`, `${time}…exceeded`, `exceeded…${time}`])
      .join('|'),
    cause: 'time-limit',
    sentence: 'The access point removed it for its running time{words}.',
  },
  {
    phrases: 'SYSTEM_PERIODIC_REMOVE…memory',
    cause: 'memory-exceeded',
    sentence: 'The access point removed it for its use of memory{words}.',
  },
  {
    phrases: 'SYSTEM_PERIODIC_REMOVE',
    cause: 'pool-policy',
    sentence: 'A rule of the access point removed it{words}.',
  },
  {
    phrases: 'PeriodicRemove|expression',
    cause: 'job-policy',
    sentence: 'A rule of the job removed it{words}.',
  },
  { phrases: 'via condor_rm', cause: 'user', sentence: 'A user removed it with condor_rm.' },
];
