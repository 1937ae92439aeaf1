import { fixes } from '../fault/fixes.ts';
import { kinds, type FaultKind } from '../fault/kinds.ts';

/** Whether the same thing tried again will end the same way. */
export type Outlook = 'passing' | 'lasting' | 'unclear';

/**
 * What must change before another try can end better: a request, the user's files, something that only the user or the
 * staff can see to (`you`, `staff`), `nothing` because nothing was wrong, or no more than the place or the time (`retry`).
 */
export type Change = 'memory' | 'disk' | 'time' | 'files' | 'you' | 'staff' | 'retry' | 'nothing';

interface CauseInfo {
  /** In a few words. */
  title: string;
  /** What anybody could do. */
  advice: string;
  /** What the author of a submit file could do there. */
  submit?: string;
  /** The kind of fault, where none has the same name and it is more than a hold. */
  fault?: FaultKind;
  change: Change;
  outlook: Outlook;
}

const overrides = (name: string): string =>
  `A job’s own ${name} overrides the default, where the staff allows it.`;

/**
 * Why jobs stand as they do by HTCondor's account, and what helps: the only place that says so. Where Updraft has a
 * fault of that kind, it has the same name.
 */
const causes = {
  none: { title: 'nothing is wrong', advice: 'Nothing is wrong.', change: 'nothing', outlook: 'lasting' },
  'waits-for-slot': {
    title: 'no slot has taken it yet',
    advice: 'Ask for less, or wait.',
    change: 'nothing',
    outlook: 'unclear',
  },
  'object-missing': {
    title: 'the input was not found (404)',
    advice:
      'If the URL is right, try again after a pause: caches answer 404 in bursts for objects that are there.',
    change: 'retry',
    outlook: 'unclear',
  },
  'access-refused': {
    title: 'the server refuses access',
    advice: 'Check that the token or proxy is there, not expired, and covers the path.',
    fault: 'token-refused',
    change: 'you',
    outlook: 'lasting',
  },
  'transfer-stalled': {
    title: 'the transfer stalled',
    advice:
      'Try again, better from another cache: a fetch that resumes loses nothing (`updraft get`, method = "stream").',
    change: 'retry',
    outlook: 'passing',
  },
  'servers-unreachable': {
    title: 'the server cannot be reached',
    advice: 'If the host is right, that machine has no network to it: try another one.',
    change: 'retry',
    outlook: 'passing',
  },
  'server-failed': {
    title: 'the server failed',
    advice: 'Try again later, or from another cache.',
    fault: 'transfer-failed',
    change: 'retry',
    outlook: 'passing',
  },
  'plugin-failed': {
    title: 'the file-transfer plugin failed',
    advice: 'Use machines with a plugin that works, or fetch inside the job as Updraft does.',
    submit:
      'HasFileTransferPluginMethods asks for machines that have it; transfer_plugins sends one with the job.',
    fault: 'transfer-failed',
    change: 'you',
    outlook: 'unclear',
  },
  'transfer-failed': {
    title: 'the input transfer failed',
    advice:
      'Try again from another cache or machine; if it fails the same way, the words of the reason name what to fix.',
    change: 'retry',
    outlook: 'unclear',
  },
  'input-missing': {
    title: 'an input file is not on the access point',
    advice: 'Put the file back on the access point, or correct its name.',
    submit: 'Names in transfer_input_files are relative to initialdir (or to the folder of condor_submit).',
    fault: 'file-invalid',
    change: 'you',
    outlook: 'lasting',
  },
  'input-too-big': {
    title: 'the input is over the access point’s limit',
    advice:
      'Put the data into the federation (`updraft stage`) and name it by URL (method = "stream"): what plugins fetch does not count.',
    submit: overrides('max_transfer_input_mb'),
    fault: 'file-invalid',
    change: 'you',
    outlook: 'lasting',
  },
  'output-missing': {
    title: 'a promised output file was not written',
    advice:
      'Read what the program printed: it most likely failed, or it writes under another name or folder.',
    submit:
      'Name in transfer_output_files only what is always written, and let the wrapper end with the program’s own exit code, so that a failure is seen as one.',
    fault: 'wrong-output',
    change: 'files',
    outlook: 'lasting',
  },
  'output-too-big': {
    title: 'the output is over the access point’s limit',
    advice: 'Send large results to the federation, or return less.',
    submit: overrides('max_transfer_output_mb'),
    fault: 'wrong-output',
    change: 'you',
    outlook: 'lasting',
  },
  'output-failed': {
    title: 'the output could not be brought back',
    advice:
      'Check that the folder or destination of the output exists, is yours to write, and takes the files.',
    fault: 'transfer-failed',
    change: 'you',
    outlook: 'unclear',
  },
  'access-point-full': {
    title: 'the disk of the access point, or your quota there, is full',
    advice:
      'Make room there, or ask the staff for more. The job runs again from its start, or from its last checkpoint.',
    fault: 'disk-full',
    change: 'you',
    outlook: 'lasting',
  },
  'disk-full': {
    title: 'the disk of the machine is full',
    advice: 'Another machine may have room; ask for more `disk` to get only such machines.',
    change: 'disk',
    outlook: 'passing',
  },
  'memory-exceeded': {
    title: 'it needs more memory than it asked for',
    advice: 'Ask for more `memory` than was measured: it may have wanted more when it was stopped.',
    submit: 'retry_request_memory (HTCondor 25.2 or newer) asks for more by itself after such an end.',
    change: 'memory',
    outlook: 'lasting',
  },
  'disk-exceeded': {
    title: 'it needs more disk than it asked for',
    advice:
      'Ask for more `disk`: archive and unpacked files lie there together, and the outputs and the image too.',
    fault: 'disk-full',
    change: 'disk',
    outlook: 'lasting',
  },
  'cpu-exceeded': {
    title: 'it used more CPU than it asked for',
    advice:
      'Ask for as many CPUs as the program keeps busy, or let it start fewer threads (OMP_NUM_THREADS).',
    change: 'you',
    outlook: 'lasting',
  },
  'time-limit': {
    title: 'the time limit was reached',
    advice:
      'Save checkpoints and resume from them: then a limit, or a slow machine, costs minutes. Or ask for more `time`, if the pool has a longer category.',
    change: 'time',
    outlook: 'lasting',
  },
  'environment-broken': {
    title: 'the container image cannot be used',
    advice:
      'Check the image’s name and tag, that the registry gives it out without your login, and start it once by hand: apptainer exec IMAGE true. `updraft check` looks into it before anything is queued.',
    change: 'retry',
    outlook: 'unclear',
  },
  'command-missing': {
    title: 'the program could not be started',
    advice:
      'Check that it is sent with the job (`files`), executable (chmod +x), with Unix line ends, and that its interpreter is in the image or on the machine.',
    change: 'files',
    outlook: 'lasting',
  },
  'file-unusable': {
    title: 'a file of the access point cannot be opened',
    advice: 'Check that its folder exists on the access point and is yours to write, and that there is room.',
    fault: 'file-invalid',
    change: 'you',
    outlook: 'lasting',
  },
  'machine-broken': {
    title: 'the machine could not run it',
    advice: 'Another machine may do; if one machine or site stands out, keep away from it.',
    fault: 'self-test-failed',
    change: 'retry',
    outlook: 'passing',
  },
  'checkpoint-failed': {
    title: 'a checkpoint could not be saved, or brought back',
    advice: 'Check that the files of the checkpoint are written, and that their destination keeps them.',
    submit: 'They are named by transfer_checkpoint_files, their place by checkpoint_destination.',
    fault: 'transfer-failed',
    change: 'you',
    outlook: 'passing',
  },
  'exit-code': {
    title: 'the program ended with an error',
    advice: 'Read what the program printed on its standard error.',
    fault: 'training-failed',
    change: 'files',
    outlook: 'lasting',
  },
  signal: {
    title: 'the program was ended by a signal',
    advice: 'Read what the program printed. Signal 9 is often the machine’s answer to too much memory.',
    fault: 'training-failed',
    change: 'files',
    outlook: 'unclear',
  },
  'job-policy': {
    title: 'a rule of the job itself said so',
    advice: 'The rule is in the submit file, and the reason names it: fix what it tests for.',
    change: 'you',
    outlook: 'unclear',
  },
  'pool-policy': {
    title: 'a rule of the access point said so',
    advice: 'Read the words of the rule; the staff of the access point can say what it wants.',
    change: 'staff',
    outlook: 'unclear',
  },
  'site-policy': {
    title: 'a rule of the execution point said so',
    advice: 'Read the words of the rule; another site may have no such rule.',
    change: 'you',
    outlook: 'unclear',
  },
  user: {
    title: 'somebody asked for it',
    advice:
      'If it is still wanted, condor_release lets a held job go on, and `updraft retry` tries a removed one again.',
    fault: 'interrupted',
    change: 'nothing',
    outlook: 'unclear',
  },
  staging: {
    title: 'its files are still being brought to the access point',
    advice: 'Wait. If it lasts, the copying broke off: submit it again.',
    change: 'retry',
    outlook: 'passing',
  },
  evicted: {
    title: 'the pool took the slot back',
    advice: 'Save checkpoints, so that such an end costs minutes and not the whole attempt.',
    change: 'retry',
    outlook: 'passing',
  },
  disconnected: {
    title: 'the connection to the machine was lost',
    advice: 'Save checkpoints, so that such an end costs minutes; if one site stands out, keep away from it.',
    fault: 'evicted',
    change: 'retry',
    outlook: 'passing',
  },
  'silent-end': {
    title: 'an attempt ended without a word in the log',
    advice:
      'If it happens often, ask the staff of the access point: it may be short of memory, or was restarted.',
    fault: 'evicted',
    change: 'retry',
    outlook: 'passing',
  },
  unknown: {
    title: 'HTCondor gives a reason that Updraft does not know',
    advice:
      'Updraft does not know this reason and does not guess. Read its words, or ask the staff of the access point.',
    change: 'staff',
    outlook: 'unclear',
  },
} as const satisfies Record<string, CauseInfo>;

