import { defined, type Defined } from '@updraft/base';
import { isAd, type Ad, type AdValue } from '../classad/ad.ts';
import { parseAdLines } from '../classad/parse.ts';
import { adBytes, adResources, adSubmit, adTermination, adUsages, number, string } from './ad-body.ts';
import type { EndedByItself } from './details.ts';
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
  usagesOf,
} from './text-body.ts';
import { transferMoment } from './transfer-title.ts';

/** Reads a value from an event: from the text after its time, or from its ad in JSON. */
export interface Decoder<T> {
  text: (body: TextBody) => T;
  /** `text` is the event as written. */
  ad: (ad: Ad, text: string) => T;
  /** Read only when it is asked for. */
  isRare?: true;
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
      if (field.isRare === true) {
        Object.defineProperty(details, name, { get: () => valueOf(field), enumerable: true });
        continue;
      }
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

/** A text: by pattern from the lines after the first, or from the first of the attributes that has it. */
const textField = (pattern: RegExp, ...names: string[]): Decoder<string | undefined> => ({
  text: ({ lines }) => find(lines, pattern),
  ad: (ad) => firstOf(names, (name) => string(ad[name])),
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

const numberField = (pattern: RegExp, ...names: string[]): Decoder<number | undefined> => ({
  text: ({ lines }) => findNumber(lines, pattern),
  ad: (ad) => firstOf(names, (name) => number(ad[name])),
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

function firstOf<T>(names: readonly string[], valueOf: (name: string) => T | undefined): T | undefined {
  for (const name of names) {
    const value = valueOf(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

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

const usages = { text: ({ lines }: TextBody) => usagesOf(lines), ad: adUsages, isRare: true as const };
const bytes = { text: readTransferredBytes, ad: adBytes };
const resources = { text: resourcesOf, ad: adResources };
const termination = { text: terminationOf, ad: adTermination };
const ended: Decoder<EndedByItself | undefined> = {
  text: endedByItself,
  ad: () => undefined,
};
const dagNode = textField(/DAG Node: (.*\S)/, 'DAGNodeName');
const node = titleNumber(/^Node (-?\d+)/, 'Node');
const wholeText = ({ title, lines }: TextBody): string => [title, ...lines].join('\n').trim();
const requeued = matches(/\(0\) Job terminated and was requeued/, 'TerminatedAndRequeued');

const execute = {
  host: titleText(/on host: (.*\S)/, 'ExecuteHost'),
  slot: textAfter('SlotName: ', /^\s*SlotName: (.*\S)/, 'SlotName'),
  /** Resources of the slot, and what the pool or job adds, such as `GLIDEIN_ResourceName`. */
  attributes: {
    text: ({ lines }: TextBody) => parseAdLines(lines),
    ad: ({ ExecuteProps: properties }: Ad) => (isAd(properties) ? properties : {}),
  },
};

/** `ended`: when and how, in UTC, according to the execution point; written by HTCondor up to 24.7. */
const terminated = { termination, usages, bytes, resources, ended };

const submit = { text: submitOf, ad: adSubmit };
const reason = fields({
  reason: { text: ({ lines }) => paragraph(lines), ad: (ad) => string(ad.Reason) },
});
const nothing = fields({});

const grid = fields({
  resource: textField(/^\s*(?:GridResource|RM-Contact): (.*\S)/, 'GridResource', 'RMContact'),
  jobId: textField(/^\s*(?:GridJobId|JM-Contact): (.*\S)/, 'GridJobId', 'JMContact'),
  reason: textField(/^\s*Reason: (.*\S)/, 'Reason'),
});

const expiration = numberField(/^\s*Reservation Expiration: (\d+)/, 'ExpirationTime');

/** A file or reservation in the execution point's data reuse directory. */
const dataReuse = fields({
  bytes: numberField(/^\s*Bytes(?: reserved)?: (\d+)/, 'ReservedSpace', 'Size'),
  expires: {
    text: (body) => inMillis(expiration.text(body)),
    ad: (ad, text) => inMillis(expiration.ad(ad, text)),
  },
  uuid: textField(/^\s*(?:Reservation )?UUID: (.*\S)/, 'UUID'),
  tag: textField(/^\s*Tag: (.*\S)/, 'Tag'),
  checksum: textField(/^\s*Checksum Value: (.*\S)/, 'Checksum'),
  checksumType: textField(/^\s*Checksum Type: (.*\S)/, 'ChecksumType'),
});

const inMillis = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1000);

/** A group of a pattern in the first line. */
const titleGroup = <T extends string = string>(
  pattern: RegExp,
  group: number,
  ad: (ad: Ad) => T | undefined,
): Decoder<T | undefined> => ({ text: ({ title }) => pattern.exec(title)?.[group] as T | undefined, ad });

const errorTitle = /^(Error|Message) from (\S+) on (.*?):?$/;
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

const triggered = (attributes: Ad) =>
  defined({ trigger: number(attributes.TriggerEventTypeNumber), attributes });

const textOf = (value: AdValue): string | undefined =>
  typeof value === 'string' ? value : value === undefined ? undefined : JSON.stringify(value);

/** The decoder of each kind of event, for what follows its header. */
const decoders = {
  submit,
  execute: fields(execute),
  'executable-error': fields({
    errorType: titleNumber(/^\((-?\d+)\)/, 'ExecuteErrorType'),
    text: { text: ({ title }) => title.replace(/^\(-?\d+\)\s*/, ''), ad: () => '' },
  }),
  checkpointed: fields({
    usages,
    sentBytes: countField('Run Bytes Sent By Job For Checkpoint', 'SentBytes'),
  }),
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
    usages,
    bytes,
    resources,
  }),
  terminated: fields(terminated),
  'image-size': fields({
    imageSizeKb: titleNumber(/: (-?\d+)/, 'Size'),
    memoryUsageMb: countField('MemoryUsage', 'MemoryUsage'),
    residentSetSizeKb: countField('ResidentSetSize', 'ResidentSetSize'),
    proportionalSetSizeKb: countField('ProportionalSetSize', 'ProportionalSetSize'),
  }),
  'shadow-exception': fields({ message: orEmpty(rest(/^\s*\d+ {2}- {2}Run Bytes/, 'Message')), bytes }),
  generic: fields({ text: { text: wholeText, ad: (ad) => (string(ad.Info) ?? '').trimEnd() } }),
  aborted: fields({ reason: rest(/^\s*Job terminated (?:of its own|by itself)/, 'Reason'), ended }),
  suspended: fields({ processes: numberField(/suspended: (\d+)/, 'NumberOfPIDs') }),
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
  'node-execute': fields({ ...execute, node }),
  'node-terminated': fields({ ...terminated, node }),
  'post-script-terminated': fields({ termination, dagNode }),
  'globus-submit': grid,
  'globus-submit-failed': grid,
  'globus-resource-up': grid,
  'globus-resource-down': grid,
  /** For a failed transfer, its code is that of the opposite direction. Trust `held` and `evicted` instead. */
  'remote-error': fields({
    /** The daemon that reports the error, such as `starter`. */
    daemon: titleGroup(errorTitle, 2, (ad) => string(ad.Daemon)),
    host: titleGroup(errorTitle, 3, (ad) => string(ad.ExecuteHost)),
    /** An error ends the attempt, a message does not. */
    critical: {
      text: ({ title }) => errorTitle.exec(title)?.[1] !== 'Message',
      ad: (ad) => ad.CriticalError !== 0 && ad.CriticalError !== false,
    },
    text: orEmpty(rest(codeLine, 'ErrorMsg')),
    ...codes,
  }),
  disconnected: fields({
    reason: { text: ({ lines }) => paragraph(lines.slice(0, 1)), ad: (ad) => string(ad.DisconnectReason) },
    slot: textField(/Trying to reconnect to (\S+)/, 'StartdName'),
    host: textField(/Trying to reconnect to \S+ (\S+)/, 'StartdAddr'),
  }),
  reconnected: fields({
    slot: titleText(/reconnected to (.*\S)/, 'StartdName'),
    host: textField(/startd address: (.*\S)/, 'StartdAddr'),
    starter: textField(/starter address: (.*\S)/, 'StarterAddr'),
  }),
  'reconnect-failed': fields({
    reason: { text: ({ lines }) => paragraph(lines.slice(0, 1)), ad: (ad) => string(ad.Reason) },
    slot: textField(/Can not reconnect to ([^\s,]+)/, 'StartdName'),
  }),
  'grid-resource-up': grid,
  'grid-resource-down': grid,
  'grid-submit': grid,
  'job-ad-information': { text: ({ lines }: TextBody) => triggered(parseAdLines(lines)), ad: triggered },
  'job-status-unknown': nothing,
  'job-status-known': nothing,
  'stage-in': nothing,
  'stage-out': nothing,
  'attribute-update': fields({
    name: titleGroup(updateTitle, 1, (ad) => string(ad.Attribute)),
    from: titleGroup(updateTitle, 2, (ad) => textOf(ad.OldValue)),
    to: titleGroup(updateTitle, 3, (ad) => textOf(ad.Value)),
  }),
  'pre-skip': fields({
    dagNode: { ...dagNode, ad: (ad) => string(ad.SkipEventLogNotes)?.replace(/^DAG Node: /, '') },
  }),
  'cluster-submit': submit,
  'cluster-remove': fields({
    jobs: numberField(/Materialized (\d+) jobs/, 'NextProcId'),
    items: numberField(/from (\d+) items/, 'NextRow'),
    completion: {
      text: ({ lines: [progress = ''] }) => completion.exec(progress)?.[1]?.toLowerCase() as Completion,
      ad: (ad) => completionOf(ad.Completion),
    },
    errorCode: {
      text: ({ lines: [progress = ''] }) => findNumber([progress], /\t\w+ (-?\d+)\s*$/),
      ad: (ad) => (completionOf(ad.Completion) === 'error' ? number(ad.Completion) : undefined),
    },
    notes: { text: ({ lines }) => paragraph(lines.slice(1)), ad: (ad) => string(ad.Notes) },
  }),
  'factory-paused': fields({
    reason: rest(/^\s*(?:Pause|Hold)Code /, 'Reason'),
    pauseCode: numberField(/^\s*PauseCode (-?\d+)/, 'PauseCode'),
    holdCode: numberField(/^\s*HoldCode (-?\d+)/, 'HoldCode'),
  }),
  'factory-resumed': reason,
  'file-transfer': fields({
    direction: {
      text: (body) => transferMoment(body).direction,
      ad: (ad) => (['input', 'output'] as const)[Math.floor(transferStep(ad) / 3)],
    },
    step: {
      text: (body) => transferMoment(body).step,
      ad: (ad) => (['queued', 'started', 'finished'] as const)[transferStep(ad) % 3],
    },
    queueSeconds: numberField(/Seconds spent in queue: (\d+)/, 'QueueingDelay'),
    host: textAfter('to host: ', /Transferring to host: (.*\S)/, 'Host'),
  }),
  'reserve-space': dataReuse,
  'release-space': dataReuse,
  'file-complete': dataReuse,
  'file-used': dataReuse,
  'file-removed': dataReuse,
  'dataflow-job-skipped': reason,
  'common-files': fields({
    type: titleText(/Common files event: (.*\S)/, 'Type'),
    text: { text: ({ lines }) => paragraph(lines) ?? '', ad: () => '' },
  }),
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
