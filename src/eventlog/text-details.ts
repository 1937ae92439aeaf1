import { defined } from '../base/defined.ts';
import { isAd } from '../classad/ad.ts';
import { parseAdLines, parseAdValue } from '../classad/parse.ts';
import type {
  DataReuseDetails,
  DetailsByKind,
  EvictedDetails,
  ExecuteDetails,
  GridDetails,
  NoDetails,
  SubmitDetails,
  TerminatedDetails,
} from './details.ts';
import type { EventKind } from './kinds.ts';
import {
  bodyOf,
  bytesOf,
  endedByItself,
  find,
  findNumber,
  isTableHead,
  paragraph,
  resourcesOf,
  terminationOf,
  usagesOf,
  type TextBody,
} from './text-body.ts';

/** The details of an event of the text form, from what follows its time. */
export function textDetails(kind: EventKind, text: string): DetailsByKind[EventKind] {
  return decoders[kind](bodyOf(text));
}

const codeLine = /^\s*Code (-?\d+) Subcode (-?\d+)\s*$/;

const decoders: { [K in EventKind]: (body: TextBody) => DetailsByKind[K] } = {
  submit,
  execute,
  'executable-error': ({ title }) =>
    defined({ errorType: findNumber([title], /^\((-?\d+)\)/), text: title.replace(/^\(-?\d+\)\s*/, '') }),
  checkpointed: ({ lines }) =>
    defined({
      usages: usagesOf(lines),
      sentBytes: findNumber(lines, /^\s*(\d+) {2}- {2}Run Bytes Sent By Job For Checkpoint/),
    }),
  evicted,
  terminated,
  'image-size': ({ title, lines }) =>
    defined({
      imageSizeKb: findNumber([title], /: (-?\d+)/),
      memoryUsageMb: findNumber(lines, /^\s*(\d+) {2}- {2}MemoryUsage/),
      residentSetSizeKb: findNumber(lines, /^\s*(\d+) {2}- {2}ResidentSetSize/),
      proportionalSetSizeKb: findNumber(lines, /^\s*(\d+) {2}- {2}ProportionalSetSize/),
    }),
  'shadow-exception': ({ lines }) => ({
    message: paragraph(lines.filter((line) => !/^\s*\d+ {2}- {2}Run Bytes/.test(line))) ?? '',
    bytes: bytesOf(lines),
  }),
  generic: whole,
  aborted: ({ lines }) =>
    defined({
      reason: paragraph(lines.filter((line) => !/^\s*Job terminated (?:of its own|by itself)/.test(line))),
      ended: endedByItself(lines),
    }),
  suspended: ({ lines }) => defined({ processes: findNumber(lines, /suspended: (\d+)/) }),
  unsuspended: nothing,
  held: ({ lines }) => {
    const reason = paragraph(lines.filter((line) => !codeLine.test(line)));
    return defined({ reason: reason === 'Reason unspecified' ? undefined : reason, ...codes(lines) });
  },
  released: reason,
  'node-execute': (body) => defined({ ...execute(body), node: nodeOf(body) }),
  'node-terminated': (body) => defined({ ...terminated(body), node: nodeOf(body) }),
  'post-script-terminated': ({ lines }) =>
    defined({ termination: terminationOf(lines), dagNode: find(lines, /DAG Node: (.*\S)/) }),
  'globus-submit': grid,
  'globus-submit-failed': grid,
  'globus-resource-up': grid,
  'globus-resource-down': grid,
  'remote-error': remoteError,
  disconnected: ({ lines }) =>
    defined({
      reason: firstLine(lines),
      ...reconnectTarget(lines, /Trying to reconnect to (\S+)(?: (\S+))?/),
    }),
  reconnected: ({ title, lines }) =>
    defined({
      slot: find([title], /reconnected to (.*\S)/),
      host: find(lines, /startd address: (.*\S)/),
      starter: find(lines, /starter address: (.*\S)/),
    }),
  'reconnect-failed': ({ lines }) =>
    defined({ reason: firstLine(lines), ...reconnectTarget(lines, /Can not reconnect to ([^\s,]+)/) }),
  'grid-resource-up': grid,
  'grid-resource-down': grid,
  'grid-submit': grid,
  'job-ad-information': ({ lines }) => {
    const attributes = parseAdLines(lines);
    const trigger = attributes.TriggerEventTypeNumber;
    return defined({ trigger: typeof trigger === 'number' ? trigger : undefined, attributes });
  },
  'job-status-unknown': nothing,
  'job-status-known': nothing,
  'stage-in': nothing,
  'stage-out': nothing,
  'attribute-update': ({ title }) => {
    const match = /^(?:Changing|Setting) job attribute (\S+)(?: from (.*?))? to (.*)$/s.exec(title);
    return defined({ name: match?.[1], from: match?.[2], to: match?.[3] });
  },
  'pre-skip': ({ lines }) => defined({ dagNode: find(lines, /DAG Node: (.*\S)/) }),
  'cluster-submit': submit,
  'cluster-remove': clusterRemove,
  'factory-paused': ({ lines }) =>
    defined({
      reason: paragraph(lines.filter((line) => !/^\s*(?:Pause|Hold)Code /.test(line))),
      pauseCode: findNumber(lines, /^\s*PauseCode (-?\d+)/),
      holdCode: findNumber(lines, /^\s*HoldCode (-?\d+)/),
    }),
  'factory-resumed': reason,
  'file-transfer': ({ title, lines }) => {
    const match = /^(Entered queue|Started|Finished)\b.* (input|output) files/.exec(title);
    const steps = { 'Entered queue': 'queued', Started: 'started', Finished: 'finished' } as const;
    return defined({
      direction: match?.[2] as 'input' | 'output' | undefined,
      step: match ? steps[match[1] as keyof typeof steps] : undefined,
      queueSeconds: findNumber(lines, /Seconds spent in queue: (\d+)/),
      host: find(lines, /Transferring to host: (.*\S)/),
    });
  },
  'reserve-space': dataReuse,
  'release-space': dataReuse,
  'file-complete': dataReuse,
  'file-used': dataReuse,
  'file-removed': dataReuse,
  'dataflow-job-skipped': reason,
  'common-files': ({ title, lines }) =>
    defined({ type: find([title], /Common files event: (.*\S)/), text: paragraph(lines) ?? '' }),
  unknown: whole,
};

