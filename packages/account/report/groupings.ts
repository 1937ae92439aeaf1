import { alternatives } from '@updraft/base';
import { shortNames } from '@updraft/view/tables';
import { Fault } from '../fault/fault.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { distinguishingParameters, seedName, showValue } from '../journal/describe-parameters.ts';
import type { GroupKey } from './groups.ts';
import { hostOf, siteNames, unknownSite } from './sites.ts';

export interface Grouping {
  /** Of what the groups are. */
  title: string;
  /** If that is several things, each. */
  titles?: readonly string[];
  key: (jobs: readonly JobHistory[], logs: readonly string[]) => GroupKey;
  /** How a log comes to name it, if most do not. */
  lack?: string;
}

/** What has neither data nor GPUs is not unknown. */
const none = 'none';

const named = (name: string | undefined): string | undefined => (name === '' ? undefined : name);

/** What `report --by` can group the jobs of logs by. */
export const groupings = {
  owner: {
    title: 'owner',
    key: () => ({ job: ({ owner }) => owner }),
    lack:
      "An access point's own log (EVENT_LOG) names owners; the log of a job does with " +
      '`job_ad_information_attrs = Owner` in the submit file.',
  },
  log: { title: 'log', key: (_jobs, logs) => ({ job: ({ log = logs[0] }) => log }) },
  site: {
    title: 'site',
    key: (jobs) => ({ attempt: siteNames(jobs) }),
    lack: 'A log names sites with `ulog_execute_attrs = GLIDEIN_ResourceName` in the submit file.',
  },
  machine: { title: 'machine', key: () => ({ attempt: ({ machine }) => named(hostOf(machine)) }) },
  gpu: {
    title: 'GPU model',
    key: () => ({ attempt: ({ gpu, gpus }) => named(gpu) ?? (gpus === 0 ? none : undefined) }),
    lack: 'A log names GPUs with `ulog_execute_attrs = GPUs_DeviceName` in the submit file.',
  },
} as const satisfies Record<string, Grouping>;

export type GroupingName = keyof typeof groupings;
export const groupingNames = Object.keys(groupings) as GroupingName[];

/** What only a run's own journals name. */
const runGroupings: Record<string, Grouping> = {
  run: { title: 'run', key: groupings.log.key },
  method: { title: 'method', key: () => ({ job: ({ method }) => (method === '' ? none : method) }) },
  cache: { title: 'cache', key: () => ({ attempt: orNone(mainCache) }) },
  warmth: {
    title: 'warmth',
    key: () => ({ attempt: orNone(warmth) }),
    lack: 'Only caches that report the `Age` of what they send say whether they had it.',
  },
};

const orNone =
  (nameOf: (attempt: AttemptHistory) => string | undefined) =>
  (attempt: AttemptHistory, { method }: JobHistory): string | undefined =>
    nameOf(attempt) ?? (method === '' ? none : undefined);

/** The server that sent most of an attempt's data. */
function mainCache({ caches = [] }: AttemptHistory): string | undefined {
  const [most] = caches.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
  return most?.name;
}

/** Whether caches had most of an attempt's data, by its `Age`, or had to fetch it first. */
function warmth({ caches = [] }: AttemptHistory): string | undefined {
  const sum = (of: 'warmBytes' | 'coldBytes') => caches.reduce((all, cache) => all + (cache[of] ?? 0), 0);
  const [warm, cold] = [sum('warmBytes'), sum('coldBytes')];
  if (warm + cold === 0) return undefined;
  return warm > cold ? 'warm' : 'cold';
}

/** What `--by` says: one grouping or parameter of the matrix, or several with commas. */
export function groupingOf(by: string, jobs: readonly JobHistory[]): Grouping {
  const parameters = parameterNames(jobs);
  const names = by.split(',').flatMap((each) => {
    const name = each.trim();
    return /^parameters?$/.test(name) && !parameters.includes(name) ? variedParameters(jobs) : [name];
  });
  const titles = parameterTitles(parameters);
  const [first, ...more] = names.map((name) => oneGrouping(name, titles));
  if (first === undefined || more.length === 0) return first ?? oneGrouping(by, titles);
  const all = [first, ...more].map(({ title, key }, at) => {
    const name = names[at] ?? '';
    return { name: known[name]?.title === title ? name : title, key };
  });
  const each = all.map(({ name }) => name);
  return {
    title: each.join(', '),
    titles: each,
    key: (...read) => joinedKey(all.map(({ name, key }) => ({ name, key: key(...read) }))),
  };
}

