import { kinds, type FaultKind } from '../fault/kinds.ts';

/** Why jobs stand as they do, in a few words. Where Updraft has a fault of that kind, it has the same name. */
const causes = {
  none: 'nothing is wrong',
  'waits-for-slot': 'no slot has taken it yet',
  'object-missing': 'the input was not found (404)',
  'access-refused': 'the server refuses access',
  'transfer-stalled': 'the transfer stalled',
  'servers-unreachable': 'the server cannot be reached',
  'server-failed': 'the server failed',
  'plugin-failed': 'the file-transfer plugin failed',
  'transfer-failed': 'the input transfer failed',
  'input-missing': 'an input file is not on the access point',
  'input-too-big': 'the input is over the access point’s limit',
  'output-missing': 'a promised output file was not written',
  'output-too-big': 'the output is over the access point’s limit',
  'output-failed': 'the output could not be brought back',
  'disk-full': 'a disk is full',
  'memory-exceeded': 'it needs more memory than it asked for',
  'disk-exceeded': 'it needs more disk than it asked for',
  'time-limit': 'the time limit was reached',
  'environment-broken': 'the container image cannot be used',
  'command-missing': 'the program could not be started',
  'file-unusable': 'a file of the access point cannot be opened',
  'machine-broken': 'the machine could not run it',
  'checkpoint-failed': 'a checkpoint could not be saved, or brought back',
  'exit-code': 'the program ended with an error',
  signal: 'the program was ended by a signal',
  'job-policy': 'a rule of the job itself said so',
  'pool-policy': 'a rule of the access point said so',
  'site-policy': 'a rule of the execution point said so',
  user: 'somebody asked for it',
  staging: 'its files are still being brought to the access point',
  evicted: 'the pool took the slot back',
  disconnected: 'the connection to the machine was lost',
  'silent-end': 'an attempt ended without a word in the log',
  unknown: 'HTCondor gives a reason that Updraft does not know',
} as const satisfies Record<string, string>;

export type PoolCause = keyof typeof causes;

/** By HTCondor's account, or a kind of fault where Updraft itself found it or an exit code of its agent says so. */
export type Cause = PoolCause | FaultKind;

/** A cause in a few words. */
export function causeTitle(cause: Cause): string {
  if (cause in causes) return causes[cause as PoolCause];
  const { what } = kinds[cause as FaultKind];
  return `${what.charAt(0).toLowerCase()}${what.slice(1).replace(/\.$/, '')}`;
}
