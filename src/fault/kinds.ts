/** Where another try can succeed: on the same machine, only on another one, with more of what ran out, or nowhere. */
export type RetryRule = 'same' | 'elsewhere' | 'more' | 'never';

export interface KindInfo {
  /** Exit code of both CLI and agent; 85 is reserved for checkpoints. */
  exit: number;
  retry: RetryRule;
  /** A sentence for the user. */
  what: string;
}

/**
 * Everything that can go wrong. The agent uses codes 86 to 120 only, so that a training's own exit code passes
 * through it unchanged; 1 to 5 are the CLI's, 6 is for holds only.
 */
export const kinds = {
  'jobs-failed': { exit: 1, retry: 'never', what: 'Some jobs of the run have no valid result.' },
  usage: { exit: 2, retry: 'never', what: 'The command line is wrong.' },
  'file-invalid': { exit: 3, retry: 'never', what: 'The job file or something it names is wrong.' },
  'pool-unreachable': {
    exit: 4,
    retry: 'same',
    what: 'The pool does not answer, or this machine lacks something it needs.',
  },
  interrupted: { exit: 5, retry: 'same', what: 'A user stopped it.' },
  'pool-hold': {
    exit: 6,
    retry: 'never',
    what: 'The pool holds the job: by a rule, or for a reason that Updraft does not know.',
  },
  'memory-exceeded': { exit: 86, retry: 'more', what: 'The job used more memory than requested.' },
  'training-killed': {
    exit: 87,
    retry: 'elsewhere',
    what: 'Something outside the job killed the training, apparently not for memory or disk.',
  },
  'gpu-memory': { exit: 88, retry: 'elsewhere', what: 'The training ran out of GPU memory.' },
  'expect-wrong': {
    exit: 89,
    retry: 'never',
    what: 'The servers agree on the data, but `sha256`, `expect` or the manifest describes other data.',
  },
  'discovery-failed': { exit: 90, retry: 'elsewhere', what: 'There is no federation at that host.' },
  'director-unreachable': { exit: 91, retry: 'same', what: "The federation's director does not answer." },
  'servers-unreachable': {
    exit: 92,
    retry: 'elsewhere',
    what: 'No cache or origin with the object can be reached.',
  },
  'token-missing': { exit: 93, retry: 'never', what: 'The namespace requires a token, and none was found.' },
  'token-refused': { exit: 94, retry: 'never', what: 'The servers rejected the token.' },
  'token-expired': { exit: 95, retry: 'same', what: 'The token has expired.' },
  'object-missing': {
    exit: 96,
    retry: 'same',
    what: 'The object does not exist, according to its origin or to every server.',
  },
  'url-invalid': { exit: 97, retry: 'never', what: 'The URL is invalid.' },
  'object-changed': { exit: 98, retry: 'same', what: 'The object changed while it was being fetched.' },
  'transfer-stalled': { exit: 99, retry: 'elsewhere', what: 'No server delivers bytes fast enough.' },
  'transfer-failed': {
    exit: 100,
    retry: 'elsewhere',
    what: 'The transfer failed, and no other server could finish it.',
  },
  'data-corrupt': { exit: 101, retry: 'elsewhere', what: 'The data differs from what was published.' },
  'data-wrong': {
    exit: 102,
    retry: 'elsewhere',
    what: 'A server sent something else instead of the object.',
  },
  'archive-damaged': { exit: 103, retry: 'elsewhere', what: 'The archive is truncated or damaged.' },
  'archive-kind': {
    exit: 104,
    retry: 'never',
    what: 'The published file is not an archive that Updraft can unpack.',
  },
  'archive-unsafe': { exit: 105, retry: 'never', what: 'The archive would write outside its directory.' },
  'data-unexpected': { exit: 106, retry: 'elsewhere', what: 'The data does not match `expect`.' },
  'disk-full': { exit: 107, retry: 'more', what: 'The disk is full.' },
  'scratch-unusable': { exit: 108, retry: 'elsewhere', what: 'The scratch directory cannot be used.' },
  'command-missing': {
    exit: 109,
    retry: 'never',
    what: 'The training command was not found or could not be started.',
  },
  'training-failed': { exit: 110, retry: 'never', what: 'The training failed with an error.' },
  'training-hung': {
    exit: 111,
    retry: 'elsewhere',
    what: 'The training hung: it printed nothing and did no work.',
  },
  'wrong-output': { exit: 112, retry: 'never', what: 'The training exited without a valid result.' },
  evicted: { exit: 113, retry: 'elsewhere', what: 'The pool took the slot back.' },
  'time-limit': { exit: 114, retry: 'never', what: 'The attempt reached its time limit.' },
  'self-test-failed': { exit: 115, retry: 'elsewhere', what: 'The machine lacks something the job needs.' },
  'environment-broken': { exit: 116, retry: 'elsewhere', what: 'The software environment cannot be used.' },
  'order-invalid': { exit: 117, retry: 'never', what: 'The agent cannot read its work order.' },
  'slow-slot': {
    exit: 118,
    retry: 'elsewhere',
    what: 'The machine is much slower than the others in this run.',
  },
  'run-folder-full': {
    exit: 120,
    retry: 'never',
    what: "The run's folder, or your home, is full: no space left, or quota exceeded.",
  },
  internal: { exit: 119, retry: 'never', what: 'A bug in Updraft.' },
} as const satisfies Record<string, KindInfo>;

export type FaultKind = keyof typeof kinds;

/** Exit codes in this range are the agent's; the agent replaces such a code of a training. */
export const agentExits = { from: 86, to: 120 } as const;
