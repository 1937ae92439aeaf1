import { defined } from '@updraft/base';
import { kinds, type FaultKind } from '../fault/kinds.ts';
import { faultWords } from '../fault/words.ts';

/** Whether the same thing tried again will end the same way. */
export type Outlook = 'passing' | 'lasting' | 'unclear';

/**
 * What must change before another try can succeed: a resource request, the user's files, something that only the user
 * or the staff can do (`you`, `staff`), only the machine or the time (`retry`), or `nothing` because nothing was wrong.
 */
export type RequiredChange = 'memory' | 'disk' | 'time' | 'files' | 'you' | 'staff' | 'retry' | 'nothing';

interface CauseInfo {
  /** In a few words. */
  title: string;
  /** The same of several jobs, if it differs. */
  titles?: string;
  advice: string;
  /** Instead, for a job that resumes from checkpoints. */
  resumed?: string;
  /** Further advice for the author of a submit file. */
  submit?: string;
  /** Default: the kind with the name of the cause, else `pool-hold`. */
  fault?: FaultKind;
  /** Default: `you`. */
  change?: RequiredChange;
  /** Whether what must change was submitted with the job; default: only if it is a request. */
  isSubmitted?: boolean;
  /** Default: `defaultOutlook` of the change. */
  outlook?: Outlook;
}

const defaultOutlook = (change: RequiredChange): Outlook =>
  change === 'retry' ? 'passing' : change === 'staff' || change === 'nothing' ? 'unclear' : 'lasting';

const overrides = (name: string): string =>
  `${name} in the submit file overrides the default, where the staff allows it.`;

