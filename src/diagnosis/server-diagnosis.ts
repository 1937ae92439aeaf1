import { shellQuote } from '../base/shell-quote.ts';
import type { Diagnosis } from './diagnosis.ts';
import { namedUrl, type TransferWords, type Way } from './transfer-words.ts';

interface ServerCase {
  cause: Diagnosis['cause'];
  words: RegExp;
  outlook: Diagnosis['outlook'];
  because: (url: string, way: Way) => string;
  advice: string;
}

const stat = (url: string): string => `Ask who has it now: updraft stat ${shellQuote(url)}`;

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

/** The names under which HTCondor keeps checkpoints of a job at a `checkpoint_destination`. */
const checkpointName = /\/[^/]+_\d+\.\d+_\d+\/\d{4}\//;

/** A part of the job's own checkpoint: no data set of the user's, and no cache that may have it tomorrow. */
const lostCheckpoint = (url: string): Diagnosis => ({
  cause: 'checkpoint-failed',
  because: [`A part of the checkpoint that it had saved is not there any more (404): ${url}.`],
  outlook: 'lasting',
  advice: [
    'See whether checkpoint_destination keeps every file that is put there; without it, submit it again.',
  ],
});

/** What a server's answer, or its silence, means; undefined where the words tell of none. */
export function serverDiagnosis({ reason }: TransferWords, way: Way): Diagnosis | undefined {
  const url = namedUrl(reason);
  const details = reason.replace(/^.*?details:/is, '').replace(/\(? ?URL file = [^)]*\)?/gi, '');
  const found = serverCases.find(({ words }) => words.test(details));
  if (found === undefined || (url === undefined && found.cause === 'object-missing' && !/404/.test(details)))
    return undefined;
  const { cause, outlook, because, advice } = found;
  if (cause === 'object-missing' && url !== undefined && checkpointName.test(url)) return lostCheckpoint(url);
  const isFederated = url !== undefined && /^(?:osdf|pelican|https?|stash):/.test(url);
  return {
    cause,
    because: [because(url ?? 'a file', way)],
    outlook,
    advice: [...(isFederated && way === 'input' && cause === 'object-missing' ? [stat(url)] : []), advice],
  };
}
