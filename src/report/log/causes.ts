import { kinds, type FaultKind, type Retry } from '../../fault/kinds.ts';
import { causeTitle, type Cause, type PoolCause } from '../../codes/causes.ts';

interface CauseInfo {
  /** What it is, in a few words. */
  what: string;
  /** What helps against it. */
  remedy: string;
}

/** What a cause is, and what helps. */
export function describeCause(cause: Cause): CauseInfo {
  const remedy = remedies[cause] ?? ownRemedies[kinds[cause as FaultKind].retry];
  return { what: causeTitle(cause), remedy };
}

const elsewhere = 'Another machine may do; if one site stands out, keep away from it.';
const readIt = 'Read the reason: it names the rule.';

/** Where a log tells of it; runs of Updraft's own may have failed of any other of its faults. */
const remedies: Record<PoolCause, string> & Partial<Record<Cause, string>> = {
  none: 'Nothing is wrong.',
  'waits-for-slot': 'Ask for less, or wait.',
  'object-missing':
    'Release with a pause and a cap (`periodic_release`): caches answer 404 in bursts. If it stays, check the URL with `updraft stat`.',
  'access-refused': 'Check that the token is there, not expired, and covers the path.',
  'transfer-stalled':
    'Fetch with a short stall limit and another cache: `updraft` does both, and resumes at the byte.',
  'servers-unreachable': 'Try another machine: that one has no way to the server.',
  'server-failed': 'Retry later, or from another cache.',
  'plugin-failed': 'Ask for machines that have the plugin, or fetch inside the job as `updraft` does.',
  'transfer-failed': 'Retry from another cache or machine; read the reason for the server and the file.',
  'input-missing': 'Put the file back on the access point, or correct its name in `transfer_input_files`.',
  'input-too-big': 'Stage large files in the federation (`updraft stage`) and name them as osdf:// URLs.',
  'output-missing':
    'Let the exit code tell the truth, and name in `transfer_output_files` only what is always written.',
  'output-too-big': 'Send large results to the federation (`output_destination`), or return less.',
  'output-failed':
    'Check that the job writes every file of `transfer_output_files`, and that the destination takes them.',
  'disk-full': 'Make room: on the access point for results, on the machine by asking for more disk.',
  'memory-exceeded':
    'Ask for what the table of resources says was used, and let retries ask for more (`retry_request_memory`).',
  'disk-exceeded':
    'Ask for more disk: archive and unpacked files together, unless they are unpacked while they arrive.',
  'time-limit': 'Write checkpoints and resume from them, or ask for a longer duration category.',
  'environment-broken': 'Try the image on one machine first; pools reschedule such jobs for ever.',
  'command-missing':
    'Check that it is sent with the job, is executable, and that its first line names a program of the worker.',
  'file-unusable': 'Check that the folders of the job exist on the access point and are yours to write.',
  'machine-broken': elsewhere,
  'checkpoint-failed': 'Check that `transfer_checkpoint_files` are written and their destination takes them.',
  'wrong-output':
    'Bring weights, packages and data as inputs, verify them, and let the exit code tell the truth.',
  'exit-code': 'Read the job’s error output.',
  signal: 'Signal 9 is often memory: ask for more.',
  'job-policy': 'The rule stands in the submit file; the reason names it.',
  'pool-policy': readIt,
  'site-policy': `${readIt} Another site may have no such rule.`,
  user: 'Somebody stopped, held or removed it: `condor_release` lets a held job go on, `updraft retry` a run’s.',
  staging: 'Wait; if it lasts, submit it again.',
  evicted: 'Write checkpoints, so that an eviction costs minutes and not the whole attempt.',
  disconnected: 'Nothing to do unless one site stands out: then keep away from it.',
  'silent-end': 'Look at the access point: was it restarted?',
  unknown: 'Read the reason.',
};

const ownRemedies: Record<Retry, string> = {
  same: 'Another attempt may help: `updraft retry` makes one. `updraft why JOB` has the evidence.',
  elsewhere: 'Another machine may help: `updraft retry` looks for one. `updraft why JOB` has the evidence.',
  never: 'Another attempt would end the same way: `updraft why JOB` says what must change.',
};
