import type { Plan, PlannedData } from '../../job/plan.ts';
import { formatDuration, formatSize } from '../../job/units.ts';
import type { Finding } from '../pool.ts';
import type { Profile } from './profiles.ts';

/** What a pool's customs and limits say against a plan. Pure. */
export function checkProfile(plan: Plan, profile: Profile): Finding[] {
  return [
    ...checkNative(plan, profile),
    ...plan.data.flatMap((source) => checkObject(source, profile)),
    ...checkDuration(plan, profile),
    ...checkGpus(plan, profile),
    ...checkProject(plan, profile),
    ...checkNames(plan),
  ];
}

function checkNative({ files, data }: Plan, profile: Profile): Finding[] {
  const { nativeInputBytes = Infinity, nativeFileBytes = Infinity, title } = profile;
  const native = data.filter(({ method }) => method === 'native');
  const sizeOf = ({ expect }: PlannedData): number => expect.bytes ?? 0;
  const total = [...files.map(({ bytes }) => bytes), ...native.map(sizeOf)].reduce((a, b) => a + b, 0);
  const findings: Finding[] = [];
  if (total > nativeInputBytes)
    findings.push({
      level: 'error',
      rule: 'native-input',
      message: `${formatSize(total)} would be sent from the access point with every job; ${title} holds jobs above ${formatSize(nativeInputBytes)} (hold code 32)`,
      fix: 'put the data into the federation and use an osdf:// URL with method = "stream"',
    });
  for (const source of native)
    if (sizeOf(source) > nativeFileBytes && total <= nativeInputBytes)
      findings.push({
        level: 'warning',
        rule: 'native-file',
        message: `data.${source.name} has ${formatSize(sizeOf(source))}; ${title} wants files above ${formatSize(nativeFileBytes)} in the federation`,
        fix: 'put it into the federation and use an osdf:// URL',
      });
  return findings;
}

function checkObject({ name, method, expect }: PlannedData, profile: Profile): Finding[] {
  const bytes = expect.bytes ?? 0;
  const { goodObjectBytes = Infinity, mostObjectBytes = Infinity, title } = profile;
  if (method === 'native' || bytes <= goodObjectBytes) return [];
  const limit = bytes > mostObjectBytes ? mostObjectBytes : goodObjectBytes;
  return [
    {
      level: 'warning',
      rule: 'object-size',
      message: `data.${name} has ${formatSize(bytes)} in one object; on ${title} ${
        bytes > mostObjectBytes ? 'ask the staff before' : 'caches serve well'
      } ${bytes > mostObjectBytes ? 'using objects above' : 'up to'} ${formatSize(limit)}`,
      fix: 'split it into objects of 1 to 10 GB, each a [data] table of its own',
    },
  ];
}

/** The duration class of a plan: the shortest it fits in; undefined where the pool has none, or none is long enough. */
export function durationClass(
  { spec }: Plan,
  { durations, gpuDurations }: Profile,
): { name: string; seconds: number } | undefined {
  const { gpus, timeSeconds } = spec.resources;
  const classes = gpus > 0 && gpuDurations !== undefined ? gpuDurations : durations;
  if (classes === undefined) return undefined;
  return timeSeconds === undefined ? classes[0] : classes.find(({ seconds }) => timeSeconds <= seconds);
}

function checkDuration(plan: Plan, profile: Profile): Finding[] {
  const { timeSeconds, gpus } = plan.spec.resources;
  const classes = gpus > 0 && profile.gpuDurations !== undefined ? profile.gpuDurations : profile.durations;
  const longest = classes?.at(-1);
  if (longest === undefined || timeSeconds === undefined || timeSeconds <= longest.seconds) return [];
  return [
    {
      level: 'error',
      rule: 'duration',
      message: `time = "${formatDuration(timeSeconds)}" is longer than the ${formatDuration(longest.seconds)} that ${profile.title} gives a job`,
      fix: 'set `checkpoint` in [train] and a shorter `time`: the next attempt goes on from there',
    },
  ];
}

function checkGpus({ spec }: Plan, { goodGpus = Infinity, title }: Profile): Finding[] {
  if (spec.resources.gpus <= goodGpus) return [];
  return [
    {
      level: 'warning',
      rule: 'gpus',
      message: `gpus = ${spec.resources.gpus}: on ${title} jobs with more than ${goodGpus} wait long`,
      fix: `set gpus = ${goodGpus} and run more jobs side by side`,
    },
  ];
}

function checkProject({ spec }: Plan, { wantsProject, title }: Profile): Finding[] {
  if (!wantsProject || spec.run.project !== undefined) return [];
  return [
    {
      level: 'warning',
      rule: 'project',
      message: `${title} accounts by project, and the job file names none: your default project is charged`,
      fix: 'set project = "YOUR_PROJECT" in [run]',
    },
  ];
}

/** HTCondor puts what it fetches for a job under its bare name, all in one folder. */
function checkNames({ data }: Plan): Finding[] {
  const fetched = data.filter(({ method }) => method === 'https' || method === 'osdf');
  const seen = new Map<string, string>();
  return fetched.flatMap(({ name, url }): Finding[] => {
    const file = deliveredName(url);
    const other = seen.get(file);
    seen.set(file, name);
    if (other === undefined) return [];
    return [
      {
        level: 'error',
        rule: 'same-name',
        message: `data.${other} and data.${name} would both arrive as "${file}" in the job's sandbox`,
        fix: `set method = "stream" in [data.${name}]`,
      },
    ];
  });
}

/** The name under which HTCondor stores what it fetched: the last part of the path, without the query. */
export function deliveredName(url: string): string {
  const plain = url.replace(/[?#].*$/, '');
  return plain.slice(plain.lastIndexOf('/') + 1);
}
