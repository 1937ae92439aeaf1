import { defined } from '@updraft/base';
import type { CodeRow } from './row.ts';

/** Full disks where outputs, logs and streams are written. */
export const quotaPhrases = 'quota exceeded|no space left';
export const accessPointFull = {
  cause: 'access-point-full',
  sentence: 'The output could not be written on the access point: disk full or quota exceeded.',
} as const;

const notWritten: Omit<CodeRow, 'codes'> = {
  cause: 'output-failed',
  sentence: 'The access point could not write {file|the output}{errno}.',
  outlook: 'lasting',
};
const outputMissing: Omit<CodeRow, 'codes'> = {
  cause: 'output-missing',
  sentence: 'The program exited without writing {file|a file}, which it should have returned.',
};
const inputMissing: Omit<CodeRow, 'codes'> = {
  cause: 'input-missing',
  sentence: '{file|An input file} does not exist on the access point.',
};
/** HTCondor's words about a file that it read itself, also where the subcode is that of a plugin, or none. */
const readError = (errno: number): string => `reading from…(errno ${errno})`;
const machineFull = {
  cause: 'disk-full',
  answer: 'elsewhere',
  sentence: 'The disk of the machine was full before all input had arrived.',
} as const;

/** Files of the access point, and disks at both ends. */
const files: readonly CodeRow[] = [
  {
    codes: [12, 13],
    phrases: 'object already exists|upload aborted',
    cause: 'output-failed',
    fault: 'file-invalid',
    sentence:
      '{url|An object of that name} already exists at the destination, and objects are never overwritten.',
    advice: "Give each run's output its own name, or delete the existing object.",
    outlook: 'lasting',
  },
  {
    codes: [12],
    phrases: quotaPhrases
      .split('|')
      .map((phrase) => `while sending files to access point…${phrase}`)
      .join('|'),
    ...machineFull,
    sentence: 'The disk of the machine was full when the output was to be returned.',
  },
  { codes: [12], subcodes: [28, 122], ...accessPointFull },
  { codes: [12], phrases: quotaPhrases, ...accessPointFull },
  { codes: [12], subcodes: [2], phrases: 'writing to|failed to write', ...notWritten },
  { codes: [12], subcodes: [2], ...outputMissing },
  { codes: [12], phrases: readError(2), ...outputMissing },
  { codes: [12], phrases: 'writing to file…errno|failed to write…errno', answer: 'later', ...notWritten },
  {
    codes: [13],
    phrases: 'x509up…(errno 2)',
    cause: 'access-refused',
    fault: 'token-missing',
    sentence: 'Your proxy {file|(x509up)} does not exist on the access point.',
    advice: 'Create a new proxy at the path in x509userproxy before you submit or release the job.',
  },
  { codes: [13], subcodes: [2], ...inputMissing },
  { codes: [13], phrases: readError(2), ...inputMissing },
  {
    codes: [13],
    phrases: readError(13),
    cause: 'file-unusable',
    sentence: 'The access point cannot read {file|an input file}{errno}.',
    advice: 'Make the file readable for you, and each directory above it accessible.',
  },
  { codes: [13], subcodes: [28, 122], ...machineFull },
  { codes: [13], phrases: 'no space left', ...machineFull },
];

const tryPluginByHand =
  'Run the plugin by hand on one file (`-infile`, `-outfile`), and check that it writes its result even when it fails.';

/** A failure of the plugin, recognized by subcode or phrases. */
const plugin = (by: Pick<CodeRow, 'subcodes' | 'phrases'>, what: string, advice?: string): CodeRow => ({
  codes: [12, 13],
  ...by,
  cause: 'plugin-failed',
  answer: 'later',
  sentence: `The file-transfer plugin{plugin} ${what}.`,
  ...defined({ advice }),
});

