import type { FaultKind } from './kinds.ts';

/** What its reader can do about a kind of fault; the table of causes says it where a cause has the same name. */
export const fixes: Readonly<Partial<Record<FaultKind, string>>> = {
  'jobs-failed': '`updraft why` explains each; `updraft retry` tries the failed ones again',
  usage: 'the message shows the word that is wrong; `updraft COMMAND --help` shows the right ones',
  'file-invalid': 'fix the line that is named. `updraft check` finds what reading alone cannot',
  'pool-unreachable':
    'see whether you are logged in at the access point and `condor_q` answers; then the same command again',
  interrupted: 'the same command goes on where it was; a hold by hand is released with `condor_release`',
  'pool-hold': '`updraft why` shows the words of the rule; when it is satisfied, `condor_release`',
  'discovery-failed':
    'check the host in `pelican://HOST/` and UPDRAFT_OSDF_HOST; one machine alone may have no network',
  'director-unreachable': 'wait: the federation’s own service is down. Nothing of yours is wrong',
  'token-missing':
    '`updraft login URL`, or name its file for the object: `token_file` in a job file, --token-file at the prompt',
  'token-refused': 'get a token whose scope covers the path, then `updraft retry`',
  'token-expired':
    'renew the token file (`updraft login --renew` for one of a login): each attempt reads it again',
  'url-invalid':
    'fix it: `osdf:///namespace/object` has three slashes, `pelican://host/namespace/object` a host',
  'object-changed':
    'never replace an object under its name, because caches keep the old one: `updraft stage` puts a hash into the name',
  'data-corrupt':
    'if it stays so everywhere, the published object is not what the job file declares: stage it again',
  'data-wrong': 'nothing, if another machine does: some networks answer with a login page',
  'archive-damaged':
    'declare `sha256` or a manifest, so that a damaged delivery is distinguished from a damaged archive; make a damaged one again',
  'archive-kind': 'make the archive again, or set `unpack`',
  'archive-unsafe': 'look into it with `tar -tvf`, and make it again with relative names',
  'data-unexpected': 'if the data is right, fix `expect`; else stage it again',
  'scratch-unusable':
    'nothing, if another machine does; on your own machine, see who may write to the folder that is named',
  'training-failed': '`updraft logs JOB --err`; fix it; `updraft retry --with-new-files`',
  'training-killed':
    'nothing, if another machine does; else find out who ends it: a watcher of the site, a limit (`ulimit -a`), a neighbour that fills the machine’s memory',
  'gpu-memory': 'use a smaller batch, or ask for a larger GPU: `gpu = { memory = "…" }` in [resources]',
  'training-hung': 'if it was at work, print now and then, or set a longer `quiet_limit`',
  'wrong-output':
    'see what it printed: a script that goes on after an error ends well, too. Begin it with `set -e`',
  'self-test-failed':
    'nothing, if another machine does; `requirements` keeps all jobs away from a site that never will',
  'order-invalid': 'the run’s folder was changed by hand, or the agent is of another version: submit again',
  'slow-slot': 'nothing; `slow_limit = 0` turns it off',
  internal: 'please report it with the message and the command',
};
