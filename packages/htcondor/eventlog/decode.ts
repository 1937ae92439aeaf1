import { defined, type Defined } from '@updraft/base';
import { isAd, type Ad, type AdValue } from '../classad/ad.ts';
import { parseAdLines } from '../classad/parse.ts';
import type { Resource, SubmitDetails, Termination, TransferredBytes } from './details.ts';
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

function adSubmit(ad: Ad): SubmitDetails {
  const notes = [string(ad.LogNotes), string(ad.UserNotes)].filter((note) => note !== undefined);
  const dagNote = notes.find((note) => note.startsWith('DAG Node: '));
  const structured = isAd(ad.StructuredNotes) ? ad.StructuredNotes : {};
  return defined({
    host: string(ad.SubmitHost),
    batchName: string(structured.JobBatchName),
    dagNode: string(structured.DAGNodeName) ?? dagNote?.slice(10),
    notes: notes.filter((note) => note !== dagNote),
  });
}

function adTermination(ad: Ad): Termination | undefined {
  const returnValue = number(ad.ReturnValue);
  const signal = number(ad.TerminatedBySignal);
  if (ad.TerminatedNormally === true && returnValue !== undefined) return { normal: true, returnValue };
  return ad.TerminatedNormally === false && signal !== undefined ? { normal: false, signal } : undefined;
}

const adBytes = (ad: Ad): TransferredBytes =>
  defined({ runSent: number(ad.SentBytes), runReceived: number(ad.ReceivedBytes) });

const units: Record<string, string> = {
  Memory: 'MB',
  Disk: 'KB',
  GpusMemory: 'MB',
  TimeExecute: 's',
  TimeSlotBusy: 's',
};
const notResources = /^(?:Run|Total)(?:Local|Remote)Usage$/;

/** The table of resources, from `XUsage`, `RequestX`, `X` and `AssignedX`. */
function adResources(ad: Ad): Resource[] {
  const names = new Set<string>();
  for (const attribute of Object.keys(ad)) {
    if (notResources.test(attribute)) continue;
    const name = /^Request(\w+)$/.exec(attribute)?.[1] ?? /^(\w+?)(?:Average)?Usage$/.exec(attribute)?.[1];
    if (name !== undefined) names.add(name);
    else if (`Assigned${attribute}` in ad || attribute === 'GPUs') names.add(attribute);
  }
  return [...names].sort().map((name) =>
    defined({
      name,
      unit: units[name],
      usage: number(ad[`${name}Usage`]) ?? number(ad[`${name}AverageUsage`]),
      request: number(ad[`Request${name}`]),
      allocated: number(ad[name]),
    }),
  );
}

const string = (value: AdValue): string | undefined => (typeof value === 'string' ? value : undefined);

const number = (value: AdValue): number | undefined =>
  typeof value === 'number' && !Number.isNaN(value) ? value : undefined;

/** Reads a value from an event: from the text after its time, or from its ad in JSON. */
export interface Decoder<T> {
  text: (body: TextBody) => T;
  /** `text` is the event as written. */
  ad: (ad: Ad, text: string) => T;
  /** The decoder of each field. */
  parts?: Readonly<Record<string, Decoder<unknown>>>;
}

type Details<Fields extends Record<string, Decoder<unknown>>> = Defined<{
  [Name in keyof Fields]: ReturnType<Fields[Name]['ad']>;
}>;

/** A decoder for several fields; those that an event does not have are left out. */
function fields<Fields extends Record<string, Decoder<unknown>>>(table: Fields): Decoder<Details<Fields>> {
  const entries = Object.entries(table);
  const read = (valueOf: (field: Decoder<unknown>) => unknown): Details<Fields> => {
    const details: Record<string, unknown> = {};
    for (const [name, field] of entries) {
      const value = valueOf(field);
      if (value !== undefined) details[name] = value;
    }
    return details as Details<Fields>;
  };
  return {
    text: (body) => read((field) => field.text(body)),
    ad: (ad, text) => read((field) => field.ad(ad, text)),
    parts: table,
  };
}

/** A text: by pattern from the lines after the first, or from the attribute. */
const textField = (pattern: RegExp, name: string): Decoder<string | undefined> => ({
  text: ({ lines }) => find(lines, pattern),
  ad: (ad) => string(ad[name]),
});

/** The same, for one that many events have: only lines with these words are looked at. */
const textAfter = (words: string, pattern: RegExp, name: string): Decoder<string | undefined> => ({
  ...textField(pattern, name),
  text: (body) => find(linesWith(words, body), pattern),
});

/** A text: by pattern from the first line, or from the attribute. */
const titleText = (pattern: RegExp, name: string): Decoder<string | undefined> => ({
  text: ({ title }) => pattern.exec(title)?.[1],
  ad: (ad) => string(ad[name]),
});

/** The figure of a line like `47  -  MemoryUsage of job (MB)`. */
const countField = (words: string, name: string): Decoder<number | undefined> => ({
  text: (body) => countOf(body, words),
  ad: (ad) => number(ad[name]),
});

