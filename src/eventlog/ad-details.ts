import { defined } from '../base/defined.ts';
import { isAd, type Ad, type AdValue } from '../classad/ad.ts';
import type {
  DataReuseDetails,
  DetailsByKind,
  ExecuteDetails,
  GridDetails,
  NoDetails,
  Resource,
  SubmitDetails,
  TerminatedDetails,
  Termination,
  TransferredBytes,
  Usages,
} from './details.ts';
import type { EventKind } from './kinds.ts';
import { usageOf } from './text-body.ts';

/** The details of an event of the JSON or XML form, from its attributes; `text` is the event as written. */
export function adDetails(kind: EventKind, ad: Ad, text: string): DetailsByKind[EventKind] {
  return decoders[kind](ad, text);
}

const decoders: { [K in EventKind]: (ad: Ad, text: string) => DetailsByKind[K] } = {
  submit,
  execute,
  'executable-error': (ad) => defined({ errorType: number(ad.ExecuteErrorType), text: '' }),
  checkpointed: (ad) => defined({ usages: usages(ad), sentBytes: number(ad.SentBytes) }),
  evicted: (ad) =>
    defined({
      checkpointed: ad.Checkpointed === true,
      requeued: ad.TerminatedAndRequeued === true,
      termination: ad.TerminatedAndRequeued === true ? termination(ad) : undefined,
      reason: string(ad.Reason),
      code: number(ad.ReasonCode),
      subcode: number(ad.ReasonSubCode) ?? (number(ad.ReasonCode) === undefined ? undefined : 0),
      usages: usages(ad),
      bytes: bytes(ad),
      resources: resources(ad),
    }),
  terminated,
  'image-size': (ad) =>
    defined({
      imageSizeKb: number(ad.Size),
      memoryUsageMb: number(ad.MemoryUsage),
      residentSetSizeKb: number(ad.ResidentSetSize),
      proportionalSetSizeKb: number(ad.ProportionalSetSize),
    }),
  'shadow-exception': (ad) => ({ message: string(ad.Message) ?? '', bytes: bytes(ad) }),
  generic: (ad) => ({ text: (string(ad.Info) ?? '').trimEnd() }),
  aborted: reason,
  suspended: (ad) => defined({ processes: number(ad.NumberOfPIDs) }),
  unsuspended: nothing,
  held: (ad) =>
    defined({
      reason: string(ad.HoldReason),
      code: number(ad.HoldReasonCode),
      subcode: number(ad.HoldReasonSubCode),
    }),
  released: reason,
  'node-execute': (ad) => defined({ ...execute(ad), node: number(ad.Node) }),
  'node-terminated': (ad) => defined({ ...terminated(ad), node: number(ad.Node) }),
  'post-script-terminated': (ad) =>
    defined({ termination: termination(ad), dagNode: string(ad.DAGNodeName) }),
  'globus-submit': grid,
  'globus-submit-failed': grid,
  'globus-resource-up': grid,
  'globus-resource-down': grid,
  'remote-error': (ad) =>
    defined({
      daemon: string(ad.Daemon),
      host: string(ad.ExecuteHost),
      critical: ad.CriticalError !== 0 && ad.CriticalError !== false,
      text: string(ad.ErrorMsg) ?? '',
      code: number(ad.HoldReasonCode),
      subcode: number(ad.HoldReasonSubCode),
    }),
  disconnected: (ad) =>
    defined({
      reason: string(ad.DisconnectReason),
      slot: string(ad.StartdName),
      host: string(ad.StartdAddr),
    }),
  reconnected: (ad) =>
    defined({ slot: string(ad.StartdName), host: string(ad.StartdAddr), starter: string(ad.StarterAddr) }),
  'reconnect-failed': (ad) => defined({ reason: string(ad.Reason), slot: string(ad.StartdName) }),
  'grid-resource-up': grid,
  'grid-resource-down': grid,
  'grid-submit': grid,
  'job-ad-information': (ad) => defined({ trigger: number(ad.TriggerEventTypeNumber), attributes: ad }),
  'job-status-unknown': nothing,
  'job-status-known': nothing,
  'stage-in': nothing,
  'stage-out': nothing,
  'attribute-update': (ad) =>
    defined({ name: string(ad.Attribute), from: written(ad.OldValue), to: written(ad.Value) }),
  'pre-skip': (ad) => defined({ dagNode: string(ad.SkipEventLogNotes)?.replace(/^DAG Node: /, '') }),
  'cluster-submit': submit,
  'cluster-remove': clusterRemove,
  'factory-paused': (ad) =>
    defined({ reason: string(ad.Reason), pauseCode: number(ad.PauseCode), holdCode: number(ad.HoldCode) }),
  'factory-resumed': reason,
  'file-transfer': fileTransfer,
  'reserve-space': dataReuse,
  'release-space': dataReuse,
  'file-complete': dataReuse,
  'file-used': dataReuse,
  'file-removed': dataReuse,
  'dataflow-job-skipped': reason,
  'common-files': (ad) => defined({ type: string(ad.Type), text: '' }),
  unknown: (_ad, text) => ({ text }),
};

