import { printable } from '../base/printable.ts';
import { clip } from '../base/text-table.ts';
import type { Diagnosis } from './causes.ts';

/** What a failed transfer says of itself. */
interface TransferWords {
  reason: string;
  subcode: number | undefined;
}

const noSpace = 28;
const quota = 122;
const pluginTimedOut = 62;

/**
 * Which way the bytes went, by the words first: until 2021 HTCondor gave output the code that input has today. The
 * access point's shadow sends input and receives output; the execution point's starter does the opposite.
 */
export function transferDirection(reason: string, code: number | undefined): 'input' | 'output' | undefined {
  if (/transfer input files failure|SHADOW\b.{0,80}failed to send|STARTER failed to receive/is.test(reason))
    return 'input';
  if (/transfer output files failure|STARTER\b.{0,80}failed to send|SHADOW failed to receive/is.test(reason))
    return 'output';
  if (code === 12) return 'output';
  return code === 13 ? 'input' : undefined;
}

/** Why input did not arrive. */
export function inputDiagnosis(words: TransferWords): Diagnosis {
  const { reason, subcode } = words;
  const file = namedFile(reason);
  const atAccessPoint =
    /at access point|SHADOW\b.{0,80}failed to send/is.test(reason) && namedUrl(reason) === undefined;
  if (atAccessPoint && (subcode === 2 || /errno 2\b|no such file/i.test(reason)))
    return {
      cause: 'input-missing',
      because: [`The access point was to send ${file ?? 'an input file'}, which is not there.`],
      outlook: 'lasting',
      advice: ['Put the file back, or correct its name.'],
      submitAdvice: [
        'Names in transfer_input_files are relative to initialdir (or to the folder of condor_submit).',
      ],
    };
  return pluginDiagnosis(words, 'input') ?? serverDiagnosis(words, 'input') ?? unnamed(words, 'input');
}

/** Why output did not come back. */
export function outputDiagnosis(words: TransferWords): Diagnosis {
  const { reason, subcode } = words;
  const file = namedFile(reason);
  if (subcode === noSpace || subcode === quota || /no space left|quota exceeded/i.test(reason))
    return {
      cause: 'disk-full',
      because: [`The output could not be written on the access point: its disk or your quota is full.`],
      outlook: 'lasting',
      advice: ['Make room there. The job will run again from its start, or from its last checkpoint.'],
    };
  if (/(?:reading|error reading) from/i.test(reason) && /errno 2\b|no such file/i.test(reason))
    return {
      cause: 'output-missing',
      because: [`The program ended without writing ${file ?? 'a file'}, which it was to bring back.`],
      outlook: 'lasting',
      advice: [
        'Read what the program printed: it most likely failed, or it writes under another name or folder.',
      ],
      submitAdvice: [
        'Let the wrapper end with the program’s own exit code, so that a failure is seen as one.',
        'Name in transfer_output_files only what is always written.',
      ],
    };
  if (
    /failed to write|failed to receive/i.test(reason) &&
    /errno/i.test(reason) &&
    namedUrl(reason) === undefined
  )
    return {
      cause: 'output-failed',
      because: [`The access point could not write ${file ?? 'the output'}${errnoWords(reason)}.`],
      outlook: 'lasting',
      advice: ['Check that the folder of the output exists there and is yours to write.'],
    };
  return pluginDiagnosis(words, 'output') ?? serverDiagnosis(words, 'output') ?? unnamed(words, 'output');
}

type Way = 'input' | 'output';

