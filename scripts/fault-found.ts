import type { FaultKind } from '../src/fault/kinds.ts';
import { defaultTransferLimits, stallSeconds } from '../src/transfer/limits.ts';

const [alone, beside] = [false, true].map((isBeside) => stallSeconds(defaultTransferLimits, isBeside));

/** Where and how each kind of fault is found, for the page of faults. */
export const found: Readonly<Record<FaultKind, string>> = {
  'jobs-failed':
    'by `run`, `watch`, `status` and `retry`, when all jobs have ended and some without a valid result',
  usage: 'before anything is done',
  'file-invalid': 'when the job file is read, with its line; by `updraft check`',
  'pool-unreachable': 'when a command of the scheduler is missing, fails, or has no answer',
  interrupted: 'Ctrl-C, `updraft stop`, `condor_rm` or `condor_hold`',
  'pool-hold':
    'in HTCondor’s log: rules of jobs, sites and access points, and codes that are not in the table',
  'memory-exceeded':
    'by the pool, which ends jobs that use more than they asked for; by the agent when a training dies: its cgroup’s count of kills for memory, the kernel’s log, what it had taken of what it asked for, its last lines (`MemoryError`, `Cannot allocate memory`)',
  'training-killed':
    'by the agent: signal 9, 15, 1 or 2, or a status like 137, that neither it nor the pool sent; with what memory the training and the machine had then',
  'gpu-memory': 'by the agent, in the last lines of the training (`CUDA out of memory`)',
  'discovery-failed': 'when the federation is looked up, by the self-test before data moves',
  'director-unreachable': 'when the director is asked where an object is, several times over minutes',
  'servers-unreachable':
    'by the self-test (20 seconds without an answer), or in a transfer when the last server has gone away',
  'token-missing': 'by `updraft check`, and when a server asks for a token',
  'token-refused': 'when a server says 401 or 403 to a token that has not expired',
  'token-expired': 'by `updraft check` (also one that would expire too soon), and by the date in the token',
  'object-missing':
    'by `updraft check`; by the self-test, before anything moves; in a transfer. Caches that say 404 are not believed: the origin is asked',
  'url-invalid': 'when the job file is read',
  'object-changed': 'when size, ETag or digest is another one in the middle of a transfer',
  'transfer-stalled': `when a server sends nothing for ${alone} seconds (${beside} while another delivers), or far too little; others are asked at once`,
  'transfer-failed':
    'when connections break, or servers answer with errors, more often than the transfer may begin again',
  'data-corrupt':
    'by `sha256`, a manifest (chunk by chunk) or the server’s digest, before the training sees a byte; the piece is fetched again from another cache first',
  'data-wrong': 'when a server sends a web page or another object instead of the data',
  'archive-damaged': 'while it is unpacked: its checksums, its end, its headers',
  'archive-kind':
    'by the first bytes of an archive; for software also by its format and platform, and by damage in one whose bytes are proven',
  'archive-unsafe':
    'while it is unpacked: a path or link that leads out of its folder, far too many or too big files',
  'data-unexpected': 'after unpacking, by the number of files and bytes in `expect`',
  'disk-full':
    'by the self-test, whenever something is written, and when a training ends with an error: its last lines (`No space left on device`, `Disk quota exceeded`), and the room in its scratch folder and beside its logs',
  'scratch-unusable': 'when the attempt makes its folder',
  'command-missing': 'by `updraft check`, which looks into the image; by exit status 126 or 127 of the shell',
  'training-failed': 'by the exit status of the training, which passes through',
  'training-hung':
    'when it prints nothing, tells no progress, and neither its processes nor its GPU do anything for `quiet_limit`',
  'wrong-output':
    'after a training that ended well: an output is missing, empty, older than the attempt, or refused by `check`',
  evicted: 'by SIGTERM, by HTCondor’s events, or because nothing was heard of the machine any more',
  'time-limit': 'by the agent, a margin before `time` or the pool’s limit, so that it can save',
  'self-test-failed': 'by the agent before anything moves: clock, disk, GPU and driver',
  'environment-broken':
    'when software is unpacked or started: an image without gzip and Python, a Python without the modules, a damaged archive',
  'order-invalid': 'when the agent reads its order',
  'slow-slot':
    'when the first epoch, or the same steps of it, takes more than `slow_limit` times what it took in at least three other attempts',
  internal: 'where nobody foresaw it',
};