function submit(ad: Ad): SubmitDetails {
  const notes = [string(ad.LogNotes), string(ad.UserNotes)].filter((note) => note !== undefined);
  const dagNote = notes.find((note) => note.startsWith('DAG Node: '));
  const structured = isAd(ad.StructuredNotes) ? ad.StructuredNotes : {};
  return defined({
    host: string(ad.SubmitHost),
    batchName: string(structured.JobBatchName),
    dagNode: string(structured.DAGNodeName) ?? dagNote?.slice(10),
    notes: notes.filter((note) => note !== dagNote),
    warnings: string(ad.Warnings),
  });
}

function execute(ad: Ad): ExecuteDetails {
  const properties = ad.ExecuteProps;
  return defined({
    host: string(ad.ExecuteHost),
    slot: string(ad.SlotName),
    attributes: isAd(properties) ? properties : {},
  });
}

function terminated(ad: Ad): TerminatedDetails {
  return defined({
    termination: termination(ad),
    usages: usages(ad),
    bytes: bytes(ad),
    resources: resources(ad),
  });
}

function termination(ad: Ad): Termination | undefined {
  const returnValue = number(ad.ReturnValue);
  const signal = number(ad.TerminatedBySignal);
  if (ad.TerminatedNormally === true && returnValue !== undefined) return { normal: true, returnValue };
  if (ad.TerminatedNormally !== false || signal === undefined) return undefined;
  return { normal: false, signal, ...defined({ coreFile: string(ad.CoreFile) }) };
}

function usages(ad: Ad): Usages {
  const usage = (value: AdValue) => (typeof value === 'string' ? usageOf(value) : undefined);
  return defined({
    runRemote: usage(ad.RunRemoteUsage),
    runLocal: usage(ad.RunLocalUsage),
    totalRemote: usage(ad.TotalRemoteUsage),
    totalLocal: usage(ad.TotalLocalUsage),
  });
}

function bytes(ad: Ad): TransferredBytes {
  return defined({
    runSent: number(ad.SentBytes),
    runReceived: number(ad.ReceivedBytes),
    totalSent: number(ad.TotalSentBytes),
    totalReceived: number(ad.TotalReceivedBytes),
  });
}

const units: Record<string, string> = {
  Memory: 'MB',
  Disk: 'KB',
  GpusMemory: 'MB',
  TimeExecute: 's',
  TimeSlotBusy: 's',
};
const notResources = /^(?:Run|Total)(?:Local|Remote)Usage$/;

/** The table of resources, from `XUsage`, `RequestX`, `X` and `AssignedX`. */
function resources(ad: Ad): Resource[] {
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
      assigned: string(ad[`Assigned${name}`]),
    }),
  );
}

function clusterRemove(ad: Ad): DetailsByKind['cluster-remove'] {
  const completion = number(ad.Completion);
  const word = completion === undefined ? undefined : completionWord(completion);
  return defined({
    jobs: number(ad.NextProcId),
    items: number(ad.NextRow),
    completion: word,
    errorCode: word === 'error' ? completion : undefined,
    notes: string(ad.Notes),
  });
}

function completionWord(completion: number): 'complete' | 'incomplete' | 'paused' | 'error' {
  if (completion < 0) return 'error';
  return (['incomplete', 'complete'] as const)[completion] ?? 'paused';
}

function fileTransfer(ad: Ad): DetailsByKind['file-transfer'] {
  const type = number(ad.Type) ?? 0;
  const known = type >= 1 && type <= 6;
  return defined({
    direction: known ? (['input', 'output'] as const)[Math.floor((type - 1) / 3)] : undefined,
    step: known ? (['queued', 'started', 'finished'] as const)[(type - 1) % 3] : undefined,
    queueSeconds: number(ad.QueueingDelay),
    host: string(ad.Host),
  });
}

function grid(ad: Ad): GridDetails {
  return defined({
    resource: string(ad.GridResource) ?? string(ad.RMContact),
    jobId: string(ad.GridJobId) ?? string(ad.JMContact),
    reason: string(ad.Reason),
  });
}

function dataReuse(ad: Ad): DataReuseDetails {
  const expires = number(ad.ExpirationTime);
  return defined({
    bytes: number(ad.ReservedSpace) ?? number(ad.Size),
    expires: expires === undefined ? undefined : expires * 1000,
    uuid: string(ad.UUID),
    tag: string(ad.Tag),
    checksum: string(ad.Checksum),
    checksumType: string(ad.ChecksumType),
  });
}

function reason(ad: Ad): { reason?: string } {
  return defined({ reason: string(ad.Reason) });
}

function nothing(): NoDetails {
  return {};
}

function string(value: AdValue): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: AdValue): number | undefined {
  return typeof value === 'number' && !Number.isNaN(value) ? value : undefined;
}

function written(value: AdValue): string | undefined {
  return typeof value === 'string' ? value : value === undefined ? undefined : JSON.stringify(value);
}
