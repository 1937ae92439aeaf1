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
  /** `you` where it is left out. */
  change?: Change;
  /** Where it is another one than the change usually has. */
  outlook?: Outlook;
}

/** Where another try ends the same way is known from what must change, but for a few causes. */
const usualOutlook = (change: Change): Outlook =>
  change === 'retry' ? 'passing' : change === 'staff' || change === 'nothing' ? 'unclear' : 'lasting';

const overrides = (name: string): string =>
  `A job’s own ${name} overrides the default, where the staff allows it.`;

/**
 * Why jobs stand as they do by HTCondor's account, and what helps: the only place that says so. Where Updraft has a
 * fault of that kind, it has the same name.
 */
const causes = {
  none: { title: 'nothing is wrong', advice: 'Nothing is wrong.', change: 'nothing' },
  'waits-for-slot': {
    title: 'no slot has taken it yet',
    advice: 'Ask for less, or wait.',
    change: 'nothing',
  },
  'object-missing': {
    title: 'the input was not found (404)',
    advice: 'If the URL is right, try again after a pause: caches answer 404 in bursts for what is there.',
    change: 'retry',
    outlook: 'unclear',
  },
  'access-refused': {
    title: 'the server refuses access',
    advice: 'Check that the token or proxy is there, not expired, and covers the path.',
    fault: 'token-refused',
  },
  'transfer-stalled': {
    title: 'the transfer stalled',
    advice: 'Try again from another cache; a fetch that resumes (`updraft get`, `stream`) loses nothing.',
    change: 'retry',
  },
  'servers-unreachable': {
    title: 'the server cannot be reached',
    advice: 'If the host is right, that machine has no network to it: try another one.',
    change: 'retry',
  },
  'server-failed': {
    title: 'the server failed',
    advice: 'Try again later, or from another cache.',
    fault: 'transfer-failed',
    change: 'retry',
  },
  'plugin-failed': {
    title: 'the file-transfer plugin failed',
    advice: 'Use machines with a plugin that works, or fetch inside the job as Updraft does.',
    submit: 'Ask for HasFileTransferPluginMethods, or send a plugin with the job (transfer_plugins).',
    fault: 'transfer-failed',
    outlook: 'unclear',
  },
  'transfer-failed': {
    title: 'the input transfer failed',
    advice: 'Try again from another cache or machine; if it fails again, its words name what to fix.',
    change: 'retry',
    outlook: 'unclear',
  },
  'input-missing': {
    title: 'an input file is not on the access point',
    advice: 'Put the file back on the access point, or correct its name.',
    submit: 'Names in transfer_input_files are relative to initialdir (or to the folder of condor_submit).',
    fault: 'file-invalid',
  },
  'input-too-big': {
    title: 'the input is over the access point’s limit',
    advice: 'Put the data into the federation (`updraft stage`): what is fetched by URL does not count.',
    submit: overrides('max_transfer_input_mb'),
    fault: 'file-invalid',
  },
  'output-missing': {
    title: 'a promised output file was not written',
    advice: 'Read what the program printed: most likely it failed, or writes under another name.',
    submit: 'Let the wrapper end with the program’s exit code; name only outputs that are always written.',
    fault: 'wrong-output',
    change: 'files',
  },
  'output-too-big': {
    title: 'the output is over the access point’s limit',
    advice: 'Send large results to the federation, or return less.',
    submit: overrides('max_transfer_output_mb'),
    fault: 'wrong-output',
  },
  'output-failed': {
    title: 'the output could not be brought back',
    advice: 'Check that the destination of the output exists, is yours to write, and takes the files.',
    fault: 'transfer-failed',
    outlook: 'unclear',
  },
  'access-point-full': {
    title: 'the disk of the access point, or your quota there, is full',
    advice: 'Make room there, or ask the staff for more; then release the job, or submit it again.',
    fault: 'disk-full',
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
  },
  'disk-exceeded': {
    title: 'it needs more disk than it asked for',
    advice: 'Ask for more `disk`: archive, unpacked files, outputs and image lie there together.',
    fault: 'disk-full',
    change: 'disk',
  },
  'cpu-exceeded': {
    title: 'it used more CPU than it asked for',
    advice: 'Ask for as many CPUs as it keeps busy, or let it start fewer threads (OMP_NUM_THREADS).',
  },
  'time-limit': {
    title: 'the time limit was reached',
    advice: 'Save checkpoints and resume from them, or ask for more `time` if the pool allows it.',
    change: 'time',
  },
  'environment-broken': {
    title: 'the container image cannot be used',
    advice: 'Check the image’s name, and that it needs no login; try it: apptainer exec IMAGE true',
    change: 'retry',
    outlook: 'unclear',
  },
  'command-missing': {
    title: 'the program could not be started',
    advice:
      'Check that it is sent along (`files`), executable, with Unix line ends, and that the machine has its interpreter.',
    change: 'files',
  },
  'file-unusable': {
    title: 'a file of the access point cannot be opened',
    advice: 'Check that its folder exists on the access point, is yours to write, and has room.',
    fault: 'file-invalid',
  },
  'machine-broken': {
    title: 'the machine could not run it',
    advice: 'Another machine may do; if one machine or site stands out, keep away from it.',
    fault: 'self-test-failed',
    change: 'retry',
  },
  'checkpoint-failed': {
    title: 'a checkpoint could not be saved, or brought back',
    advice: 'Check that the files of the checkpoint are written, and that their destination keeps them.',
    submit: 'They are named by transfer_checkpoint_files, their place by checkpoint_destination.',
    fault: 'transfer-failed',
    outlook: 'passing',
  },
  'exit-code': {
    title: 'the program ended with an error',
    advice: 'Read what the program printed on its standard error.',
    fault: 'training-failed',
    change: 'files',
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
    outlook: 'unclear',
  },
  'pool-policy': {
    title: 'a rule of the access point said so',
    advice: 'Read the words of the rule; the staff of the access point can say what it wants.',
    change: 'staff',
  },
  'site-policy': {
    title: 'a rule of the execution point said so',
    advice: 'Read the words of the rule; another site may have no such rule.',
    outlook: 'unclear',
  },
  user: {
    title: 'somebody asked for it',
    advice:
      'If it is still wanted: condor_release a held job; submit a removed one again (in a run of Updraft: `updraft retry`).',
    fault: 'interrupted',
    change: 'nothing',
  },
  staging: {
    title: 'its files are still being brought to the access point',
    advice: 'Wait. If it lasts, the copying broke off: submit it again.',
    change: 'retry',
  },
  evicted: {
    title: 'the pool took the slot back',
    advice: 'Save checkpoints, so that such an end costs minutes and not the whole attempt.',
    change: 'retry',
  },
  disconnected: {
    title: 'the connection to the machine was lost',
    advice: 'Save checkpoints, so that it costs minutes; if one site stands out, keep away from it.',
    fault: 'evicted',
    change: 'retry',
  },
  'silent-end': {
    title: 'an attempt ended without a word in the log',
    advice: 'If it happens often, ask the staff whether the access point was restarted or lacks memory.',
    fault: 'evicted',
    change: 'retry',
  },
  unknown: {
    title: 'HTCondor gives a reason that Updraft does not know',
    advice: 'Updraft does not guess. Read the words of the reason, or ask the staff of the access point.',
    change: 'staff',
  },
} as const satisfies Record<string, CauseInfo>;

