import type { FaultKind } from './kinds.ts';

/** What a kind of fault is, and what the user can do about it, unless the table of causes says that. */
export const faultWords: Readonly<Record<FaultKind, readonly [what: string, fix?: string]>> = {
  usage: [
    'The command line is wrong.',
    'the message names the wrong argument; `updraft COMMAND --help` lists the valid ones',
  ],
  'file-invalid': [
    'The job file or something it names is wrong.',
    'fix that line, then run `updraft check`, which finds further errors',
  ],
  interrupted: [
    'A user stopped it.',
    'run the same command again to continue; release a job that a user held with `condor_release`',
  ],
  'data-wrong': [
    'A server sent something else instead of the object.',
    'nothing if another machine works: some networks answer with a login page',
  ],
  'disk-full': ['The disk is full.'],
  'scratch-unusable': [
    'The scratch directory cannot be used.',
    'nothing if another machine works; on your own machine, check the permissions of that directory',
  ],
  internal: ['A bug in Updraft.', 'please report it, with the message and the command'],
  'expect-wrong': [
    'The servers agree on the data, but `sha256`, `expect` or the manifest describes other data.',
    'correct `sha256`, `expect` or the manifest, or publish the right object under a new name',
  ],
  'discovery-failed': [
    'There is no federation at that host.',
    'check the host in `pelican://HOST/` and UPDRAFT_OSDF_HOST; if only one machine fails, it may have no network',
  ],
  'director-unreachable': [
    "The federation's director does not answer.",
    'wait: a service of the federation is down, and nothing of yours is wrong',
  ],
  'servers-unreachable': ['No cache or origin with the object can be reached.'],
  'token-missing': [
    'The namespace requires a token, and none was found.',
    '`updraft login URL`, or name the token file: `token_file` in the job file, --token-file on the command line',
  ],
  'token-refused': [
    'The servers rejected the token.',
    'get a token whose scope covers the path, then `updraft retry`',
  ],
  'token-expired': [
    'The token has expired.',
    'renew the token file (`updraft login --renew` if it came from a login); each attempt reads it again',
  ],
  'object-missing': ['The object does not exist, according to its origin or to every server.'],
  'url-invalid': [
    'The URL is invalid.',
    'write `osdf:///namespace/object` (three slashes) or `pelican://host/namespace/object`',
  ],
  'object-changed': [
    'The object changed while it was being fetched.',
    'never overwrite an object, because caches keep the old version; `updraft stage` puts a hash into each name',
  ],
  'transfer-stalled': ['No server delivers bytes fast enough.'],
  'transfer-failed': ['The transfer failed, and no other server could finish it.'],
  'data-corrupt': [
    'The data differs from what was published.',
    'if it happens everywhere, the published object differs from what the job file declares: stage it again',
  ],
  'archive-damaged': [
    'The archive is truncated or damaged.',
    'declare `sha256` or a manifest to find out whether the download or the archive is damaged; ' +
      'create a damaged archive again',
  ],
  'archive-kind': [
    'The published file is not an archive that Updraft can unpack.',
    'create the archive again, or set `unpack`',
  ],
  'archive-unsafe': [
    'The archive would write outside its directory.',
    'list it with `tar -tvf`, and create it again with relative names',
  ],
  'data-unexpected': [
    'The data does not match `expect`.',
    'if the data is right, fix `expect`; otherwise stage the data again',
  ],
  'order-invalid': [
    'The agent cannot read its work order.',
    "the run's folder was edited, or the agent has a different version: submit again",
  ],
  'jobs-failed': [
    'Some jobs of the run have no valid result.',
    '`updraft why` explains each failure; `updraft retry` tries the failed jobs again',
  ],
  'pool-unreachable': [
    'The pool does not answer, or this machine lacks something it needs.',
    'check that you are on the access point and that `condor_q` answers, then run the same command again',
  ],
  'pool-hold': [
    'The pool holds the job: by a rule, or for a reason that Updraft does not know.',
    '`updraft why` shows the reason, and whether to release the job or to submit it again',
  ],
  'memory-exceeded': ['The job used more memory than requested.'],
  'training-killed': [
    'Something outside the job killed the training, apparently not for memory or disk.',
    'nothing if another machine works; otherwise find out what kills it: a monitor at the site, a ' +
      "limit (`ulimit -a`), or another job that fills the machine's memory",
  ],
  'gpu-memory': [
    'The training ran out of GPU memory.',
    'use a smaller batch, or request a larger GPU: `gpu = { memory = "…" }` in [resources]',
  ],
  'command-missing': ['The training command was not found or could not be started.'],
  'training-failed': [
    'The training failed with an error.',
    'fix the script or the command, then `updraft retry --with-new-files`; `updraft logs JOB --err` ' +
      'shows everything it printed',
  ],
  'training-hung': [
    'The training hung: it printed nothing and did no work, or left its GPU idle.',
    'if it was working, print something from time to time, or set a longer `quiet_limit` or `idle_limit`',
  ],
  'wrong-output': [
    'The training exited without a valid result.',
    'read what it printed; a shell script that continues after an error also exits with 0: start it with `set -e`',
  ],
  evicted: ['The pool took the slot back.'],
  'time-limit': ['The attempt reached its time limit.'],
  'self-test-failed': [
    'The machine lacks something the job needs.',
    'nothing if another machine works; exclude a site that never works with `requirements`',
  ],
  'environment-broken': ['The software environment cannot be used.'],
  'slow-slot': [
    'The machine is much slower than the others in this run.',
    'nothing; `slow_limit = 0` turns it off',
  ],
  'run-folder-full': [
    "The run's folder, or your home, is full: no space left, or quota exceeded.",
    'free space or quota there, then `updraft retry`, which returns kept results without training again',
  ],
};
