import type { FaultKind } from './kinds.ts';

/** What people want to know of a kind of fault besides what it is. */
export interface KindGuide {
  /** Where and how it is found. */
  found: string;
  /** What its reader can do; the table of causes says it where a cause has the same name. */
  fix?: string;
}

/** For the page of faults; apart from the kinds, so that the agent need not carry it. */
export const guide: Readonly<Record<FaultKind, KindGuide>> = {
  'jobs-failed': {
    found:
      'by `run`, `watch`, `status` and `retry`, when all jobs have ended and some without a valid result',
    fix: '`updraft why` tells the cause of each; `updraft retry` tries the failed ones again',
  },
  usage: {
    found: 'before anything is done',
    fix: 'the message shows the word that is wrong; `updraft COMMAND --help` shows the right ones',
  },
  'file-invalid': {
    found: 'when the job file is read, with its line; by `updraft check`',
    fix: 'fix the line that is named. `updraft check` finds what reading alone cannot',
  },
  'pool-unreachable': {
    found: 'when a command of the scheduler is missing, fails, or has no answer',
    fix: 'see whether you are logged in at the access point and `condor_q` answers; then the same command again',
  },
  interrupted: {
    found: 'Ctrl-C, `updraft stop`, `condor_rm` or `condor_hold`',
    fix: 'the same command goes on where it was; a hold by hand is released with `condor_release`',
  },
  'pool-hold': {
    found: 'in HTCondor’s log: rules of jobs, sites and access points, and codes that are not in the table',
    fix: '`updraft why` shows the words of the rule; when it is satisfied, `condor_release`',
  },
  'memory-exceeded': {
    found: 'by the pool, which ends jobs that use more than they asked for',
  },
  'discovery-failed': {
    found: 'when the federation is looked up, by the self-test before data moves',
    fix: 'check the host in `pelican://HOST/` and UPDRAFT_OSDF_HOST; one machine alone may have no network',
  },
  'director-unreachable': {
    found: 'when the director is asked where an object is, several times over minutes',
    fix: 'wait: the federation’s own service is down. Nothing of yours is wrong',
  },
  'servers-unreachable': {
    found:
      'by the self-test (20 seconds without an answer), or in a transfer when the last server has gone away',
  },
  'token-missing': {
    found: 'by `updraft check`, and when a server asks for a token',
    fix: 'name the file with `token_file`, or set BEARER_TOKEN_FILE',
  },
  'token-refused': {
    found: 'when a server says 401 or 403 to a token that has not expired',
    fix: 'get a token whose scope covers the path, then `updraft retry`',
  },
  'token-expired': {
    found: 'by `updraft check` (also one that would expire too soon), and by the date in the token',
    fix: 'renew the token file: each attempt reads it anew',
  },
  'object-missing': {
    found:
      'by `updraft check`; by the self-test, before anything moves; in a transfer. Caches that say 404 are not believed: the origin is asked',
  },
  'url-invalid': {
    found: 'when the job file is read',
    fix: 'fix it: `osdf:///namespace/object` has three slashes, `pelican://host/namespace/object` a host',
  },
  'object-changed': {
    found: 'when size, ETag or digest is another one in the middle of a transfer',
    fix: 'never replace an object under its name, because caches keep the old one: `updraft stage` puts a hash into the name',
  },
  'transfer-stalled': {
    found:
      'when a server sends nothing for 20 seconds (5 while another delivers), or far too little; others are asked at once',
  },
  'transfer-failed': {
    found:
      'when connections break, or servers answer with errors, more often than the transfer may begin again',
  },
  'data-corrupt': {
    found:
      'by `sha256`, a manifest (chunk by chunk) or the server’s digest, before the training sees a byte; the piece is fetched again from another cache first',
    fix: 'if it stays so everywhere, the published object is not what the job file declares: stage it again',
  },
  'data-wrong': {
    found: 'when a server sends a web page or another object instead of the data',
    fix: 'nothing, if another machine does: some networks answer with a login page',
  },
  'archive-damaged': {
    found: 'while it is unpacked: its checksums, its end, its headers',
    fix: 'declare `sha256` or a manifest, and a damaged delivery is told from a damaged archive; make a damaged one again',
  },
  'archive-kind': {
    found:
      'by the first bytes of an archive; for software also by its format and platform, and by damage in one whose bytes are proven',
    fix: 'make the archive again, or set `unpack`',
  },
  'archive-unsafe': {
    found: 'while it is unpacked: a path or link that leads out of its folder, far too many or too big files',
    fix: 'look into it with `tar -tvf`, and make it again with relative names',
  },
  'data-unexpected': {
    found: 'after unpacking, by the number of files and bytes in `expect`',
    fix: 'if the data is right, fix `expect`; else stage it again',
  },
  'disk-full': {
    found: 'by the self-test, and whenever something is written',
  },
  'scratch-unusable': {
    found: 'when the attempt makes its folder',
    fix: 'nothing, if another machine does; on your own machine, see who may write to the folder that is named',
  },
  'command-missing': {
    found: 'by `updraft check`, which looks into the image; by exit status 126 or 127 of the shell',
  },
  'training-failed': {
    found: 'by the exit status of the training, which passes through',
    fix: '`updraft logs JOB --err`; fix it; `updraft retry --with-new-files`',
  },
  'training-hung': {
    found:
      'when it prints nothing, tells no progress, and neither its processes nor its GPU do anything for `quiet_limit`',
    fix: 'if it was at work, print now and then, or set a longer `quiet_limit`',
  },
  'wrong-output': {
    found:
      'after a training that ended well: an output is missing, empty, older than the attempt, or refused by `check`',
    fix: 'see what it printed: a script that goes on after an error ends well, too. Begin it with `set -e`',
  },
  evicted: {
    found: 'by SIGTERM, by HTCondor’s events, or because nothing was heard of the machine any more',
  },
  'time-limit': {
    found: 'by the agent, a margin before `time` or the pool’s limit, so that it can save',
  },
  'self-test-failed': {
    found: 'by the agent before anything moves: clock, disk, GPU and driver',
    fix: 'nothing, if another machine does; `requirements` keeps all jobs away from a site that never will',
  },
  'environment-broken': {
    found:
      'when software is unpacked or started: an image without gzip and Python, a Python without the modules, a damaged archive',
  },
  'order-invalid': {
    found: 'when the agent reads its order',
    fix: 'the run’s folder was changed by hand, or the agent is of another version: submit again',
  },
  'slow-slot': {
    found:
      'when the first epoch, or the same steps of it, takes more than `slow_limit` times what it took in at least three other attempts',
    fix: 'nothing; `slow_limit = 0` turns it off',
  },
  internal: {
    found: 'where nobody foresaw it',
    fix: 'please report it with the message and the command',
  },
};