export type PoolCause = keyof typeof causes;

/** By HTCondor's account, or a kind of fault where Updraft itself found it or an exit code of its agent says so. */
export type Cause = PoolCause | FaultKind;

/** What is known of a cause, whoever found it. */
export function causeInfo(cause: Cause): CauseInfo & { fault: FaultKind } {
  if (cause in causes) {
    const info: CauseInfo = causes[cause as PoolCause];
    return { ...info, fault: info.fault ?? (cause in kinds ? (cause as FaultKind) : 'pool-hold') };
  }
  const kind = cause as FaultKind;
  const { what, retry } = kinds[kind];
  return {
    title: `${what.charAt(0).toLowerCase()}${what.slice(1).replace(/\.$/, '')}`,
    advice: sentence(fixes[kind] ?? ''),
    fault: kind,
    change: ownChanges[kind] ?? (retry === 'never' ? 'you' : 'retry'),
    outlook: retry === 'never' ? 'lasting' : 'passing',
  };
}

const ownChanges: Partial<Record<FaultKind, Change>> = {
  'training-failed': 'files',
  'wrong-output': 'files',
  interrupted: 'nothing',
};

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

/** A cause in a few words. */
export const causeTitle = (cause: Cause): string => causeInfo(cause).title;

/** What helps against a cause, for those who see many jobs at once. */
export function remedyOf(cause: Cause): string {
  const { advice, submit } = causeInfo(cause);
  return submit === undefined ? advice : `${advice} ${submit}`;
}