export type PoolCause = keyof typeof causes;

/** By HTCondor's account, or a kind of fault where Updraft itself found it or an exit code of its agent says so. */
export type Cause = PoolCause | FaultKind;

/** What is known of a cause, whoever found it. */
export function causeInfo(
  cause: Cause,
): CauseInfo & Required<Pick<CauseInfo, 'fault' | 'change' | 'outlook'>> {
  const info: CauseInfo = cause in causes ? causes[cause as PoolCause] : ownInfo(cause as FaultKind);
  const { change = 'you', outlook = usualOutlook(change) } = info;
  const fault = info.fault ?? (cause in kinds ? (cause as FaultKind) : 'pool-hold');
  return { ...info, fault, change, outlook };
}

/** Of faults that Updraft alone finds. */
function ownInfo(kind: FaultKind): CauseInfo {
  const { what, retry } = kinds[kind];
  return {
    title: `${what.charAt(0).toLowerCase()}${what.slice(1).replace(/\.$/, '')}`,
    advice: sentence(fixes[kind] ?? ''),
    change: ownChanges[kind] ?? (retry === 'never' ? 'you' : 'retry'),
  };
}

const ownChanges: Partial<Record<FaultKind, Change>> = {
  'training-failed': 'files',
  'gpu-memory': 'files',
  'wrong-output': 'files',
  interrupted: 'nothing',
};

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

/** A cause in a few words. */
export const causeTitle = (cause: Cause): string => causeInfo(cause).title;

/** What helps against a cause, for those who see many jobs at once; a run of Updraft's has no submit file of the user's. */
export function remedyOf(cause: Cause, source: 'log' | 'run' = 'log'): string {
  const { advice, submit } = causeInfo(cause);
  return submit === undefined || source === 'run' ? advice : `${advice} ${submit}`;
}