function submit({ title, lines }: TextBody): SubmitDetails {
  const details: SubmitDetails = defined({ host: find([title], /from host: (.*\S)/), notes: [] });
  for (const line of lines.map((each) => each.trim())) {
    const structured = /^\[.*\]$/.test(line) ? parseAdValue(line) : undefined;
    if (structured !== undefined && isAd(structured)) {
      if (typeof structured.JobBatchName === 'string') details.batchName = structured.JobBatchName;
      if (typeof structured.DAGNodeName === 'string') details.dagNode = structured.DAGNodeName;
    } else if (line.startsWith('DAG Node: ')) details.dagNode = line.slice(10);
    else if (line.startsWith('WARNING: '))
      details.warnings = line.replace(/^WARNING: (?:.*warning\(s\): )?/, '');
    else if (line !== '') details.notes.push(line);
  }
  return details;
}

function execute({ title, lines }: TextBody): ExecuteDetails {
  return defined({
    host: find([title], /on host: (.*\S)/),
    slot: find(lines, /^\s*SlotName: (.*\S)/),
    attributes: parseAdLines(lines),
  });
}

function evicted({ title, lines }: TextBody): EvictedDetails {
  const requeued = lines.some((line) => /\(0\) Job terminated and was requeued/.test(line));
  const [, code, subcode] = /Code (-?\d+) Subcode (-?\d+)/.exec(title) ?? [];
  return defined({
    checkpointed: lines.some((line) => /\(1\) Job was checkpointed/.test(line)),
    requeued,
    termination: requeued ? terminationOf(lines) : undefined,
    reason: evictionReason(lines, requeued),
    code: code === undefined ? undefined : Number(code),
    subcode: subcode === undefined ? undefined : Number(subcode),
    usages: usagesOf(lines),
    bytes: bytesOf(lines),
    resources: resourcesOf(lines),
  });
}

