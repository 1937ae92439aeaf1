import type { CodeRow } from './row.ts';

/** Full disks where outputs, logs and streams are written. */
export const quotaWords = ['disk quota exceeded', 'quota exceeded', 'no space left'];
export const accessPointFull = {
  cause: 'access-point-full',
  says: 'Output could not be written on the access point: its disk or your quota there is full.',
} as const;
const tryIt =
  'Try the plugin by hand on one file (`-infile`, `-outfile`), and see that it writes its answer even when it fails.';
const plugin = { codes: [12, 13], cause: 'plugin-failed', answer: 'later' } as const;
const server = { codes: [12, 13], answer: 'later' } as const;
const missingWords = ['not found', 'no such file', 'no such object', 'does not exist'];

/** Transfers: 12 is output, 13 is input. */
export const transfers: readonly CodeRow[] = [
  {
    codes: [12, 13],
    words: ['remote object already exists', 'object already exists', 'upload aborted'],
    cause: 'output-failed',
    fault: 'file-invalid',
    says: 'The destination already has {url|an object of that name}, and objects are never overwritten.',
    advice: 'Give each run’s output a name of its own, or delete the object that is there.',
    outlook: 'lasting',
  },
  { codes: [12], subcodes: [28, 122], ...accessPointFull },
  { codes: [12], words: quotaWords, ...accessPointFull },
  {
    codes: [12],
    subcodes: [2],
    words: ['writing to', 'failed to write'],
    cause: 'output-failed',
    says: 'The access point could not write {file|the output}{errno}.',
    outlook: 'lasting',
  },
  {
    codes: [12],
    subcodes: [2],
    cause: 'output-missing',
    says: 'The program ended without writing {file|a file}, which it was to bring back.',
  },
  {
    codes: [12],
    words: ['writing to file…errno', 'failed to write…errno'],
    cause: 'output-failed',
    answer: 'later',
    says: 'The access point could not write {file|the output}{errno}.',
    outlook: 'lasting',
  },
  {
    codes: [13],
    subcodes: [2],
    words: ['x509up'],
    cause: 'access-refused',
    fault: 'token-missing',
    says: 'The access point was to send your proxy {file|(x509up)}, which is not there.',
    advice:
      'Make a new proxy at the place that x509userproxy names, before the job is submitted or released.',
  },
  {
    codes: [13],
    subcodes: [2],
    cause: 'input-missing',
    says: 'The access point was to send {file|an input file}, which is not there.',
  },
  {
    codes: [13],
    subcodes: [13],
    words: ['reading from'],
    cause: 'file-unusable',
    says: 'The access point may not read {file|an input file}{errno}.',
  },
  {
    codes: [13],
    subcodes: [28, 122],
    cause: 'disk-full',
    answer: 'elsewhere',
    says: 'The disk of the machine was full before all of the input had arrived.',
  },
  {
    codes: [13],
    words: ['no space left'],
    cause: 'disk-full',
    answer: 'elsewhere',
    says: 'The disk of the machine was full before all of the input had arrived.',
  },
  {
    ...plugin,
    words: ['exited (signal #)'],
    says: 'The file-transfer plugin{plugin} was ended by signal {signal|#} before it could answer.',
    advice: tryIt,
  },
  {
    ...plugin,
    subcodes: [-1004],
    says: 'The file-transfer plugin{plugin} ended{exit} without saying what became of the {way|input or output} files.',
    advice: tryIt,
    outlook: 'lasting',
  },
  {
    ...plugin,
    words: ['no valid classads in output'],
    says: 'The file-transfer plugin{plugin} ended{exit} without saying what became of the {way|input or output} files.',
    advice: tryIt,
  },
  {
    ...plugin,
    subcodes: [-1001],
    says: 'The file-transfer plugin{plugin} is not installed on that machine.',
  },
  {
    ...plugin,
    subcodes: [-1002],
    says: 'The file-transfer plugin{plugin} does not work on that machine, or is not allowed there.',
  },
  {
    ...plugin,
    subcodes: [-1003],
    says: 'The file-transfer plugin{plugin} could not be started.',
    advice: tryIt,
  },
  {
    ...plugin,
    subcodes: [62],
    says: 'The file-transfer plugin{plugin} took longer than the pool allows and was ended.',
    advice: 'Use a cache near the machine, or smaller objects.',
  },
  {
    ...server,
    words: [
      'lack of progress',
      'stall',
      'too slow',
      'tooslow',
      'slowtransfer',
      'slow transfer',
      'timed out',
      'time out',
      'timeout',
      'timer expired',
      'no progress',
    ],
    cause: 'transfer-stalled',
    says: 'The transfer of {url|a file} stood still and was given up.',
  },
  {
    ...server,
    words: ['401', '403', 'forbidden', 'unauthorized', 'permission denied', 'authorization', 'token'],
    cause: 'access-refused',
    says: 'The server refuses to {takes|give out} {url|a file} (access denied).',
  },
  {
    codes: [13],
    answer: 'later',
    words: ['404', ...missingWords],
    // The names under which HTCondor keeps checkpoints at a checkpoint_destination.
    url: /\/[^/]+_\d+\.\d+_\d+\/\d{4}\//,
    cause: 'checkpoint-failed',
    says: 'A part of the checkpoint that it had saved is not there any more (404): {url|its URL}.',
    outlook: 'lasting',
  },
  {
    codes: [13],
    answer: 'later',
    words: ['no sources found', 'no caches found', 'no origins found'],
    cause: 'object-missing',
    says: 'The director of the federation knows no server that has {url|a file}.',
    advice: 'Ask who has it now: updraft stat {federated}',
  },
  {
    codes: [13],
    answer: 'later',
    words: ['404'],
    cause: 'object-missing',
    says: 'The server says that {url|a file} is not there (404).',
    advice: 'Ask who has it now: updraft stat {federated}',
  },
  {
    codes: [13],
    answer: 'later',
    words: missingWords,
    url: /./,
    cause: 'object-missing',
    says: 'The server says that {url|a file} is not there (404).',
    advice: 'Ask who has it now: updraft stat {federated}',
  },
  {
    codes: [12],
    answer: 'later',
    words: ['404'],
    cause: 'object-missing',
    says: 'The server says that the place for {url|a file} is not there (404).',
  },
  {
    ...server,
    words: [
      'failed to connect',
      'could not connect',
      "couldn't connect",
      'could not resolve',
      "couldn't resolve",
      'connection refused',
      'connection reset',
      'unreachable',
      'no route',
      'resolve host',
      'no such host',
    ],
    cause: 'servers-unreachable',
    says: 'The server of {url|a file} could not be reached from that machine.',
  },
  {
    ...server,
    words: [
      ...['error 5#', 'error: 5#', '500', '501', '502', '503', '504'],
      'internal server error',
      'bad gateway',
      'service unavailable',
    ],
    cause: 'server-failed',
    says: 'The server failed while it was asked for {url|a file}.',
  },
  {
    codes: [12],
    cause: 'output-failed',
    answer: 'later',
    says: 'The output could not be transferred{details}',
    more: ['The plugin ended with exit code {pluginExit}.'],
    advice: 'Another try, elsewhere, may do.',
  },
  {
    codes: [13],
    cause: 'transfer-failed',
    answer: 'later',
    says: 'The input could not be transferred{details}',
    more: ['The plugin ended with exit code {pluginExit}.'],
  },
];
