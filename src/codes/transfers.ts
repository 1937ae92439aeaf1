import type { CodeRow } from './row.ts';

/** Full disks where outputs, logs and streams are written. */
export const quotaWords = 'quota exceeded|no space left';
export const accessPointFull = {
  cause: 'access-point-full',
  says: 'Output could not be written on the access point: its disk or your quota there is full.',
} as const;

const notWritten: Omit<CodeRow, 'codes'> = {
  cause: 'output-failed',
  says: 'The access point could not write {file|the output}{errno}.',
  outlook: 'lasting',
};
const machineFull = {
  cause: 'disk-full',
  answer: 'elsewhere',
  says: 'The disk of the machine was full before all of the input had arrived.',
} as const;

/** Files of the access point, and disks at both ends. */
const files: readonly CodeRow[] = [
  {
    codes: [12, 13],
    words: 'object already exists|upload aborted',
    cause: 'output-failed',
    fault: 'file-invalid',
    says: 'The destination already has {url|an object of that name}, and objects are never overwritten.',
    advice: 'Give each run’s output a name of its own, or delete the object that is there.',
    outlook: 'lasting',
  },
  { codes: [12], subcodes: [28, 122], ...accessPointFull },
  { codes: [12], words: quotaWords, ...accessPointFull },
  { codes: [12], subcodes: [2], words: 'writing to|failed to write', ...notWritten },
  {
    codes: [12],
    subcodes: [2],
    cause: 'output-missing',
    says: 'The program ended without writing {file|a file}, which it was to bring back.',
  },
  { codes: [12], words: 'writing to file…errno|failed to write…errno', answer: 'later', ...notWritten },
  {
    codes: [13],
    subcodes: [2],
    words: 'x509up',
    cause: 'access-refused',
    fault: 'token-missing',
    says: 'The access point was to send your proxy {file|(x509up)}, which is not there.',
    advice: 'Make a new proxy where x509userproxy names it, before the job is submitted or released.',
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
    words: 'reading from',
    cause: 'file-unusable',
    says: 'The access point may not read {file|an input file}{errno}.',
  },
  { codes: [13], subcodes: [28, 122], ...machineFull },
  { codes: [13], words: 'no space left', ...machineFull },
];

const tryIt =
  'Try the plugin by hand on one file (`-infile`, `-outfile`), and see that it writes its answer even when it fails.';

/** A plugin of which this became, by its subcode or by words. */
const plugin = (by: Pick<CodeRow, 'subcodes' | 'words'>, what: string, advice?: string): CodeRow => ({
  codes: [12, 13],
  ...by,
  cause: 'plugin-failed',
  answer: 'later',
  says: `The file-transfer plugin{plugin} ${what}.`,
  ...(advice === undefined ? {} : { advice }),
});

const silent = 'ended{exit} without saying what became of the {way|input or output} files';
const plugins: readonly CodeRow[] = [
  plugin({ words: 'exited (signal #)' }, 'was ended by signal {signal|#} before it could answer', tryIt),
  { ...plugin({ subcodes: [-1004] }, silent, tryIt), outlook: 'lasting' },
  plugin({ words: 'no valid classads in output' }, silent, tryIt),
  plugin({ subcodes: [-1001] }, 'is not installed on that machine'),
  plugin({ subcodes: [-1002] }, 'does not work on that machine, or is not allowed there'),
  plugin({ subcodes: [-1003] }, 'could not be started', tryIt),
  plugin(
    { subcodes: [62] },
    'took longer than the pool allows and was ended',
    'Use a cache near the machine, or smaller objects.',
  ),
];

type Answered = Omit<CodeRow, 'codes' | 'subcodes' | 'answer'>;

const both = (row: Answered): CodeRow => ({ codes: [12, 13], answer: 'later', ...row });
const input = (row: Answered): CodeRow => ({ codes: [13], answer: 'later', ...row });
const output = (row: Answered): CodeRow => ({ codes: [12], answer: 'later', ...row });

const missingWords = 'not found|no such file|no such object|does not exist';
const whoHasIt = 'Ask who has it now: updraft stat {federated}';
const notThere = 'The server says that {url|a file} is not there (404).';
const ended = ['The plugin ended with exit code {pluginExit}.'];

/** What servers answer, and what plugins (curl_plugin, Pelican's) make of it. */
const servers: readonly CodeRow[] = [
  both({
    words:
      'lack of progress|stall|too slow|tooslow|slowtransfer|slow transfer|timed out|time out|timeout|timer expired|no progress',
    cause: 'transfer-stalled',
    says: 'The transfer of {url|a file} stood still and was given up.',
  }),
  {
    codes: [12, 13],
    words: 'asks for a token',
    cause: 'access-refused',
    fault: 'token-missing',
    says: 'It needs a token for {url|a file}, and the job has none.',
    advice: 'Name the file of the token in the job file: `token_file` of that [data] table.',
  },
  both({
    words: 'the token for…expired at',
    cause: 'access-refused',
    fault: 'token-expired',
    says: 'The token for {url|a file} has expired.',
    advice: 'Renew the file of the token: each attempt is sent what it holds then.',
  }),
  {
    codes: [12, 13],
    words: '401|403|forbidden|unauthorized|permission denied|authorization|token',
    cause: 'access-refused',
    says: 'The server refuses to {takes|give out} {url|a file} (access denied).',
  },
  input({
    words: `404|${missingWords}`,
    // The names under which HTCondor keeps checkpoints at a checkpoint_destination.
    url: /\/[^/]+_\d+\.\d+_\d+\/\d{4}\//,
    cause: 'checkpoint-failed',
    says: 'A part of the checkpoint that it had saved is not there any more (404): {url|its URL}.',
    outlook: 'lasting',
  }),
  input({
    words: 'no sources found|no caches found|no origins found',
    cause: 'object-missing',
    says: 'The director of the federation knows no server that has {url|a file}.',
    advice: whoHasIt,
  }),
  input({ words: '404', cause: 'object-missing', says: notThere, advice: whoHasIt }),
  input({ words: missingWords, url: /./, cause: 'object-missing', says: notThere, advice: whoHasIt }),
  output({
    words: '404',
    cause: 'object-missing',
    says: 'The server says that the place for {url|a file} is not there (404).',
  }),
  both({
    words:
      "failed to connect|could not connect|couldn't connect|could not resolve|couldn't resolve|connection refused|connection reset|unreachable|no route|resolve host|no such host",
    cause: 'servers-unreachable',
    says: 'The server of {url|a file} could not be reached from that machine.',
  }),
  both({
    words: 'error 5#|error: 5#|500|501|502|503|504|internal server error|bad gateway|service unavailable',
    cause: 'server-failed',
    says: 'The server failed while it was asked for {url|a file}.',
  }),
  output({ cause: 'output-failed', says: 'The output could not be transferred{details}', more: ended }),
  input({ cause: 'transfer-failed', says: 'The input could not be transferred{details}', more: ended }),
];

/** Transfers: 12 is output, 13 is input. */
export const transfers: readonly CodeRow[] = [...files, ...plugins, ...servers];