const known: Record<string, Grouping> = { ...groupings, ...runGroupings };

/** How tables call each parameter: in short, as in the results, unless another grouping has that name. */
function parameterTitles(parameters: readonly string[]): Map<string, string> {
  const short = shortNames(parameters);
  const isTaken = (title = ''): boolean => Object.hasOwn(known, title);
  return new Map(parameters.map((name, at) => [name, isTaken(short[at]) ? name : (short[at] ?? name)]));
}

function oneGrouping(name: string, titles: ReadonlyMap<string, string>): Grouping {
  const whole = titles.has(name) ? name : [...titles].find(([, title]) => title === name)?.[0];
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (whole !== undefined) return parameterGrouping(whole, titles.get(whole) ?? whole, found);
  if (found !== undefined) return found;
  const names = [...new Set([...titles.values(), ...Object.keys(known)])];
  const fix = `use ${alternatives(name, names)}`;
  throw new Fault('usage', `nothing to group by is called "${name}"`, { about: name, fix });
}

/** A parameter says what the user meant; jobs without it are in a group of what else has its name. */
function parameterGrouping(name: string, title: string, otherwise?: Grouping): Grouping {
  const valueOf = ({ parameters }: JobHistory): string | undefined => {
    const value = parameters?.[name];
    return value === undefined ? undefined : showValue(value);
  };
  const key: Grouping['key'] = (jobs, logs) => {
    const other = otherwise?.key(jobs, logs);
    if (other === undefined || jobs.every((job) => valueOf(job) !== undefined)) return { job: valueOf };
    if ('job' in other) return { job: (job) => valueOf(job) ?? other.job(job) };
    return { attempt: (attempt, job) => valueOf(job) ?? other.attempt(attempt, job) };
  };
  return { ...otherwise, title, key };
}

/** `method=osdf site=CHTC`, in groups of the first, those in groups of the second. */
function joinedKey(keys: readonly { name: string; key: GroupKey }[]): GroupKey {
  /** The values of each thing in the order of their first appearance, and those of each group. */
  const places = keys.map(() => new Map<string, number>());
  const groups = new Map<string, string[]>();
  const nameOf = (job: JobHistory, attempt: AttemptHistory | undefined): string => {
    const values = keys.map(({ key }, at) => {
      const value = 'job' in key ? key.job(job) : attempt && key.attempt(attempt, job);
      const known = places[at];
      known?.set(value ?? unknownSite, known.get(value ?? unknownSite) ?? known.size);
      return value ?? unknownSite;
    });
    const joined = keys.map(({ name }, at) => `${name}=${values[at]}`).join(' ');
    groups.set(joined, values);
    return joined;
  };
  const valuesOf = (group: string): readonly string[] => groups.get(group) ?? [];
  const placeOf = (group: string, at: number): number => places[at]?.get(valuesOf(group)[at] ?? '') ?? 0;
  const order = (a: string, b: string): number =>
    keys.map((_, at) => placeOf(a, at) - placeOf(b, at)).find((by) => by !== 0) ?? 0;
  return keys.every(({ key }) => 'job' in key)
    ? { job: (job) => nameOf(job, undefined), order, valuesOf }
    : { attempt: (attempt, job) => nameOf(job, attempt), order, valuesOf };
}

const parameterNames = (jobs: readonly JobHistory[]): string[] => [
  ...new Set(jobs.flatMap(({ parameters = {} }) => Object.keys(parameters))),
];

/** The fewest parameters that distinguish the cells of a matrix, without the seeds of repetitions. */
export const variedParameters = (jobs: readonly JobHistory[]): string[] =>
  distinguishingParameters(
    jobs.map(({ parameters = {} }) => parameters),
    parameterNames(jobs).filter((name) => name !== seedName),
  );
