import { kinds, type FaultKind, type Retry } from '../../fault/kinds.ts';

interface CauseInfo {
  /** What it is, in a few words. */
  what: string;
  /** What helps against it. */
  remedy: string;
}

/** What a log tells of; where Updraft has a fault of that kind, it has the same name. */
const logged = {
  'object-missing': {
    what: 'the input was not found (404)',
    remedy:
      'Release with a pause and a cap (`periodic_release`): caches answer 404 in bursts. If it stays, check the URL with `updraft stat`.',
  },
  'transfer-stalled': {
    what: 'the input transfer stalled',
    remedy: 'Fetch with a short stall limit and another cache: `updraft` does both, and resumes at the byte.',
  },
  'transfer-failed': {
    what: 'the input transfer failed',
    remedy: 'Retry from another cache or machine; read the reason for the server and the file.',
  },
  'output-failed': {
    what: 'the output could not be brought back',
    remedy:
      'Check that the job writes every file of `transfer_output_files`, and that the destination takes them.',
  },
  'input-too-big': {
    what: 'the input is over the access point’s limit',
    remedy: 'Stage large files in the federation (`updraft stage`) and name them as osdf:// URLs.',
  },
  'output-too-big': {
    what: 'the output is over the access point’s limit',
    remedy: 'Send large results to the federation (`output_destination`), or return less.',
  },
  'time-limit': {
    what: 'the time limit was reached',
    remedy: 'Write checkpoints and resume from them, or ask for a longer duration category.',
  },
  'memory-exceeded': {
    what: 'more memory was used than asked for',
    remedy:
      'Ask for what the table of resources says was used, and let retries ask for more (`retry_request_memory`).',
  },
  'disk-exceeded': {
    what: 'more disk was used than asked for',
    remedy:
      'Ask for more disk: archive and unpacked files together, unless they are unpacked while they arrive.',
  },
  'environment-broken': {
    what: 'the container or environment could not be used',
    remedy: 'Try the image on one machine first; pools reschedule such jobs for ever.',
  },
  'command-missing': {
    what: 'the program could not be started',
    remedy:
      'Check that it is sent with the job, is executable, and that its first line names a program of the worker.',
  },
  'wrong-output': {
    what: 'it ended without a valid result',
    remedy: 'Bring weights, packages and data as inputs, verify them, and let the exit code tell the truth.',
  },
  'exit-code': { what: 'the program ended with an error', remedy: 'Read the job’s error output.' },
  signal: { what: 'the program was killed by a signal', remedy: 'Signal 9 is often memory: ask for more.' },
  policy: { what: 'a rule of the job or the pool said so', remedy: 'The reason names the expression.' },
  user: {
    what: 'somebody asked for it',
    remedy: 'Nothing is wrong; `condor_release` lets a held job go on.',
  },
  evicted: {
    what: 'the pool took the slot back',
    remedy: 'Write checkpoints, so that an eviction costs minutes and not the whole attempt.',
  },
  disconnected: {
    what: 'the connection to the machine was lost',
    remedy: 'Nothing to do unless one site stands out: then keep away from it.',
  },
  lost: { what: 'no event tells what became of it', remedy: 'Look at the access point: was it restarted?' },
  other: { what: 'the pool gave a reason of its own', remedy: 'Read the reason.' },
} as const satisfies Record<string, CauseInfo>;

/** Why jobs and attempts fail. Runs of Updraft's own may have failed of any of its faults. */
export type Cause = keyof typeof logged | FaultKind;

/** What a cause is, and what helps. */
export function describeCause(cause: Cause): CauseInfo {
  if (cause in logged) return logged[cause as keyof typeof logged];
  const { what, retry } = kinds[cause as FaultKind];
  return { what, remedy: remedies[retry] };
}

const remedies: Record<Retry, string> = {
  same: 'Another attempt may help: `updraft retry` makes one. `updraft why JOB` has the evidence.',
  elsewhere: 'Another machine may help: `updraft retry` looks for one. `updraft why JOB` has the evidence.',
  never: 'Another attempt would end the same way: `updraft why JOB` says what must change.',
};

/** What a hold, or an eviction with a hold's code, came from. */
export function causeOf(code: number | undefined, subcode: number | undefined, reason = ''): Cause {
  const known = code === undefined ? undefined : byCode[code];
  if (known !== undefined) return known;
  if (code === 13) return transferCause(reason);
  if (code === 34 || /memory (?:usage|limit)|out of memory/i.test(reason)) return 'memory-exceeded';
  if (/disk (?:usage|limit)|disk space/i.test(reason)) return 'disk-exceeded';
  if (code === undefined) return /transfer/i.test(reason) ? transferCause(reason) : 'other';
  if (code === 21 && subcode === 104) return 'disk-exceeded';
  return code >= 1000 ? (evictions[code] ?? 'evicted') : 'other';
}

/** What a failed input transfer came from, by its message. */
export function transferCause(message: string): Cause {
  if (/\b404\b|not found|no such (?:file|object)/i.test(message)) return 'object-missing';
  if (/stall|lack of progress|too slow|timed? ?out|no progress/i.test(message)) return 'transfer-stalled';
  return 'transfer-failed';
}

const byCode: Partial<Record<number, Cause>> = {
  1: 'user',
  3: 'policy',
  5: 'policy',
  6: 'command-missing',
  12: 'output-failed',
  26: 'policy',
  32: 'input-too-big',
  33: 'output-too-big',
  45: 'environment-broken',
  46: 'time-limit',
  47: 'time-limit',
};

const evictions: Partial<Record<number, Cause>> = { 1008: 'disconnected' };