/** A plugin that could not do its work at all. */
function pluginDiagnosis({ reason, subcode }: TransferWords, way: Way): Diagnosis | undefined {
  const plugin = /plugin ["']?([^\s"',;]+)/i.exec(reason)?.[1];
  const named =
    plugin === undefined ? 'The file-transfer plugin' : `The file-transfer plugin ${tail(plugin)}`;
  const diagnosis = (because: string, outlook: Diagnosis['outlook'], advice: string): Diagnosis => ({
    cause: 'plugin-failed',
    because: [because],
    outlook,
    advice: [advice],
  });
  const tryIt =
    'Try the plugin by hand on one file (`-infile`, `-outfile`), and see that it writes its answer even when it fails.';
  const signal = /exited \(signal (\d+)\)/.exec(reason)?.[1];
  if (signal !== undefined)
    return diagnosis(`${named} was ended by signal ${signal} before it could answer.`, 'unclear', tryIt);
  if (subcode === -1004 || /no valid classads in output/i.test(reason)) {
    const exit = /exit code (\d+)/.exec(reason)?.[1];
    const how = exit === undefined ? 'ended' : `ended with exit code ${exit}`;
    return diagnosis(`${named} ${how} without saying what became of the ${way} files.`, 'lasting', tryIt);
  }
  const elsewhere =
    'Ask for machines that have it (HasFileTransferPluginMethods), or send one with the job (transfer_plugins).';
  if (subcode === -1001) return diagnosis(`${named} is not installed on that machine.`, 'unclear', elsewhere);
  if (subcode === -1002)
    return diagnosis(
      `${named} does not work on that machine, or is not allowed there.`,
      'unclear',
      elsewhere,
    );
  if (subcode === -1003) return diagnosis(`${named} could not be started.`, 'unclear', tryIt);
  if (subcode === pluginTimedOut)
    return diagnosis(
      `${named} took longer than the pool allows and was ended.`,
      'unclear',
      'Use a cache near the machine, or smaller objects.',
    );
  return undefined;
}

interface ServerCase {
  cause: Diagnosis['cause'];
  words: RegExp;
  outlook: Diagnosis['outlook'];
  because: (url: string, way: Way) => string;
  advice: string;
}

const stat = (url: string): string => `Ask who has it now: updraft stat ${url}`;

/** What servers answer and what plugins (curl_plugin, Pelican's) make of it. */
const serverCases: ServerCase[] = [
  {
    cause: 'transfer-stalled',
    words: /lack of progress|stall|too ?slow|timed? ?out|no progress|slow.transfer/i,
    outlook: 'passing',
    because: (url) => `The transfer of ${url} stood still and was given up.`,
    advice:
      'Another try, better from another cache, usually works; a fetch that resumes loses nothing (updraft get, method = "stream").',
  },
  {
    cause: 'access-refused',
    words: /\b40[13]\b|forbidden|unauthorized|permission denied|authorization|token/i,
    outlook: 'lasting',
    because: (url, way) =>
      `The server refuses to ${way === 'input' ? 'give out' : 'take'} ${url} (access denied).`,
    advice: 'Check that the token is there, not expired, and covers this path.',
  },
  {
    cause: 'object-missing',
    words: /\b404\b|not found|no such (?:file|object)|does not exist/i,
    outlook: 'unclear',
    because: (url, way) =>
      way === 'input'
        ? `The server says that ${url} is not there (404).`
        : `The server says that the place for ${url} is not there (404).`,
    advice: 'If the URL is right, try again: caches have answered 404 in bursts for objects that are there.',
  },
  {
    cause: 'servers-unreachable',
    words:
      /failed to connect|could ?n[o']t (?:connect|resolve)|connection (?:refused|reset)|unreachable|no route|resolve host|no such host/i,
    outlook: 'passing',
    because: (url) => `The server of ${url} could not be reached from that machine.`,
    advice: 'If the host is right, the machine has no network to it: try again elsewhere.',
  },
  {
    cause: 'server-failed',
    words: /error:? 5\d\d|\b50[0-4]\b|internal server error|bad gateway|service unavailable/i,
    outlook: 'passing',
    because: (url) => `The server failed while it was asked for ${url}.`,
    advice: 'Try again later, or from another cache.',
  },
];

function serverDiagnosis({ reason }: TransferWords, way: Way): Diagnosis | undefined {
  const url = namedUrl(reason);
  const details = reason.replace(/^.*?details:/is, '').replace(/\(? ?URL file = [^)]*\)?/gi, '');
  const found = serverCases.find(({ words }) => words.test(details));
  if (found === undefined || (url === undefined && found.cause === 'object-missing' && !/404/.test(details)))
    return undefined;
  const { cause, outlook, because, advice } = found;
  const isFederated = url !== undefined && /^(?:osdf|pelican|https?|stash):/.test(url);
  return {
    cause,
    because: [because(url ?? 'a file', way)],
    outlook,
    advice: [...(isFederated && way === 'input' && cause === 'object-missing' ? [stat(url)] : []), advice],
  };
}

function unnamed({ reason, subcode }: TransferWords, way: Way): Diagnosis {
  const words = /details:\s*(.*)$/is.exec(reason)?.[1] ?? reason;
  const exit = subcode !== undefined && subcode >= 256 && subcode % 256 === 0 ? subcode / 256 : undefined;
  return {
    cause: way === 'input' ? 'transfer-failed' : 'output-failed',
    because: [
      `The ${way} could not be transferred${words.trim() === '' ? ', and no reason is given' : `: ${short(words)}`}`,
      ...(exit === undefined ? [] : [`The plugin ended with exit code ${exit}.`]),
    ],
    outlook: 'unclear',
    advice: ['Another try, elsewhere, may do; if it fails the same way, the words above name what to mend.'],
  };
}

/** The object's URL, as plugins give it. */
function namedUrl(reason: string): string | undefined {
  const url =
    /URL file = (\S+)/i.exec(reason)?.[1] ??
    /\b((?:osdf|pelican|https?|stash|ftp):\/\/[^\s)'"|,;]+)/i.exec(reason)?.[1];
  return url === undefined ? undefined : short(url);
}

/** The file a transfer could not read or write. */
function namedFile(reason: string): string | undefined {
  const file =
    /(?:reading from(?: file)?|failed to write to file|sending file) (.+?)(?:: \(?errno|: max|:? \(errno|$)/is.exec(
      reason,
    )?.[1];
  return file === undefined ? undefined : short(file.replace(/^.*\/(?:dir_\d+)\/(?:scratch\/)?/, ''));
}

function errnoWords(reason: string): string {
  const said = /errno \d+\)\s*([^;|]+)/i.exec(reason)?.[1];
  return said === undefined ? '' : ` (${short(said)})`;
}

const tail = (file: string): string => short(file.split('/').at(-1) ?? file);
const short = (words: string): string => clip(printable(words.replaceAll('|', ' ')).trim(), 300);
