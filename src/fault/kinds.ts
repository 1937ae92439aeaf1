/** Where another try can help: at the same place, only at another one, where there is more of what ran out, or nowhere. */
export type Retry = 'same' | 'elsewhere' | 'more' | 'never';

export interface KindInfo {
  /** Exit code of the CLI and of the agent alike; 85 is kept for checkpoints. */
  exit: number;
  retry: Retry;
  /** What it is, in a sentence for the user. */
  what: string;
}

/**
 * Everything that can go wrong. Codes 86 to 119 are ours alone, so that a training's own exit status can pass
 * through the agent unchanged; 1 to 5 are the CLI's, 6 is said of holds alone.
 */
export const kinds = {
  'jobs-failed': { exit: 1, retry: 'never', what: 'Some jobs of the run have no valid result.' },
  usage: { exit: 2, retry: 'never', what: 'The command line cannot be understood.' },
  'file-invalid': { exit: 3, retry: 'never', what: 'The job file or something it names is wrong.' },
  'pool-unreachable': {
    exit: 4,
    retry: 'same',
    what: 'The pool does not answer, or this machine lacks what it needs.',
  },
  interrupted: { exit: 5, retry: 'same', what: 'The user stopped it.' },
  'pool-hold': {
    exit: 6,
    retry: 'never',
    what: 'The pool holds the job by a rule, or for a reason that Updraft does not know.',
  },
  'memory-exceeded': { exit: 86, retry: 'more', what: 'The job needs more memory than it asked for.' },
  'training-killed': {
    exit: 87,
    retry: 'elsewhere',
    what: 'The training was killed from outside, and nothing says that it was for its memory or disk.',
  },
  'gpu-memory': {
    exit: 88,
    retry: 'elsewhere',
    what: 'The memory of the GPU is too small for the training.',
  },
  'discovery-failed': { exit: 90, retry: 'elsewhere', what: 'The federation cannot be found at that host.' },
  'director-unreachable': { exit: 91, retry: 'same', what: "The federation's director does not answer." },
  'servers-unreachable': {
    exit: 92,
    retry: 'elsewhere',
    what: 'No cache or origin that has the object can be reached.',
  },
  'token-missing': { exit: 93, retry: 'never', what: 'The namespace asks for a token and none was found.' },
  'token-refused': { exit: 94, retry: 'never', what: 'The servers refuse the token.' },
  'token-expired': { exit: 95, retry: 'same', what: 'The token is past its date.' },
  'object-missing': {
    exit: 96,
    retry: 'same',
    what: 'The object is not there: the origin or every server says so.',
  },
  'url-invalid': { exit: 97, retry: 'never', what: 'The URL cannot be understood.' },
  'object-changed': { exit: 98, retry: 'same', what: 'The object changed while it was being fetched.' },
  'transfer-stalled': { exit: 99, retry: 'elsewhere', what: 'No server delivers bytes fast enough.' },
  'transfer-failed': {
    exit: 100,
    retry: 'elsewhere',
    what: 'The transfer broke and no server could finish it.',
  },
  'data-corrupt': { exit: 101, retry: 'elsewhere', what: 'The bytes are not the bytes that were published.' },
  'data-wrong': {
    exit: 102,
    retry: 'elsewhere',
    what: "A server sent something else under the object's name.",
  },
  'archive-damaged': { exit: 103, retry: 'elsewhere', what: 'The archive is cut off or damaged.' },
  'archive-kind': { exit: 104, retry: 'never', what: 'The published file is no archive that can be used.' },
  'archive-unsafe': { exit: 105, retry: 'never', what: 'The archive tries to write where it must not.' },
  'data-unexpected': { exit: 106, retry: 'elsewhere', what: 'The data is not what `expect` says.' },
  'disk-full': { exit: 107, retry: 'more', what: 'The disk has no room left.' },
  'scratch-unusable': { exit: 108, retry: 'elsewhere', what: 'The scratch folder cannot be used.' },
  'command-missing': { exit: 109, retry: 'never', what: 'The training command cannot be found or started.' },
  'training-failed': { exit: 110, retry: 'never', what: 'The training ended with an error.' },
  'training-hung': { exit: 111, retry: 'elsewhere', what: 'The training showed no sign of life.' },
  'wrong-output': { exit: 112, retry: 'never', what: 'The training ended without a valid result.' },
  evicted: { exit: 113, retry: 'elsewhere', what: 'The pool took the slot back.' },
  'time-limit': { exit: 114, retry: 'elsewhere', what: 'The attempt ran into its time limit.' },
  'self-test-failed': {
    exit: 115,
    retry: 'elsewhere',
    what: 'The machine does not have what the job needs.',
  },
  'environment-broken': { exit: 116, retry: 'elsewhere', what: 'The software environment cannot be used.' },
  'order-invalid': { exit: 117, retry: 'never', what: 'The agent cannot read what it was told to do.' },
  'slow-slot': {
    exit: 118,
    retry: 'elsewhere',
    what: 'The machine is far slower than the others of this run.',
  },
  internal: { exit: 119, retry: 'never', what: 'A mistake in Updraft itself.' },
} as const satisfies Record<string, KindInfo>;

export type FaultKind = keyof typeof kinds;

/** Exit codes in this range say what the agent found; a training's own must not be mistaken for them. */
export const ownExits = { from: 86, to: 119 } as const;
