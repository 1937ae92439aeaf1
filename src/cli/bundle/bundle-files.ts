import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { walkFiles } from '@updraft/base/disk';
import { type LogEvent, logFile, type LogSource, scanLog } from '@updraft/htcondor/eventlog';
import { machineOf, siteOf } from '@updraft/account/history';
import type { Ad } from '@updraft/htcondor/classad';
import type { Plan } from '../../job/plan.ts';
import { attemptFiles, runFiles } from '@updraft/account/run-folder';
import { decode, decodeLive } from '@updraft/account/journal';
import { poolKinds } from '../../pool/open-pool.ts';
import type { KnownWords } from './known-words.ts';

/** A file of a bundle. It is made of what we understand: nothing is copied. */
export interface BundleFile {
  /** Its path in the bundle. */
  name: string;
  text: () => Promise<string>;
}

const lines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Plan, journals and event log of a run. */
export async function runBundleFiles(folder: string, words: KnownWords): Promise<BundleFile[]> {
  const journal = new RegExp(
    `^(?:${runFiles.journal}|${runFiles.jobs}/\\d+/attempt-\\d+/${attemptFiles.journal})$`,
  );
  const plan = new RegExp(`^(?:${runFiles.rounds}/\\d+/)?${runFiles.plan}$`);
  return (await walkFiles(folder)).flatMap((name): BundleFile[] => {
    const file = path.join(folder, name);
    const as = (text: () => Promise<string>, own = name): BundleFile[] => [{ name: `run/${own}`, text }];
    if (plan.test(name)) return as(() => planText(file, words));
    if (journal.test(name)) return as(() => journalText(file, words));
    const isLog = Object.values(poolKinds).some(({ eventLog }) => eventLog === name);
    return isLog ? as(async () => eventsText(await logFile(file), words), `${name}.jsonl`) : [];
  });
}

/** Event logs that a user named, or that a DAG has. */
export const logBundleFiles = (logs: readonly LogSource[], words: KnownWords): BundleFile[] =>
  logs.map((log, at) => ({ name: `log-${at + 1}.jsonl`, text: () => eventsText(log, words) }));

/** What was requested and where it runs; of the training, no variable. */
async function planText(file: string, words: KnownWords): Promise<string> {
  const { spec, disk, jobs, ...plan } = JSON.parse(await readFile(file, 'utf8')) as Plan;
  const { environment, resources, run, recovery } = spec;
  const { command, outputs, check, checkpoint } = spec.train;
  const train = { command, outputs, check, checkpoint };
  const data = plan.data.map((source) => ({ ...source, url: source.url.replace(/[?#].*/s, '') }));
  const known = { train, data, environment, resources, run, recovery, disk, jobs: jobs.length };
  return `${JSON.stringify(words.shown(known), null, 2)}\n`;
}

/** The entries that we know; any other line is only counted. */
async function journalText(file: string, words: KnownWords): Promise<string> {
  let [text, leftOut] = ['', 0];
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const entry = decode(line);
    if (typeof entry === 'string') leftOut += 1;
    else text += lines([words.shown(entry)]);
  }
  return leftOut === 0 ? text : text + lines([{ leftOut }]);
}

/** Of a longer log, the bundle has at least this number of events of its end. */
const maxEvents = 100_000;

/** The events of a log as we read them. */
async function eventsText(log: LogSource, words: KnownWords): Promise<string> {
  const shown: string[] = [];
  let leftOut = 0;
  await scanLog(log, (event) => {
    if (shown.push(lines([eventShown(event, words)])) < 2 * maxEvents) return;
    leftOut += shown.splice(0, maxEvents).length;
  });
  return lines(leftOut === 0 ? [] : [{ leftOut }]) + shown.join('');
}

interface Place {
  slot?: string;
  host?: string;
  attributes?: Ad;
}

function eventShown({ kind, cluster, proc, time, details }: LogEvent, words: KnownWords): unknown {
  const { slot, host, attributes, ...rest } = details as Place & Record<string, unknown>;
  const machine = machineOf(slot, host);
  words.learn('host', machine);
  const base = {
    ...{
      kind,
      job: `${cluster}.${proc}`,
      time: time === undefined ? undefined : new Date(time).toISOString(),
    },
    ...(machine === '' ? {} : { host: words.text(machine) }),
    ...(attributes && { attributes: adShown(attributes, words) }),
  };
  if (kind === 'attribute-update' && !attributeNames.has(String(rest['name']))) return base;
  const live = kind === 'generic' ? decodeLive(String(rest['text'])) : undefined;
  return { ...base, ...(words.shown(live ?? rest) as object) };
}

/** Attributes that say what a job requested, used and met; none that a user writes. */
const attributeNames = new Set(
  (
    'ClusterId ProcId JobStatus LastJobStatus JobUniverse QDate EnteredCurrentStatus JobCurrentStartDate ' +
    'CompletionDate RemoteWallClockTime CumulativeSlotTime ExitCode ExitBySignal ExitSignal ' +
    'HoldReason HoldReasonCode HoldReasonSubCode LastHoldReason LastHoldReasonCode LastHoldReasonSubCode ' +
    'VacateReason VacateReasonCode VacateReasonSubCode RemoveReason ReleaseReason NumHolds NumShadowStarts ' +
    'NumJobStarts NumJobReconnects RequestCpus RequestGpus RequestMemory RequestDisk Cpus Gpus Memory Disk ' +
    'CpusUsage GpusUsage MemoryUsage DiskUsage ResidentSetSize GPUs_DeviceName GPUs_Capability GPUs_DriverVersion ' +
    'GLIDEIN_ResourceName GLIDEIN_Site CondorVersion'
  ).split(' '),
);

function adShown(ad: Ad, words: KnownWords): unknown {
  words.learn('site', siteOf(ad));
  for (const name of ['Owner', 'User', 'AcctGroupUser']) words.learn('user', ownerIn(ad[name]));
  const known = Object.entries(ad).filter(([name]) => attributeNames.has(name));
  return Object.fromEntries(known.map(([name, value]) => [name, words.shown(value)]));
}

const ownerIn = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.replace(/@.*$/, '') : undefined;