/** Causes that HTCondor reports, and what helps. A cause that is also a kind of fault has the same name. */
const causes = {
  none: { title: 'nothing is wrong', advice: 'Nothing is wrong.', change: 'nothing' },
  'waits-for-slot': {
    title: 'it has no slot yet',
    titles: 'they have no slot yet',
    advice: 'Wait, or request less: fewer CPUs, less memory or disk, a smaller GPU.',
    change: 'nothing',
  },
  'object-missing': {
    title: 'an input was not found (404)',
    advice:
      'Check the URL. If it is right, try again later: caches sometimes answer 404 for an object that exists.',
    change: 'retry',
    outlook: 'unclear',
  },
  'access-refused': {
    title: 'the server denied access',
    advice: 'Check that the token or proxy exists, has not expired, and covers the path.',
    fault: 'token-refused',
  },
  'credential-missing': {
    title: 'its credential is missing or invalid',
    advice: 'Store or renew its token or proxy on the access point: the job uses it once it is released.',
    fault: 'token-missing',
  },
  'transfer-stalled': {
    title: 'the transfer stalled',
    advice: "Try again from another cache; `updraft get` and the agent's `stream` resume where they stopped.",
    change: 'retry',
  },
  'servers-unreachable': {
    title: 'the server could not be reached',
    advice: 'Check the host name. If it is right, that machine cannot reach the host: try another machine.',
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
    advice: 'Use machines whose plugin works, or fetch inside the job as Updraft does.',
    submit: 'Require HasFileTransferPluginMethods, or send a plugin with the job (transfer_plugins).',
    fault: 'transfer-failed',
    outlook: 'unclear',
  },
  'transfer-failed': {
    title: 'the input transfer failed',
    advice: 'Try again from another cache or machine. If it fails again, the error message says what to fix.',
    change: 'retry',
    outlook: 'unclear',
  },
  'input-missing': {
    title: 'an input file is missing on the access point',
    advice: 'Put the file back, or correct its name.',
    submit:
      'Names in transfer_input_files are relative to initialdir, or to the directory where ' +
      'condor_submit ran. A job in the queue keeps its names: after correcting one, submit again and ' +
      'condor_rm the old job, or change its TransferInput with condor_qedit.',
    fault: 'file-invalid',
  },
  'input-too-big': {
    title: "the input exceeds the access point's limit",
    advice: 'Put the data into the federation (`updraft stage`): files fetched by URL do not count.',
    submit: overrides('max_transfer_input_mb'),
    fault: 'file-invalid',
    isSubmitted: true,
  },
  'output-missing': {
    title: 'an expected output file is missing',
    advice: 'Read what the program printed: it probably failed, or wrote the file under another name.',
    submit: "Make the wrapper exit with the program's exit code; list only outputs that are always written.",
    fault: 'wrong-output',
    change: 'files',
    isSubmitted: true,
  },
  'output-too-big': {
    title: "the output exceeds the access point's limit",
    advice: 'Send large results to the federation, or return less.',
    submit: overrides('max_transfer_output_mb'),
    fault: 'wrong-output',
    isSubmitted: true,
  },
  'output-failed': {
    title: 'the output could not be returned',
    advice: 'Check that the destination exists, that you may write to it, and that it accepts the files.',
    fault: 'transfer-failed',
    outlook: 'unclear',
  },
  'access-point-full': {
    title: 'disk full or quota exceeded on the access point',
    advice: 'Free some space there, or ask the staff for more.',
    fault: 'run-folder-full',
  },
  'disk-full': {
    title: 'the disk of the machine is full',
    advice: 'Request more disk, so that only machines with enough space match.',
    submit: 'Raise request_disk in the submit file.',
    change: 'disk',
    outlook: 'passing',
  },
  'memory-exceeded': {
    title: 'it used more memory than requested',
    titles: 'they used more memory than requested',
    advice: 'Request more memory than was measured: it was probably stopped before its peak.',
    submit: 'Raise request_memory; retry_request_memory (HTCondor 25.2 or newer) does so by itself.',
    change: 'memory',
  },
  'disk-exceeded': {
    title: 'it used more disk than requested',
    titles: 'they used more disk than requested',
    advice: 'Request more disk: it must hold the archive, its unpacked files, the outputs and the image.',
    submit: 'Raise request_disk in the submit file.',
    fault: 'disk-full',
    change: 'disk',
  },
  'cpu-exceeded': {
    title: 'it used more CPUs than requested',
    titles: 'they used more CPUs than requested',
    advice: 'Request as many CPUs as it keeps busy, or start fewer threads (OMP_NUM_THREADS).',
    isSubmitted: true,
  },
  'time-limit': {
    title: 'the time limit was reached',
    advice: 'Save checkpoints and resume from them, or request more time if the pool allows it.',
    resumed: 'It resumes from its checkpoints: let it go on, or request more time if the pool allows it.',
    change: 'time',
  },
  'environment-broken': {
    title: 'the software environment cannot be used',
    advice:
      'Add what it lacks to the environment, or name another in [environment]; `updraft check` lists ' +
      'what the job needs.',
    outlook: 'unclear',
  },
  'image-missing': {
    title: 'the container image does not exist, or needs a login',
    advice: 'Correct its name and tag; make a private one public, or use a .sif file of your own.',
    submit: 'container_image names it.',
    fault: 'environment-broken',
    isSubmitted: true,
  },
  'image-unusable': {
    title: 'the container image could not be used',
    advice:
      "Check the image's name, and that it needs no login: try `apptainer exec IMAGE true`. If that " +
      'works, try another machine.',
    fault: 'environment-broken',
    outlook: 'unclear',
  },
  'command-missing': {
    title: 'the program could not be started',
    advice:
      'Check that the job brings it along, that it is executable and has Unix line endings, and that ' +
      'the machine has its interpreter.',
    change: 'files',
  },
  'file-unusable': {
    title: 'a file on the access point cannot be opened',
    advice:
      'Check that its directory exists on the access point, that you may read the file, or write it ' +
      'if the job does, and that the disk is not full.',
    fault: 'file-invalid',
  },
  'attribute-missing': {
    title: 'the submit file uses an attribute that the machine does not have',
    advice: 'Give it a default, as in $$(NAME:default), or require machines that have it.',
    submit: 'requirements = TARGET.NAME =!= undefined matches only those.',
    isSubmitted: true,
  },
  'machine-broken': {
    title: 'the machine could not run it',
    titles: 'the machine could not run them',
    advice: 'Another machine may work. If the same machine or site fails often, exclude it.',
    fault: 'self-test-failed',
    change: 'retry',
  },
  'checkpoint-failed': {
    title: 'a checkpoint could not be saved or restored',
    advice: 'Check that the program writes the checkpoint files and that their destination keeps them.',
    submit: 'transfer_checkpoint_files names the files, checkpoint_destination the place for them.',
    fault: 'transfer-failed',
    outlook: 'passing',
  },
  'exit-code': {
    title: 'the program exited with an error',
    advice: 'Read what the program printed on its standard error.',
    fault: 'training-failed',
    change: 'files',
  },
  'script-failed': {
    title: 'a script of its DAG node failed',
    advice: 'Run the script by hand in the node’s folder; SCRIPT DEBUG FILE ALL keeps what it prints.',
    fault: 'training-failed',
    change: 'files',
  },
  'node-retried': {
    title: 'another job of its DAG node failed',
    advice: 'See that job: DAGMan submits all jobs of a node again if one of them fails.',
    change: 'nothing',
  },
  'node-blocked': {
    title: 'DAGMan did not submit it',
    titles: 'DAGMan did not submit them',
    advice: 'Once that is fixed, run condor_submit_dag again: its rescue file runs only what is left.',
    change: 'files',
  },
  'agent-killed': {
    title: 'the agent was killed by a signal',
    advice: 'Its machine or its staff ended it, often for memory: request more, or try another machine.',
    fault: 'evicted',
    change: 'retry',
    outlook: 'unclear',
  },
  signal: {
    title: 'the program was killed by a signal',
    advice: 'Read what the program printed: its last lines often show why.',
    fault: 'training-failed',
    change: 'files',
    outlook: 'unclear',
  },
  'job-policy': {
    title: "a rule in the job's submit file",
    advice: 'Read the reason, and fix what the rule tests for.',
    outlook: 'unclear',
  },
  'pool-policy': {
    title: 'a rule of the access point',
    advice: 'Read the reason; the staff of the access point can explain the rule.',
    change: 'staff',
  },
  'site-policy': {
    title: 'a rule of the execution point',
    advice: 'Read the reason; another site may have no such rule.',
    outlook: 'unclear',
  },
  user: {
    title: 'a user removed or held it',
    titles: 'a user removed or held them',
    advice:
      'If you still want it, release a held job (condor_release) or submit a removed one again ' +
      '(`updraft retry` in an Updraft run).',
    fault: 'interrupted',
    change: 'nothing',
  },
  staging: {
    title: 'input files are still being copied to the access point',
    advice: 'Wait. If nothing changes, the copy has failed: submit the job again.',
    change: 'retry',
  },
  evicted: {
    title: 'the pool took the slot back',
    advice: 'Save checkpoints, so that an eviction costs minutes instead of the whole attempt.',
    resumed: 'It resumes from its checkpoints: save them more often if evictions still cost much.',
    change: 'retry',
  },
  disconnected: {
    title: 'the connection to the machine was lost',
    advice:
      'Save checkpoints, so that a lost connection costs only minutes. Exclude a site where it happens often.',
    resumed: 'It resumes from its checkpoints. Exclude a site where it happens often.',
    fault: 'evicted',
    change: 'retry',
  },
  'agent-silent': {
    title: 'the agent has stopped reporting',
    advice:
      'Its machine may be cut off or overloaded, or the agent was stopped: wait, or stop and retry the job.',
    change: 'retry',
  },
  'silent-end': {
    title: 'an attempt ended without an event in the log',
    advice: 'If it happens often, ask the staff whether the access point was restarted or ran out of memory.',
    fault: 'evicted',
    change: 'retry',
  },
  unknown: {
    title: 'HTCondor gives a reason that Updraft does not know',
    advice: "Ask the staff of the access point: HTCondor's own logs say more.",
    change: 'staff',
  },
} as const satisfies Record<string, CauseInfo>;

