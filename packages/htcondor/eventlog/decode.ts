import { defined, type Defined } from '@updraft/base';
import { parseAdLines } from '../classad/parse.ts';
import type { EventKind } from './kinds.ts';
import {
  readTransferredBytes,
  countOf,
  endedByItself,
  evictionReason,
  find,
  findNumber,
  linesWith,
  paragraph,
  resourcesOf,
  submitOf,
  terminationOf,
  type TextBody,
  codesOf,
  hasAt,
} from './text-body.ts';
import { remembering } from './log-text.ts';

const steps = { 'Entered queue': 'queued', Started: 'started', Finished: 'finished' } as const;

interface TransferMoment {
  direction?: 'input' | 'output';
  step?: (typeof steps)[keyof typeof steps];
}

const pattern = /^(Entered queue|Started|Finished)\b.* (input|output) files/;

const momentIn = remembering((title): TransferMoment => {
  const [, step, direction] = pattern.exec(title) ?? [];
  return defined({
    direction: direction as TransferMoment['direction'],
    step: steps[step as keyof typeof steps],
  });
});

/** The titles that HTCondor writes: most logs have more of them than of anything else but memory updates. */
const usual = ['Started transferring', 'Finished transferring', 'Entered queue to transfer'].flatMap(
  (words) =>
    ['input', 'output'].map((direction) => {
      const title = `${words} ${direction} files`;
      return { codes: codesOf(` ${title}\n`), moment: momentIn(title) };
    }),
);

/** The step of a transfer that the title of its event names. */
function transferMoment(body: TextBody): TransferMoment {
  for (const { codes, moment } of usual) if (hasAt(body.codes, body.at, codes)) return moment;
  return momentIn(body.title);
}

/** Reads the details of a kind of event from the text after its time. */
interface Decoder<Value> {
  (body: TextBody): Value;
  /** The decoder of each field. */
  parts?: Readonly<Record<string, (body: TextBody) => unknown>>;
}

type Details<Fields extends Record<string, (body: TextBody) => unknown>> = Defined<{
  [Name in keyof Fields]: ReturnType<Fields[Name]>;
}>;

/** A decoder for several fields; those that an event does not have are left out. */
function fields<Fields extends Record<string, (body: TextBody) => unknown>>(
  parts: Fields,
): Decoder<Details<Fields>> {
  const entries = Object.entries(parts);
  const decode = (body: TextBody): Details<Fields> => {
    const details: Record<string, unknown> = {};
    for (const [name, field] of entries) {
      const value = field(body);
      if (value !== undefined) details[name] = value;
    }
    return details as Details<Fields>;
  };
  return Object.assign(decode, { parts });
}

type Text = (body: TextBody) => string | undefined;

/** By pattern from the lines after the first. */
const inLines =
  (pattern: RegExp): Text =>
  ({ lines }) =>
    find(lines, pattern);

/** The same, for one that many events have: only lines with these words are looked at. */
const after =
  (words: string, pattern: RegExp): Text =>
  (body) =>
    find(linesWith(words, body), pattern);

/** By pattern from the first line. */
const inTitle =
  (pattern: RegExp): Text =>
  ({ title }) =>
    pattern.exec(title)?.[1];

const numberInTitle =
  (pattern: RegExp) =>
  ({ title }: TextBody): number | undefined =>
    findNumber([title], pattern);

/** All lines together, except those that match. */
const rest =
  (except: RegExp): Text =>
  ({ lines }) =>
    paragraph(lines.filter((line) => !except.test(line)));

const isIn =
  (pattern: RegExp) =>
  ({ lines }: TextBody): boolean =>
    lines.some((line) => pattern.test(line));

const codeLine = /^\s*Code (-?\d+) Subcode (-?\d+)\s*$/;

/** The last line with codes counts. */
const code =
  (group: 1 | 2) =>
  ({ lines }: TextBody): number | undefined => {
    const match = lines.map((line) => codeLine.exec(line)).findLast((found) => found !== null);
    return match ? Number(match[group]) : undefined;
  };

const bytes = readTransferredBytes;
const requeued = isIn(/\(0\) Job terminated and was requeued/);
const reason = fields({ reason: ({ lines }) => paragraph(lines) });
const nothing = fields({});

const updateTitle = /^(?:Changing|Setting) job attribute (\S+)(?: from (.*?))? to (.*)$/s;
const completion = /\t(Complete|Incomplete|Paused|Error)(?: (-?\d+))?\s*$/;