const titleNumber = (pattern: RegExp, name: string): Decoder<number | undefined> => ({
  text: ({ title }) => findNumber([title], pattern),
  ad: (ad) => number(ad[name]),
});

/** All lines together, except those that match. */
const rest = (except: RegExp, name: string): Decoder<string | undefined> => ({
  text: ({ lines }) => paragraph(lines.filter((line) => !except.test(line))),
  ad: (ad) => string(ad[name]),
});

const orEmpty = ({ text, ad }: Decoder<string | undefined>): Decoder<string> => ({
  text: (body) => text(body) ?? '',
  ad: (attributes, event) => ad(attributes, event) ?? '',
});

const matches = (pattern: RegExp, name: string): Decoder<boolean> => ({
  text: ({ lines }) => lines.some((line) => pattern.test(line)),
  ad: (ad) => ad[name] === true,
});

const codeLine = /^\s*Code (-?\d+) Subcode (-?\d+)\s*$/;

/** The last line with codes counts. */
const code = (group: 1 | 2, name: string): Decoder<number | undefined> => ({
  text: ({ lines }) => {
    const match = lines.map((line) => codeLine.exec(line)).findLast((found) => found !== null);
    return match ? Number(match[group]) : undefined;
  },
  ad: (ad) => number(ad[name]),
});
const codes = { code: code(1, 'HoldReasonCode'), subcode: code(2, 'HoldReasonSubCode') };

const bytes = { text: readTransferredBytes, ad: adBytes };
const resources = { text: resourcesOf, ad: adResources };
const termination = { text: terminationOf, ad: adTermination };
const ended: Decoder<number | undefined> = { text: endedByItself, ad: () => undefined };
const dagNode = textField(/DAG Node: (.*\S)/, 'DAGNodeName');
const wholeText = ({ title, lines }: TextBody): string => [title, ...lines].join('\n').trim();
const requeued = matches(/\(0\) Job terminated and was requeued/, 'TerminatedAndRequeued');

const submit = { text: submitOf, ad: adSubmit };
const reason = fields({
  reason: { text: ({ lines }) => paragraph(lines), ad: (ad) => string(ad.Reason) },
});
const nothing = fields({});

/** A group of a pattern in the first line. */
const titleGroup = <T extends string = string>(
  pattern: RegExp,
  group: number,
  ad: (ad: Ad) => T | undefined,
): Decoder<T | undefined> => ({ text: ({ title }) => pattern.exec(title)?.[group] as T | undefined, ad });

const updateTitle = /^(?:Changing|Setting) job attribute (\S+)(?: from (.*?))? to (.*)$/s;
const completion = /\t(Complete|Incomplete|Paused|Error)(?: (-?\d+))?\s*$/;

type Completion = 'complete' | 'incomplete' | 'paused' | 'error';

function completionOf(value: AdValue): Completion | undefined {
  const state = number(value);
  if (state === undefined || state < 0) return state === undefined ? undefined : 'error';
  return (['incomplete', 'complete'] as const)[state] ?? 'paused';
}

/** HTCondor numbers the steps of both directions, input first, from 1 to 6. */
const transferStep = ({ Type: type }: Ad): number => {
  const step = number(type) ?? 0;
  return step >= 1 && step <= 6 ? step - 1 : NaN;
};

const textOf = (value: AdValue): string | undefined =>
  typeof value === 'string' ? value : value === undefined ? undefined : JSON.stringify(value);

