import type { FaultKind } from './kinds.ts';

/** What the user can do about a kind of fault. Kinds that are missing here have their advice in the table of causes. */
export const fixes: Readonly<Partial<Record<FaultKind, string>>> = {
  'jobs-failed': '`updraft why` explains each failure; `updraft retry` tries the failed jobs again',
  usage: 'the message names the wrong argument; `updraft COMMAND --help` lists the valid ones',
  'file-invalid': 'fix that line, then run `updraft check`, which finds further errors',
  'pool-unreachable':
    'check that you are on the access point and that `condor_q` answers, then run the same command again',
  interrupted: 'run the same command again to continue; release a job that a user held with `condor_release`',
  'pool-hold': '`updraft why` shows the reason, and whether to release the job or to submit it again',
  'run-folder-full':
    'free space or quota there, then `updraft retry`, which returns kept results without training again',
  'discovery-failed':
    'check the host in `pelican://HOST/` and UPDRAFT_OSDF_HOST; if only one machine fails, it may have no network',
  'director-unreachable': 'wait: a service of the federation is down, and nothing of yours is wrong',
  'token-missing':
    '`updraft login URL`, or name the token file: `token_file` in the job file, --token-file on the command line',
  'token-refused': 'get a token whose scope covers the path, then `updraft retry`',
  'token-expired':
    'renew the token file (`updraft login --renew` if it came from a login); each attempt reads it again',
  'url-invalid': 'write `osdf:///namespace/object` (three slashes) or `pelican://host/namespace/object`',
  'object-changed':
    'never overwrite an object, because caches keep the old version; `updraft stage` puts a hash into each name',
  'data-corrupt':
    'if it happens everywhere, the published object differs from what the job file declares: stage it again',
  'data-wrong': 'nothing if another machine works: some networks answer with a login page',
  'archive-damaged':
    'declare `sha256` or a manifest to find out whether the download or the archive is damaged; ' +
    'create a damaged archive again',
  'archive-kind': 'create the archive again, or set `unpack`',
  'archive-unsafe': 'list it with `tar -tvf`, and create it again with relative names',
  'expect-wrong': 'correct `sha256`, `expect` or the manifest, or publish the right object under a new name',
  'data-unexpected': 'if the data is right, fix `expect`; otherwise stage the data again',
  'scratch-unusable':
    'nothing if another machine works; on your own machine, check the permissions of that directory',
  'training-failed':
    'fix the script or the command, then `updraft retry --with-new-files`; `updraft logs JOB --err` ' +
    'shows everything it printed',
  'training-killed':
    'nothing if another machine works; otherwise find out what kills it: a monitor at the site, a ' +
    "limit (`ulimit -a`), or another job that fills the machine's memory",
  'gpu-memory': 'use a smaller batch, or request a larger GPU: `gpu = { memory = "…" }` in [resources]',
  'training-hung': 'if it was working, print something from time to time, or set a longer `quiet_limit`',
  'wrong-output':
    'read what it printed; a shell script that continues after an error also exits with 0: start it with `set -e`',
  'self-test-failed': 'nothing if another machine works; exclude a site that never works with `requirements`',
  'order-invalid': "the run's folder was edited, or the agent has a different version: submit again",
  'slow-slot': 'nothing; `slow_limit = 0` turns it off',
  internal: 'please report it, with the message and the command',
};