export type PoolCause = keyof typeof causes;

/** Whether HTCondor reports it; otherwise only Updraft itself does. */
export const isPoolCause = (cause: Cause): cause is PoolCause => cause in causes;

/** A cause that HTCondor reports, or a kind of fault that Updraft itself found or its agent's exit code names. */
export type Cause = PoolCause | FaultKind;

export function causeInfo(
  cause: Cause,
): CauseInfo & Required<Pick<CauseInfo, 'fault' | 'change' | 'outlook'>> {
  const info: CauseInfo = isPoolCause(cause) ? causes[cause] : faultKindInfo(cause);
  const { change = 'you', outlook = defaultOutlook(change) } = info;
  const fault = info.fault ?? (cause in kinds ? (cause as FaultKind) : 'pool-hold');
  return { ...info, fault, change, outlook };
}

/** For faults that only Updraft finds. */
function faultKindInfo(kind: FaultKind): CauseInfo {
  const { retry } = kinds[kind];
  const [what, fix = ''] = faultWords[kind];
  return {
    title: `${what.charAt(0).toLowerCase()}${what.slice(1).replace(/\.$/, '')}`,
    advice: sentence(fix),
    change: changeByKind[kind] ?? (retry === 'never' ? 'you' : 'retry'),
  };
}

/** Whether only a new submission brings the fix: a job in the queue keeps its requests, lists and image. */
export function needsResubmission(cause: Cause): boolean {
  const { change, isSubmitted = change === 'memory' || change === 'disk' || change === 'time' } =
    causeInfo(cause);
  return isSubmitted;
}

const changeByKind: Partial<Record<FaultKind, RequiredChange>> = {
  'training-failed': 'files',
  'gpu-memory': 'files',
  'wrong-output': 'files',
  interrupted: 'nothing',
};

/** With a capital and a full stop; a command stays as it is typed. */
export const sentence = (text: string): string =>
  text === '' || /^(?:updraft|condor_\w+|ls) /.test(text)
    ? text
    : `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

export const causeTitle = (cause: Cause): string => causeInfo(cause).title;

/** The title of one job, and that of several. */
export function causeTitles(cause: Cause): { title: string; titles?: string } {
  const { title, titles } = causeInfo(cause);
  return { title, ...defined({ titles }) };
}

/** What helps against a cause in general. Jobs of Updraft's own runs have no submit file that the user wrote. */
export function adviceFor(cause: Cause, source: 'log' | 'run' = 'log', resumes = false): string {
  const info = causeInfo(cause);
  const { submit } = info;
  const advice = (resumes ? info.resumed : undefined) ?? info.advice;
  return submit === undefined || source === 'run' ? advice : `${advice} ${submit}`;
}

/** Whether the general advice is to save checkpoints. */
export const isCheaperWithCheckpoints = (cause: Cause): boolean => causeInfo(cause).resumed !== undefined;
