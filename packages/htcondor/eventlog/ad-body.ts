import { defined } from '@updraft/base';
import { isAd, type Ad, type AdValue } from '../classad/ad.ts';
import type { Resource, SubmitDetails, Termination, TransferredBytes, Usages } from './details.ts';
import { usageOf } from './text-body.ts';

export function adSubmit(ad: Ad): SubmitDetails {
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

export function adTermination(ad: Ad): Termination | undefined {
  const returnValue = number(ad.ReturnValue);
  const signal = number(ad.TerminatedBySignal);
  if (ad.TerminatedNormally === true && returnValue !== undefined) return { normal: true, returnValue };
  if (ad.TerminatedNormally !== false || signal === undefined) return undefined;
  return { normal: false, signal, ...defined({ coreFile: string(ad.CoreFile) }) };
}

export function adUsages(ad: Ad): Usages {
  const usage = (value: AdValue) => (typeof value === 'string' ? usageOf(value) : undefined);
  return defined({
    runRemote: usage(ad.RunRemoteUsage),
    runLocal: usage(ad.RunLocalUsage),
    totalRemote: usage(ad.TotalRemoteUsage),
    totalLocal: usage(ad.TotalLocalUsage),
  });
}

export function adBytes(ad: Ad): TransferredBytes {
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
export function adResources(ad: Ad): Resource[] {
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

export const string = (value: AdValue): string | undefined => (typeof value === 'string' ? value : undefined);

export const number = (value: AdValue): number | undefined =>
  typeof value === 'number' && !Number.isNaN(value) ? value : undefined;