/** What stands between the known lines and the table: with `Reason:` before it, or bare after a requeue. */
function evictionReason(lines: readonly string[], requeued: boolean): string | undefined {
  const table = lines.findIndex(isTableHead);
  const before = table === -1 ? lines : lines.slice(0, table);
  const known = /^\s*(?:\([01]\) |Usr \d|\d+ {2}- {2})/;
  const at = before.findIndex((line) => /^\s*Reason: /.test(line));
  if (at !== -1) return paragraph(before.slice(at))?.slice('Reason: '.length);
  return requeued ? paragraph(before.filter((line) => !known.test(line))) : undefined;
}

function terminated({ lines }: TextBody): TerminatedDetails {
  return defined({
    termination: terminationOf(lines),
    usages: usagesOf(lines),
    bytes: bytesOf(lines),
    resources: resourcesOf(lines),
    ended: endedByItself(lines),
  });
}

function remoteError({ title, lines }: TextBody): DetailsByKind['remote-error'] {
  const match = /^(Error|Message) from (\S+) on (.*?):?$/.exec(title);
  return defined({
    daemon: match?.[2],
    host: match?.[3],
    critical: match?.[1] !== 'Message',
    text: paragraph(lines.filter((line) => !codeLine.test(line))) ?? '',
    ...codes(lines),
  });
}

function clusterRemove({ lines }: TextBody): DetailsByKind['cluster-remove'] {
  const [progress = '', ...notes] = lines;
  const word = /\t(Complete|Incomplete|Paused|Error)(?: (-?\d+))?\s*$/.exec(progress);
  return defined({
    jobs: findNumber([progress], /Materialized (\d+) jobs/),
    items: findNumber([progress], /from (\d+) items/),
    completion: word?.[1]?.toLowerCase() as 'complete' | undefined,
    errorCode: word?.[2] === undefined ? undefined : Number(word[2]),
    notes: paragraph(notes),
  });
}

function grid({ lines }: TextBody): GridDetails {
  return defined({
    resource: find(lines, /^\s*(?:GridResource|RM-Contact): (.*\S)/),
    jobId: find(lines, /^\s*(?:GridJobId|JM-Contact): (.*\S)/),
    reason: find(lines, /^\s*Reason: (.*\S)/),
  });
}

function dataReuse({ lines }: TextBody): DataReuseDetails {
  const expires = findNumber(lines, /^\s*Reservation Expiration: (\d+)/);
  return defined({
    bytes: findNumber(lines, /^\s*Bytes(?: reserved)?: (\d+)/),
    expires: expires === undefined ? undefined : expires * 1000,
    uuid: find(lines, /^\s*(?:Reservation )?UUID: (.*\S)/),
    tag: find(lines, /^\s*Tag: (.*\S)/),
    checksum: find(lines, /^\s*Checksum Value: (.*\S)/),
    checksumType: find(lines, /^\s*Checksum Type: (.*\S)/),
  });
}

function reconnectTarget(lines: readonly string[], pattern: RegExp): { slot?: string; host?: string } {
  for (const line of lines) {
    const match = pattern.exec(line);
    if (match) return defined({ slot: match[1], host: match[2] });
  }
  return {};
}

function codes(lines: readonly string[]): { code?: number; subcode?: number } {
  const match = lines.map((line) => codeLine.exec(line)).findLast((found) => found !== null);
  return match ? { code: Number(match[1]), subcode: Number(match[2]) } : {};
}

function firstLine(lines: readonly string[]): string | undefined {
  return paragraph(lines.slice(0, 1));
}

function nodeOf({ title }: TextBody): number | undefined {
  return findNumber([title], /^Node (-?\d+)/);
}

function reason({ lines }: TextBody): { reason?: string } {
  return defined({ reason: paragraph(lines) });
}

function whole({ title, lines }: TextBody): { text: string } {
  return { text: [title, ...lines].join('\n').trim() };
}

function nothing(): NoDetails {
  return {};
}