/** The decoder of each kind of event, for what follows its header. */
const decoders = {
  submit,
  execute: fields({
    host: titleText(/on host: (.*\S)/, 'ExecuteHost'),
    slot: textAfter('SlotName: ', /^\s*SlotName: (.*\S)/, 'SlotName'),
    /** Resources of the slot, and what the pool or job adds, such as `GLIDEIN_ResourceName`. */
    attributes: {
      text: ({ lines }) => parseAdLines(lines),
      ad: ({ ExecuteProps: properties }) => (isAd(properties) ? properties : {}),
    },
  }),
  'executable-error': nothing,
  checkpointed: nothing,
  evicted: fields({
    checkpointed: matches(/\(1\) Job was checkpointed/, 'Checkpointed'),
    /** Exited and was put back into the queue by the job's own policy; then `termination` is how it ended. */
    requeued,
    termination: {
      text: (body) => (requeued.text(body) ? termination.text(body) : undefined),
      ad: (ad, text) => (requeued.ad(ad, text) ? termination.ad(ad) : undefined),
    },
    reason: {
      text: (body) => evictionReason(body.lines, requeued.text(body)),
      ad: (ad) => string(ad.Reason),
    },
    code: titleNumber(/Code (-?\d+) Subcode -?\d+/, 'ReasonCode'),
    subcode: {
      text: ({ title }) => findNumber([title], /Code -?\d+ Subcode (-?\d+)/),
      ad: (ad) => number(ad.ReasonSubCode) ?? (number(ad.ReasonCode) === undefined ? undefined : 0),
    },
    bytes,
    resources,
  }),
  /** `ended`: when, by the execution point's clock; written by HTCondor up to 24.7. */
  terminated: fields({ termination, bytes, resources, ended }),
  'image-size': fields({ memoryUsageMb: countField('MemoryUsage', 'MemoryUsage') }),
  'shadow-exception': fields({ message: orEmpty(rest(/^\s*\d+ {2}- {2}Run Bytes/, 'Message')), bytes }),
  generic: fields({ text: { text: wholeText, ad: (ad) => (string(ad.Info) ?? '').trimEnd() } }),
  aborted: fields({ reason: rest(/^\s*Job terminated (?:of its own|by itself)/, 'Reason') }),
  suspended: nothing,
  unsuspended: nothing,
  held: fields({
    reason: {
      text: ({ lines }) => {
        const text = paragraph(lines.filter((line) => !codeLine.test(line)));
        return text === 'Reason unspecified' ? undefined : text;
      },
      ad: (ad) => string(ad.HoldReason),
    },
    ...codes,
  }),
  released: reason,
  'node-execute': nothing,
  'node-terminated': nothing,
  'post-script-terminated': fields({ termination, dagNode }),
  'globus-submit': nothing,
  'globus-submit-failed': nothing,
  'globus-resource-up': nothing,
  'globus-resource-down': nothing,
  /** For a failed transfer, its code is that of the opposite direction. Trust `held` and `evicted` instead. */
  'remote-error': fields({
    host: titleText(/^(?:Error|Message) from \S+ on (.*?):?$/, 'ExecuteHost'),
    text: orEmpty(rest(codeLine, 'ErrorMsg')),
  }),
  disconnected: fields({
    slot: textField(/Trying to reconnect to (\S+)/, 'StartdName'),
    host: textField(/Trying to reconnect to \S+ (\S+)/, 'StartdAddr'),
  }),
  reconnected: fields({
    slot: titleText(/reconnected to (.*\S)/, 'StartdName'),
    host: textField(/startd address: (.*\S)/, 'StartdAddr'),
  }),
  'reconnect-failed': fields({
    reason: { text: ({ lines }) => paragraph(lines.slice(0, 1)), ad: (ad) => string(ad.Reason) },
  }),
  'grid-resource-up': nothing,
  'grid-resource-down': nothing,
  'grid-submit': nothing,
  'job-ad-information': fields({
    attributes: { text: ({ lines }) => parseAdLines(lines), ad: (ad) => ad },
  }),
  'job-status-unknown': nothing,
  'job-status-known': nothing,
  'stage-in': nothing,
  'stage-out': nothing,
  'attribute-update': fields({
    name: titleGroup(updateTitle, 1, (ad) => string(ad.Attribute)),
    from: titleGroup(updateTitle, 2, (ad) => textOf(ad.OldValue)),
    to: titleGroup(updateTitle, 3, (ad) => textOf(ad.Value)),
  }),
  'pre-skip': nothing,
  'cluster-submit': submit,
  'cluster-remove': fields({
    jobs: {
      text: ({ lines }) => findNumber(lines, /Materialized (\d+) jobs/),
      ad: (ad) => number(ad.NextProcId),
    },
    completion: {
      text: ({ lines: [progress = ''] }) => completion.exec(progress)?.[1]?.toLowerCase() as Completion,
      ad: (ad) => completionOf(ad.Completion),
    },
  }),
  'factory-paused': nothing,
  'factory-resumed': nothing,
  'file-transfer': fields({
    direction: {
      text: (body) => transferMoment(body).direction,
      ad: (ad) => (['input', 'output'] as const)[Math.floor(transferStep(ad) / 3)],
    },
    step: {
      text: (body) => transferMoment(body).step,
      ad: (ad) => (['queued', 'started', 'finished'] as const)[transferStep(ad) % 3],
    },
    host: textAfter('to host: ', /Transferring to host: (.*\S)/, 'Host'),
  }),
  'reserve-space': nothing,
  'release-space': nothing,
  'file-complete': nothing,
  'file-used': nothing,
  'file-removed': nothing,
  'dataflow-job-skipped': nothing,
  'common-files': nothing,
  unknown: fields({ text: { text: wholeText, ad: (_, text) => text } }),
} satisfies Record<EventKind, Decoder<object>>;

export type DetailsByKind = { [K in EventKind]: ReturnType<(typeof decoders)[K]['text']> };

export type EvictedDetails = DetailsByKind['evicted'];

/** The decoder of one field, or undefined if the kind has only all of them together. */
export const fieldDecoder = (kind: EventKind, name: string): Decoder<unknown> | undefined =>
  (decoders[kind] as Decoder<object>).parts?.[name];

export const textDetails = (kind: EventKind, body: TextBody): DetailsByKind[EventKind] =>
  decoders[kind].text(body);

/** The details of an event in JSON, from its attributes; `text` is the event as written. */
export const adDetails = (kind: EventKind, ad: Ad, text: string): DetailsByKind[EventKind] =>
  decoders[kind].ad(ad, text);