type Completion = 'complete' | 'incomplete' | 'paused' | 'error';

/** The decoder of each kind of event, for what follows its header. */
const decoders = {
  submit: submitOf,
  execute: fields({
    host: inTitle(/on host: (.*\S)/),
    slot: after('SlotName: ', /^\s*SlotName: (.*\S)/),
    /** Resources of the slot, and what the pool or job adds, such as `GLIDEIN_ResourceName`. */
    attributes: ({ lines }) => parseAdLines(lines),
  }),
  checkpointed: nothing,
  evicted: fields({
    checkpointed: isIn(/\(1\) Job was checkpointed/),
    /** Exited and was put back into the queue by the job's own policy; then `termination` is how it ended. */
    requeued,
    termination: (body) => (requeued(body) ? terminationOf(body) : undefined),
    reason: (body) => evictionReason(body.lines, requeued(body)),
    code: numberInTitle(/Code (-?\d+) Subcode -?\d+/),
    subcode: numberInTitle(/Code -?\d+ Subcode (-?\d+)/),
    bytes,
    resources: resourcesOf,
  }),
  /** `ended`: when, by the execution point's clock; written by HTCondor up to 24.7. */
  terminated: fields({ termination: terminationOf, bytes, resources: resourcesOf, ended: endedByItself }),
  /** From a line like `47  -  MemoryUsage of job (MB)`. */
  'image-size': fields({ memoryUsageMb: (body) => countOf(body, 'MemoryUsage') }),
  'shadow-exception': fields({ message: (body) => rest(/^\s*\d+ {2}- {2}Run Bytes/)(body) ?? '', bytes }),
  generic: fields({ text: ({ title, lines }) => [title, ...lines].join('\n').trim() }),
  aborted: fields({ reason: rest(/^\s*Job terminated (?:of its own|by itself)/) }),
  suspended: nothing,
  unsuspended: nothing,
  held: fields({
    reason: ({ lines }) => {
      const text = paragraph(lines.filter((line) => !codeLine.test(line)));
      return text === 'Reason unspecified' ? undefined : text;
    },
    code: code(1),
    subcode: code(2),
  }),
  released: reason,
  'post-script-terminated': fields({ termination: terminationOf, dagNode: inLines(/DAG Node: (.*\S)/) }),
  /** For a failed transfer, its code is that of the opposite direction. Trust `held` and `evicted` instead. */
  'remote-error': fields({
    host: inTitle(/^(?:Error|Message) from \S+ on (.*?):?$/),
    text: (body) => rest(codeLine)(body) ?? '',
  }),
  disconnected: fields({
    slot: inLines(/Trying to reconnect to (\S+)/),
    host: inLines(/Trying to reconnect to \S+ (\S+)/),
  }),
  reconnected: fields({
    slot: inTitle(/reconnected to (.*\S)/),
    host: inLines(/startd address: (.*\S)/),
  }),
  'reconnect-failed': fields({ reason: ({ lines }) => paragraph(lines.slice(0, 1)) }),
  'job-ad-information': fields({ attributes: ({ lines }) => parseAdLines(lines) }),
  'attribute-update': fields({
    name: ({ title }) => updateTitle.exec(title)?.[1],
    from: ({ title }) => updateTitle.exec(title)?.[2],
    to: ({ title }) => updateTitle.exec(title)?.[3],
  }),
  'cluster-submit': submitOf,
  'cluster-remove': fields({
    jobs: ({ lines }) => findNumber(lines, /Materialized (\d+) jobs/),
    completion: ({ lines: [progress = ''] }) =>
      completion.exec(progress)?.[1]?.toLowerCase() as Completion | undefined,
  }),
  'file-transfer': fields({
    direction: (body) => transferMoment(body).direction,
    step: (body) => transferMoment(body).step,
    host: after('to host: ', /Transferring to host: (.*\S)/),
  }),
  other: nothing,
} satisfies Record<EventKind, Decoder<object>>;

export type DetailsByKind = { [K in EventKind]: ReturnType<(typeof decoders)[K]> };

export type EvictedDetails = DetailsByKind['evicted'];

/** The decoder of one field, or undefined if the kind has only all of them together. */
export const fieldDecoder = (kind: EventKind, name: string): ((body: TextBody) => unknown) | undefined =>
  (decoders[kind] as Decoder<object>).parts?.[name];

export const decodeDetails = (kind: EventKind, body: TextBody): DetailsByKind[EventKind] =>
  decoders[kind](body);
