import type { FaultKind } from '@updraft/account/fault';
import { defaultTransferLimits, stallSeconds } from '@updraft/pelican/limits';

const [alone, beside] = [false, true].map((isBeside) => stallSeconds(defaultTransferLimits, isBeside));

/** Where and how each kind of fault is found, for docs/faults.md. */
export const found: Readonly<Record<FaultKind, string>> = {
  'jobs-failed':
    'by `run`, `watch`, `status` and `retry`, when all jobs have ended and some without a valid result',
  usage: 'before anything is done',
  'file-invalid': 'when the job file is read, with its line; by `updraft check`',
  'pool-unreachable': 'when a command of the scheduler is missing, fails, or has no answer',
  interrupted: 'Ctrl-C, `updraft stop`, `condor_rm` or `condor_hold`',
  'pool-hold':
    "in HTCondor's log: rules of jobs, sites and access points, and codes that are not in the table",
  'memory-exceeded':
    "by the pool, which ends jobs that use more than they requested; by the agent when a training dies: the OOM kill count of its cgroup, the kernel's log, its memory use compared with its request, its last lines (`MemoryError`, `Cannot allocate memory`)",
  'training-killed':
    'by the agent: signal 9, 15, 1 or 2, or a status like 137, that neither it nor the pool sent; with the memory use of the training and the machine at that time',
  'gpu-memory': 'by the agent, in the last lines of the training (`CUDA out of memory`)',
  'expect-wrong':
    'when two servers send the same bytes, or the only one sends them twice, and `sha256`, `expect` or a manifest says otherwise; by the agent, when a file from the access point, or a verified list of shards, has other files than `expect` says',
  'discovery-failed': 'when the federation is looked up, by the self-test or a transfer',
  'director-unreachable':
    'when the director does not say where an object is, after several tries over minutes',
  'servers-unreachable':
    'by the self-test (20 seconds without an answer), or in a transfer when no server is left',
  'token-missing': 'by `updraft check`, and when a server asks for a token',
  'token-refused': 'when a server answers 401 or 403 to a token, and does not say that the token has ended',
  'token-expired':
    'by `updraft check` (also one that would expire too soon), by the date in the token, and when servers say that it has expired or was revoked',
  'object-missing':
    'by `updraft check`; by the self-test; in a transfer. A 404 from a cache is not enough: the origin is asked',
  'url-invalid': 'when the job file is read',
  'object-changed': 'when size, ETag or digest changes during a transfer',
  'transfer-stalled': `when a server sends nothing for ${alone} seconds (${beside} while another delivers), or far too little; others are asked at once`,
  'transfer-failed':
    'when connections break, or servers answer with errors, more often than the transfer may be retried',
  'data-corrupt':
    "by `sha256`, a manifest (chunk by chunk) or the server's digest, before the training sees a byte; the piece is fetched again from another cache first",
  'data-wrong': 'when a server sends a web page or another object instead of the data',
  'archive-damaged': 'during unpacking: its checksums, its end, its headers',
  'archive-kind':
    'by the first bytes of an archive; for software also by its format and platform, and by damage in one whose bytes are verified',
  'archive-unsafe':
    'during unpacking: a path or link that leads out of its folder, far too many or too big files',
  'data-unexpected': 'after unpacking, by the number of files and bytes in `expect`',
  'disk-full':
    'by the self-test, at every write, and when a training ends with an error: its last lines (`No space left on device`, `Disk quota exceeded`), and the free space of its scratch folder and its logs',
  'run-folder-full':
    "when an attempt starts, writes its logs or returns its results to the run's folder, on this machine or a shared disk; no further attempt is started",
  'scratch-unusable': 'when the attempt creates its folder',
  'command-missing': 'by `updraft check`, which inspects the image; by exit code 126 or 127 of the shell',
  'training-failed': 'by the exit code of the training, which passes through',
  'training-hung':
    'when it prints nothing, reports no progress, and neither its processes nor its GPU do anything for `quiet_limit`, or its GPU is idle for `idle_limit` although it prints',
  'wrong-output':
    'after a training with exit code 0: an output is missing, empty, older than the attempt, or refused by `check`',
  evicted: "by SIGTERM, by HTCondor's events, or because the machine stopped answering",
  'time-limit': "by the agent, a margin before `time` or the pool's limit, so that it can save",
  'self-test-failed': 'by the agent, beside the first transfers: disk, GPU and driver',
  'environment-broken':
    'when software is unpacked or started: an image without gzip and Python, a Python without the modules, a damaged archive',
  'order-invalid': 'when the agent reads its work order',
  'slow-slot':
    'when the first epoch, or the same steps of it, takes more than `slow_limit` times what it took in at least three other attempts',
  internal: 'anywhere: a bug in Updraft',
};