const silent = 'exited{exit} without reporting on the {way|input or output} files';
const plugins: readonly CodeRow[] = [
  plugin(
    { phrases: 'exited (signal #)' },
    'was killed by signal {signal|#} before it reported',
    tryPluginByHand,
  ),
  { ...plugin({ subcodes: [-1004] }, silent, tryPluginByHand), outlook: 'lasting' },
  plugin({ phrases: 'no valid classads in output' }, silent, tryPluginByHand),
  plugin({ subcodes: [-1001] }, 'is not installed on that machine'),
  plugin({ subcodes: [-1002] }, 'does not work on that machine, or is disabled there'),
  plugin({ subcodes: [-1003] }, 'could not be started', tryPluginByHand),
  plugin(
    { subcodes: [62] },
    "exceeded the pool's time limit and was killed",
    'Use a cache near the machine, or smaller objects.',
  ),
];

type Answered = Omit<CodeRow, 'codes' | 'subcodes' | 'answer'>;

const both = (row: Answered): CodeRow => ({ codes: [12, 13], answer: 'later', ...row });
const input = (row: Answered): CodeRow => ({ codes: [13], answer: 'later', ...row });
const output = (row: Answered): CodeRow => ({ codes: [12], answer: 'later', ...row });

const missingPhrases = 'not found|no such file|no such object|does not exist';
const askWhoHasIt = 'See which servers have it: updraft stat {federated}';
const notThere = 'The server answered that {url|a file} does not exist (404).';
const ended = ['The plugin exited with code {pluginExit}.'];

/** Answers of servers in the words of plugins (curl_plugin, Pelican's). */
const servers: readonly CodeRow[] = [
  both({
    phrases:
      'lack of progress|stall|too slow|tooslow|slowtransfer|slow transfer|timed out|time out|timeout|' +
      'timer expired|no progress',
    cause: 'transfer-stalled',
    sentence: 'The transfer of {url|a file} stalled and was ended.',
  }),
  {
    codes: [12, 13],
    phrases: 'asks for a token',
    cause: 'access-refused',
    fault: 'token-missing',
    sentence: '{url|A file} needs a token, and the job has none.',
    advice: 'Set `token_file` in that [data] table of the job file.',
  },
  both({
    phrases: 'the token for…expired at|token has expired|invalid_token',
    cause: 'access-refused',
    fault: 'token-expired',
    sentence: 'The token for {url|a file} has expired.',
    advice: 'Renew the token file: each attempt is sent its current content.',
  }),
  {
    codes: [12, 13],
    phrases: '401|403|forbidden|unauthorized|permission denied|authorization|token',
    cause: 'access-refused',
    sentence: 'The server denied access to {url|a file}.',
  },
  input({
    phrases: `404|${missingPhrases}`,
    // The names under which HTCondor keeps checkpoints at a checkpoint_destination.
    url: /\/[^/]+_\d+\.\d+_\d+\/\d{4}\//,
    cause: 'checkpoint-failed',
    sentence: 'A part of its saved checkpoint no longer exists (404): {url|its URL}.',
    outlook: 'lasting',
  }),
  input({
    phrases: 'no sources found|no caches found|no origins found',
    cause: 'object-missing',
    sentence: 'The director named no server for {url|a file}.',
    advice: askWhoHasIt,
  }),
  input({ phrases: '404', cause: 'object-missing', sentence: notThere, advice: askWhoHasIt }),
  input({
    phrases: missingPhrases,
    url: /./,
    cause: 'object-missing',
    sentence: notThere,
    advice: askWhoHasIt,
  }),
  output({
    phrases: '404',
    cause: 'object-missing',
    sentence: 'The server answered that the destination of {url|a file} does not exist (404).',
  }),
  both({
    phrases:
      "failed to connect|could not connect|couldn't connect|could not resolve|couldn't resolve|" +
      'connection refused|connection reset|unreachable|no route|resolve host|no such host',
    cause: 'servers-unreachable',
    sentence: 'The server of {url|a file} could not be reached from that machine.',
  }),
  both({
    phrases: 'error 5#|error: 5#|500|501|502|503|504|internal server error|bad gateway|service unavailable',
    cause: 'server-failed',
    sentence: 'The server failed on the request for {url|a file}.',
  }),
  output({ cause: 'output-failed', sentence: 'The output could not be transferred{details}', more: ended }),
  input({ cause: 'transfer-failed', sentence: 'The input could not be transferred{details}', more: ended }),
];

/** Transfers: 12 is output, 13 is input. */
export const transfers: readonly CodeRow[] = [...files, ...plugins, ...servers];
