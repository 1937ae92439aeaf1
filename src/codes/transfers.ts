import type { CodeRow } from './row.ts';

/** Full disks where outputs, logs and streams are written. */
export const quotaWords = 'quota exceeded|no space left';
export const accessPointFull = {
  cause: 'access-point-full',
  says: 'The output could not be written on the access point: disk full or quota exceeded.',
} as const;

const notWritten: Omit<CodeRow, 'codes'> = {
  cause: 'output-failed',
  says: 'The access point could not write {file|the output}{errno}.',
  outlook: 'lasting',
};
const machineFull = {
  cause: 'disk-full',
  answer: 'elsewhere',
  says: 'The disk of the machine was full before all input had arrived.',
} as const;

/** Files of the access point, and disks at both ends. */
const files: readonly CodeRow[] = [
  {
    codes: [12, 13],
    words: 'object already exists|upload aborted',
    cause: 'output-failed',
    fault: 'file-invalid',
    says: '{url|An object of that name} already exists at the destination, and objects are never overwritten.',
    advice: 'Give each run’s output its own name, or delete the existing object.',
    outlook: 'lasting',
  },
  { codes: [12], subcodes: [28, 122], ...accessPointFull },
  { codes: [12], words: quotaWords, ...accessPointFull },
  { codes: [12], subcodes: [2], words: 'writing to|failed to write', ...notWritten },
  {
    codes: [12],
    subcodes: [2],
    cause: 'output-missing',
    says: 'The program exited without writing {file|a file}, which it should have returned.',
  },
  { codes: [12], words: 'writing to file…errno|failed to write…errno', answer: 'later', ...notWritten },
  {
    codes: [13],
    subcodes: [2],
    words: 'x509up',
    cause: 'access-refused',
    fault: 'token-missing',
    says: 'Your proxy {file|(x509up)} does not exist on the access point.',
    advice: 'Create a new proxy at the path in x509userproxy before you submit or release the job.',
  },
  {
    codes: [13],
    subcodes: [2],
    cause: 'input-missing',
    says: '{file|An input file} does not exist on the access point.',
  },
  {
    codes: [13],
    subcodes: [13],
    words: 'reading from',
    cause: 'file-unusable',
    says: 'The access point cannot read {file|an input file}{errno}.',
  },
  { codes: [13], subcodes: [28, 122], ...machineFull },
  { codes: [13], words: 'no space left', ...machineFull },
];

const tryIt =
  'Run the plugin by hand on one file (`-infile`, `-outfile`), and check that it writes its result even when it fails.';

/** A plugin of which this became, by its subcode or by words. */
const plugin = (by: Pick<CodeRow, 'subcodes' | 'words'>, what: string, advice?: string): CodeRow => ({
  codes: [12, 13],
  ...by,
  cause: 'plugin-failed',
  answer: 'later',
  says: `The file-transfer plugin{plugin} ${what}.`,
  ...(advice === undefined ? {} : { advice }),
});

const silent = 'exited{exit} without reporting on the {way|input or output} files';
const plugins: readonly CodeRow[] = [
  plugin({ words: 'exited (signal #)' }, 'was killed by signal {signal|#} before it reported', tryIt),
  { ...plugin({ subcodes: [-1004] }, silent, tryIt), outlook: 'lasting' },
  plugin({ words: 'no valid classads in output' }, silent, tryIt),
  plugin({ subcodes: [-1001] }, 'is not installed on that machine'),
  plugin({ subcodes: [-1002] }, 'does not work on that machine, or is disabled there'),
  plugin({ subcodes: [-1003] }, 'could not be started', tryIt),
  plugin(
    { subcodes: [62] },
    'exceeded the pool’s time limit and was killed',
    'Use a cache near the machine, or smaller objects.',
  ),
];

type Answered = Omit<CodeRow, 'codes' | 'subcodes' | 'answer'>;

const both = (row: Answered): CodeRow => ({ codes: [12, 13], answer: 'later', ...row });
const input = (row: Answered): CodeRow => ({ codes: [13], answer: 'later', ...row });
const output = (row: Answered): CodeRow => ({ codes: [12], answer: 'later', ...row });

const missingWords = 'not found|no such file|no such object|does not exist';
const whoHasIt = 'See which servers have it: updraft stat {federated}';
const notThere = 'The server answered that {url|a file} does not exist (404).';
const ended = ['The plugin exited with code {pluginExit}.'];

/** What servers answer, and what plugins (curl_plugin, Pelican's) make of it. */
const servers: readonly CodeRow[] = [
  both({
    words:
      'lack of progress|stall|too slow|tooslow|slowtransfer|slow transfer|timed out|time out|timeout|timer expired|no progress',
    cause: 'transfer-stalled',
    says: 'The transfer of {url|a file} stalled and was ended.',
  }),
  {
    codes: [12, 13],
    words: 'asks for a token',
    cause: 'access-refused',
    fault: 'token-missing',
    says: '{url|A file} needs a token, and the job has none.',
    advice: 'Set `token_file` in that [data] table of the job file.',
  },
  both({
    words: 'the token for…expired at',
    cause: 'access-refused',
    fault: 'token-expired',
    says: 'The token for {url|a file} has expired.',
    advice: 'Renew the token file: each attempt is sent its current content.',
  }),
  {
    codes: [12, 13],
    words: '401|403|forbidden|unauthorized|permission denied|authorization|token',
    cause: 'access-refused',
    says: 'The server denied access to {url|a file}.',
  },
  input({
    words: `404|${missingWords}`,
    // The names under which HTCondor keeps checkpoints at a checkpoint_destination.
    url: /\/[^/]+_\d+\.\d+_\d+\/\d{4}\//,
    cause: 'checkpoint-failed',
    says: 'A part of its saved checkpoint no longer exists (404): {url|its URL}.',
    outlook: 'lasting',
  }),
  input({
    words: 'no sources found|no caches found|no origins found',
    cause: 'object-missing',
    says: 'The director named no server for {url|a file}.',
    advice: whoHasIt,
  }),
  input({ words: '404', cause: 'object-missing', says: notThere, advice: whoHasIt }),
  input({ words: missingWords, url: /./, cause: 'object-missing', says: notThere, advice: whoHasIt }),
  output({
    words: '404',
    cause: 'object-missing',
    says: 'The server answered that the destination of {url|a file} does not exist (404).',
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
    says: 'The server failed on the request for {url|a file}.',
  }),
  output({ cause: 'output-failed', says: 'The output could not be transferred{details}', more: ended }),
  input({ cause: 'transfer-failed', says: 'The input could not be transferred{details}', more: ended }),
];

/** Transfers: 12 is output, 13 is input. */
export const transfers: readonly CodeRow[] = [...files, ...plugins, ...servers];
