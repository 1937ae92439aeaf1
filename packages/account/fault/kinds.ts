import { archiveFaults } from '@updraft/archive/fault';
import { baseFaults, kind } from '@updraft/base';
import { htcondorFaults } from '@updraft/htcondor/fault';
import { pelicanFaults } from '@updraft/pelican/fault';

/** What can go wrong with a run and its jobs. */
const runFaults = {
  'jobs-failed': kind(1, 'never', 'Some jobs of the run have no valid result.'),
  'pool-unreachable': kind(4, 'same', 'The pool does not answer, or this machine lacks something it needs.'),
  'pool-hold': kind(
    6,
    'never',
    'The pool holds the job: by a rule, or for a reason that Updraft does not know.',
  ),
  'memory-exceeded': kind(86, 'more', 'The job used more memory than requested.'),
  'training-killed': kind(
    87,
    'elsewhere',
    'Something outside the job killed the training, apparently not for memory or disk.',
  ),
  'gpu-memory': kind(88, 'elsewhere', 'The training ran out of GPU memory.'),
  'command-missing': kind(109, 'never', 'The training command was not found or could not be started.'),
  'training-failed': kind(110, 'never', 'The training failed with an error.'),
  'training-hung': kind(111, 'elsewhere', 'The training hung: it printed nothing and did no work.'),
  'wrong-output': kind(112, 'never', 'The training exited without a valid result.'),
  evicted: kind(113, 'elsewhere', 'The pool took the slot back.'),
  'time-limit': kind(114, 'never', 'The attempt reached its time limit.'),
  'self-test-failed': kind(115, 'elsewhere', 'The machine lacks something the job needs.'),
  'environment-broken': kind(116, 'elsewhere', 'The software environment cannot be used.'),
  'slow-slot': kind(118, 'elsewhere', 'The machine is much slower than the others in this run.'),
  'run-folder-full': kind(
    120,
    'never',
    "The run's folder, or your home, is full: no space left, or quota exceeded.",
  ),
};

/**
 * Everything that can go wrong. The agent uses codes 86 to 120 only, so that a training's own exit code passes
 * through it unchanged; 1 to 5 are the CLI's, 6 is for holds only.
 */
export const kinds = { ...baseFaults, ...pelicanFaults, ...archiveFaults, ...htcondorFaults, ...runFaults };

export type FaultKind = keyof typeof kinds;

/** Exit codes in this range are the agent's; the agent replaces such a code of a training. */
export const agentExits = { from: 86, to: 120 } as const;
