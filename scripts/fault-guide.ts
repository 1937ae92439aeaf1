import type { FaultKind } from '../src/fault/kinds.ts';
import { defaultPolicy, stallSeconds } from '../src/transfer/policy.ts';

/** What people want to know of a kind of fault besides what it is. */
export interface KindGuide {
  /** Where and how it is found. */
  found: string;
  /** What its reader can do. */
  fix: string;
}

const [alone, beside] = [false, true].map((isBeside) => stallSeconds(defaultPolicy, isBeside));

/** What the page of faults says beside the table of kinds. */
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
    found:
      'when the job file is read, with its line; by `updraft check`; from HTCondor’s hold codes 13/2, 14, 22 and 32',
    fix: 'mend the line that is named. `updraft check` finds what reading alone cannot',
  },
  'pool-unreachable': {
    found: 'when a command of the scheduler is missing, fails, or has no answer',
    fix: 'see whether you are logged in at the access point and `condor_q` answers; then the same command again',
  },
  interrupted: {
    found: 'Ctrl-C, `updraft stop`, `condor_rm` or `condor_hold`',
    fix: 'the same command goes on where it was; a hold by hand is released with `condor_release`',
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
    fix: 'nothing, if other machines do; `updraft check` asks each server from where you are',
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
    fix: 'put the object there, or mend the URL. Jobs that are held for it go on by themselves',
  },
  'url-invalid': {
    found: 'when the job file is read',
    fix: 'mend it: `osdf:///namespace/object` has three slashes, `pelican://host/namespace/object` a host',
  },
  'object-changed': {
    found: 'when size, ETag or digest is another one in the middle of a transfer',
    fix: 'never replace an object under its name, because caches keep the old one: `updraft stage` puts a hash into the name',
  },
  'transfer-stalled': {
    found: `when a server sends nothing for ${alone} seconds (${beside} while another delivers), or far too little; others are asked at once`,
    fix: 'nothing, if it passes. If it does not, `updraft report` shows which sites and caches stall',
  },
  'transfer-failed': {
    found:
      'when connections break, or servers answer with errors, more often than the transfer may begin again; from HTCondor’s hold codes 12, 13 and 36',
    fix: 'nothing, if it passes; `updraft why` shows the servers and what they said',
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
    fix: 'if the data is right, mend `expect`; else stage it again',
  },
  'disk-full': {
    found: 'by the self-test, and whenever something is written',
    fix: 'ask for more `disk` in [resources]; `disk_max` in [recovery] says how far it may grow by itself',
  },
  'scratch-unusable': {
    found: 'when the attempt makes its folder',
    fix: 'nothing, if another machine does; on your own machine, see who may write to the folder that is named',
  },
  'command-missing': {
    found: 'by `updraft check`, which looks into the image; by exit status 126 or 127 of the shell',
    fix: 'send the program along in `files`, or use an image that has it',
  },
  'training-failed': {
    found: 'by the exit status of the training, which passes through',
    fix: '`updraft logs JOB --err`; mend it; `updraft retry --with-new-files`',
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
    fix: 'name a `checkpoint`: the next attempt goes on from it',
  },
  'time-limit': {
    found:
      'by the agent, a margin before `time` or the pool’s limit, so that it can save; from HTCondor’s hold codes 46 and 47',
    fix: 'name a `checkpoint`, and it goes on as often as it takes; or ask for more `time`',
  },
  'self-test-failed': {
    found: 'by the agent before anything moves: clock, disk, GPU and driver',
    fix: 'nothing, if another machine does; `requirements` keeps all jobs away from a site that never will',
  },
  'environment-broken': {
    found:
      'when software is unpacked or started: an image without gzip and Python, a Python without the modules, a damaged archive; from HTCondor’s hold codes 6, 35 and 45',
    fix: '`updraft check` looks into the image before anything is queued; make the image or archive again',
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
