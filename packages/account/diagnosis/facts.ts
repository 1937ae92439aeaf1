import { afterExceeding, clip, printable, shellQuote } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import { transferDirection } from '../codes/codes.ts';
import { isEmpty, namedUrl, type ReportedReason } from '../codes/row.ts';
import type { Resource } from '@updraft/htcondor/eventlog';
import { safeLine } from './quote-event.ts';

/** Values for the placeholders in the table of codes: figures, files and words of one account. */
type Facts = Record<string, string | number | undefined>;

/** The sentence with its placeholders filled in; undefined if a value is unknown and has no default. */
export function fill(sentence: string, facts: Facts): string | undefined {
  const names = /\{(\w+)(?:\|([^}]*))?\}/g;
  for (const [, name = '', otherwise] of sentence.matchAll(names))
    if ((facts[name] ?? otherwise) === undefined) return undefined;
  return sentence
    .replaceAll(names, (_, name: string, otherwise?: string) => String(facts[name] ?? otherwise))
    .replace(/([.!?])\.$/, '$1');
}

/** HTCondor's words as the end of a sentence. */
export const afterColon = (reason: string): string => (isEmpty(reason) ? '' : `: ${safeLine(reason)}`);

/** What an account says, by the names of the placeholders. */
export function factsOf(said: ReportedReason & { resources: readonly Resource[] }, seenMb: number): Facts {
  const { code, subcode, reason } = said;
  return {
    words: afterColon(reason),
    subcode: subcode ?? 0,
    stalled: /stalled for (\d+) seconds/i.exec(reason)?.[1],
    limit: limitOf(reason),
    sizes: sizesOf(reason),
    ...startFacts(reason),
    ...memoryFacts(said, seenMb),
    ...transferFacts(transferDirection(code, reason) ?? 'input', subcode, reason),
  };
}

function startFacts(reason: string): Facts {
  const program = /execute '([^']+)'/.exec(reason)?.[1]?.replace(/^.*\/dir_\d+\/(?:scratch\/)?/, '');
  const interpreter = /invalid interpreter \(([^)]*)\)/.exec(reason)?.[1];
  const image = /\b((?:docker|oras|osdf|pelican|library|https?):\/\/[^\s'",]+?)(?::?\s|["',]|$)/.exec(
    reason,
  )?.[1];
  const tool = reason.replace(/^.*?(?:test failed:|container:)\s*/is, '').trim();
  return {
    program: after(program),
    interpreter: interpreter && safeLine(interpreter),
    image: after(image),
    tool: tool === '' ? undefined : safeLine(tool),
  };
}

/** ` name`, to follow what it names. */
const after = (name: string | undefined): string => (name === undefined ? '' : ` ${safeLine(name)}`);

/** How much memory was requested and used, in MB, if the reason says so; Docker's names only the limit. */
export function parseMemory(reason: string): { asked: number; used: number } | undefined {
  const [, asked, used = 0] =
    /limit of (\d+) megabytes\D+usage: (\d+) megabytes/i.exec(reason) ??
    /requested (\d+) ?MB, used (\d+) ?MB/i.exec(reason) ??
    /memory limit of (\d+) ?(?:megabytes|MB)/i.exec(reason) ??
    [];
  return asked === undefined ? undefined : { asked: Number(asked), used: Number(used) };
}

function memoryFacts(
  { reason, resources }: { reason: string; resources: readonly Resource[] },
  seenMb: number,
): Facts {
  const row = resources.find(({ name }) => name === 'Memory');
  const said = parseMemory(reason);
  // Resident memory says nothing about a limit on the image size.
  const seen = /\bImageSize\b/.test(reason) ? 0 : Math.max(row?.usage ?? 0, seenMb);
  const used = Math.max(said?.used ?? 0, seen);
  const asked = row?.request ?? said?.asked;
  const enough = afterExceeding(used, asked ?? 0);
  const disk = resources.find(({ name }) => name === 'Disk');
  return {
    memory: figures(asked, used),
    slotMemory: row?.allocated,
    enoughMemory: used > 0 || said !== undefined ? Math.ceil(enough / 128) * 128 : undefined,
    disk: figures(disk?.request && Math.ceil(disk.request / 1000), Math.ceil((disk?.usage ?? 0) / 1000)),
  };
}

function figures(asked: number | undefined, used: number): string {
  if (asked === undefined) return used > 0 ? `: ${used} MB used` : '';
  if (used === 0) return `: ${asked} MB requested`;
  // The peak comes between two measurements.
  return `: ${asked} MB requested, ${used} MB ${used > asked ? 'used' : 'at the last measurement'}`;
}

/** How much HTCondor had to transfer, and its limit. */
function sizesOf(reason: string): string {
  const atSubmit = /\((\d+)\) is greater than \w+ \((\d+)\)/.exec(reason);
  const atRun = /max=(\d+) ?MB, this file=(\d+) ?MB/.exec(reason);
  if (atSubmit !== null) return `: ${atSubmit[1]} MB, limit ${atSubmit[2]} MB`;
  return atRun === null ? '' : `: limit ${atRun[1]} MB, exceeded at a file of ${atRun[2]} MB`;
}

function limitOf(reason: string): string {
  const limit = /duration of ((?:\d+[+:])?[\d:]+)/i.exec(reason)?.[1];
  if (limit === undefined) return '';
  // HTCondor omits the hours if there are none.
  return ` of ${limit}${/^\d+:\d+$/.test(limit) ? ' (minutes and seconds)' : ''}`;
}

function transferFacts(way: 'input' | 'output', subcode: number | undefined, reason: string): Facts {
  const url = namedUrl(reason);
  const plugin = /plugin ["']?([^\s"',;]+\.[^\s"',;]+|\S+_plugin)\b/i.exec(reason)?.[1]?.split('/').at(-1);
  const exit = /exit code (\d+)/.exec(reason)?.[1];
  const errno = /errno \d+\)\s*([^;|]+)/i.exec(reason)?.[1];
  const details = (/details:\s*(.*)$/is.exec(reason)?.[1] ?? reason).replace(
    /\( ?URL file = (\S+) ?\)\|?/i,
    '($1)',
  );
  return {
    way,
    url: url && short(url),
    federated:
      url !== undefined && /^(?:osdf|pelican|https?|stash):/.test(url) ? shellQuote(short(url)) : undefined,
    file: namedFile(reason),
    errno: errno === undefined ? '' : ` (${short(errno)})`,
    plugin: plugin === undefined ? '' : ` ${short(plugin)}`,
    signal: /exited \(signal (\d+)\)/.exec(reason)?.[1],
    exit: exit === undefined ? '' : ` with code ${exit}`,
    pluginExit: subcode !== undefined && subcode >= 256 && subcode % 256 === 0 ? subcode / 256 : undefined,
    details:
      details.trim() === '' ? '; HTCondor gives no reason.' : `: ${short(details).replace(/\.$/, '')}.`,
  };
}

const beforeFile = 'reading from(?: file)?|(?:failed to write|writing) to file|sending file';
const namedFilePattern = new RegExp(`(?:${beforeFile}) (.+?)(?:: \\(?errno|: max|:? \\(errno|$)`, 'is');

/** The file that a transfer could not read or write. */
function namedFile(reason: string): string | undefined {
  const file = namedFilePattern.exec(reason)?.[1];
  return file === undefined ? undefined : short(file.replace(/^.*\/(?:dir_\d+)\/(?:scratch\/)?/, ''));
}

/** HTCondor writes `|` for a line end. */
const short = (text: string): string =>
  clip(printable(withoutSecrets(text).replaceAll('|', ' ')).trim(), 300);
