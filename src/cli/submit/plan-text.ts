import path from 'node:path';
import { counted, formatDuration, formatSize, printable, shardRange, given } from '@updraft/base';
import { isLowerBetter } from '@updraft/base/training';
import type { Document, Fact } from '@updraft/view/document';
import { formatSeconds } from '@updraft/view/format';
import { jobLabel, jobNames } from '@updraft/account/parameters';
import { runFiles, runsFolder } from '@updraft/account/run-folder';
import { isOnDemand } from '../../job/on-demand.ts';
import type { Fallback, Plan } from '../../job/plan.ts';
import { searchMethod } from '../../job/search-trials.ts';
import { budgetOf, expectedTrials } from '../../search/rungs.ts';
import { isList, type SearchRange } from '../../search/trials.ts';
import type { SecretFound } from '../../job/secrets.ts';
import { parametersOf } from '../../job/matrix.ts';
import { variantNames, variantsOf } from '../../job/variants.ts';
import {
  describePolicy,
  expectedLoss,
  type Interruptions,
  meanLife,
  type Policy,
} from '@updraft/account/recovery';
import { describeNeeds, describeSize, describeTorch } from '../environment/facts-text.ts';

const shownJobs = 5;
const shownFiles = 10;

export const sentBytes = ({ files }: Plan): string =>
  formatSize(files.reduce((sum, file) => sum + file.bytes, 0));

/** One line: which run, how many jobs, where. */
export const headline = ({ spec, jobs }: Plan): string =>
  `${spec.name}: ${counted(jobs.length, 'job')} on the pool "${spec.run.pool}"`;

/** What is known about a plan only here and now. */
interface PlanFacts {
  secrets?: readonly SecretFound[];
  sent?: readonly string[];
  interruptions?: Interruptions | undefined;
  /** What the scheduler would get. */
  submits?: string | undefined;
}

/** A plan as a page; `policies` are what its pool does about failures of each variant. */
export function planPage(
  plan: Plan,
  policies: readonly Policy[] = [],
  { secrets = [], sent = [], interruptions, submits }: PlanFacts = {},
): Document {
  const common = commonLines(plan, policies);
  const shared = (lines: string[]): string[] => {
    const same = lines.filter((line) => common.has(line));
    return same.length === lines.length ? lines : [...same, 'see "differ"'];
  };
  const [first] = policies;
  const results = path.join(plan.folder, runsFolder, `${plan.spec.name}-<id>`, runFiles.results, '<job>');
  const facts: Fact[] = [
    ['file', plan.file],
    ['run', printable(plan.spec.train.command)],
    ['jobs', ...jobLines(plan)],
    ['search', ...searchLines(plan)],
    ['files', ...fileLines(plan)],
    ['sent', ...sent],
    ['data', ...shared(dataLines(plan))],
    ['differ', ...(plan.variants === undefined ? [] : variantLines(plan, policies))],
    ['secrets', ...secrets.map(secretLine)],
    ['software', ...shared(softwareLines(plan))],
    ['needs', ...shared(needLines(plan))],
    ['success', ...successLines(plan), ...interruptionLines(plan, interruptions)],
    ['failure', ...(first === undefined ? [] : shared(describePolicy(first)))],
    ['results', `${results}/`],
    ['plan', plan.planHash.slice(0, 16)],
    ['submits', ...given(submits)],
  ];
  return [headline(plan), { facts }];
}

const secretLine = ({ name, from, value }: SecretFound): string =>
  `${name} from ${from}${value === undefined ? ', which is missing' : ''}`;

const requestLines = (plan: Plan, policy: Policy | undefined): string[] => [
  ...dataLines(plan),
  ...softwareLines(plan),
  ...needLines(plan),
  ...requirementLines(plan),
  ...(policy === undefined ? [] : describePolicy(policy)),
];

/** What all kinds of jobs have. */
const commonLines = (plan: Plan, policies: readonly Policy[]): ReadonlySet<string> =>
  variantsOf(plan)
    .map((one, at) => new Set(requestLines(one, policies[at])))
    .reduce((left, lines) => left.intersection(lines));

/** What each kind of jobs has that the others have not. */
function variantLines(plan: Plan, policies: readonly Policy[]): string[] {
  const common = commonLines(plan, policies);
  const nameOf = variantNames(plan);
  const described = variantsOf(plan).map((one, at) => ({
    what: nameOf(one),
    jobs: one.jobs.length,
    lines: requestLines(one, policies[at]),
  }));
  const shown = described.slice(0, shownJobs).flatMap(({ what, jobs, lines }) => {
    const own = lines.filter((line) => !common.has(line)).map((line) => `  ${line.trimStart()}`);
    return [`${what}: ${counted(jobs, 'job')}${own.length === 0 ? ', the same request' : ''}`, ...own];
  });
  return withRest(shown, described.length - shownJobs);
}

const requirementLines = ({ spec }: Plan): string[] =>
  spec.run.requirements === undefined ? [] : [`requirements: ${printable(spec.run.requirements)}`];

/** What is searched, when a trial is judged, and what that comes to. */
function searchLines({ jobs, spec, epochTime }: Plan): string[] {
  const { search, results } = spec;
  if (search === undefined) return [];
  const { metric, direction, ranges, seed, sampler } = search;
  const isLower = direction === undefined ? isLowerBetter(metric, results) : direction === 'minimize';
  const method = searchMethod(search);
  const drawn =
    method === 'grid' ? 'every combination' : `${counted(jobs.length, 'trial')} drawn with seed ${seed}`;
  const lines = given(
    `${drawn} of ${Object.entries(ranges)
      .map(([name, range]) => `${name} (${describeRange(range)})`)
      .join(', ')}`,
    sampler !== undefined && `  ${printable(sampler)} draws others in their place when the run is created`,
    `${method} on ${printable(metric)}: ${isLower ? 'smaller' : 'larger'} is better` +
      (direction === undefined ? ' (by its name, or [results])' : ''),
  );
  const rungs = jobs[0]?.rungs;
  if (rungs === undefined) return lines;
  const { budgets, unit, eta, until } = rungs;
  const reached = expectedTrials(jobs.length, rungs).map(Math.round);
  const { most, expected } = budgetOf(jobs.length, rungs);
  const share = Math.round((100 * expected) / most);
  const stops = budgets
    .slice(0, -1)
    .map(
      (budget, at) =>
        `  rung ${at + 1} (${unit.slice(0, -1)} ${budget}): of about ${reached[at]} go on ${reached[at + 1]}`,
    );
  return [
    ...lines,
    ...stops,
    `  about ${Math.round(expected)} ${unit} are expected, ${share} % of the ${most} of all trials in full`,
    ...(unit === 'epochs' ? hourLines({ most, expected }, epochTime) : []),
    ...(until === undefined
      ? [
          `each trial decides at its rung by what the others have reported there: of ${eta} or fewer, the best goes on`,
        ]
      : roundLines(spec, reached)),
  ];
}

/** Epochs as slot hours, where an earlier run has measured one. */
function hourLines(
  { most, expected }: { most: number; expected: number },
  time: Plan['epochTime'],
): string[] {
  if (time === undefined)
    return [
      '  in slot hours: once a run of this name, such as one with `--canary 1` or `--set search.trials=1`, has ' +
        'trained some epochs, or one that `like` in [run] names',
    ];
  const hours = (epochs: number): string =>
    Number(((epochs * time.seconds) / 3600).toPrecision(2)).toString();
  return [
    `  about ${hours(expected)} slot hours are expected, ${hours(most)} at most, with ` +
      `${formatSeconds(time.seconds)} for an epoch as in ${time.run}; starts and transfers come on top`,
  ];
}

/** Where no notes travel. */
function roundLines({ train }: Plan['spec'], reached: readonly number[]): string[] {
  const again = reached.slice(1).reduce((sum, one) => sum + one, 0);
  return [
    'rungs are rounds, because jobs of this pool share no notes (`chirp = false` in its profile): all trials end ' +
      'at their rung with their checkpoints, then the best go on, queued by `updraft run`, or `updraft submit` again',
    `  that costs the wait for the slowest trial of each round, and about ${counted(again, 'start')} more, ` +
      (train.checkpoint === undefined
        ? 'each from scratch: [train] has no `checkpoint`'
        : 'from checkpoints'),
  ];
}

const describeRange = (range: SearchRange): string =>
  isList(range)
    ? range.map(String).join(', ')
    : Object.entries(range)
        .map(([kind, ends]) => `${kind} ${ends?.join(' to ')}`)
        .join('');

function jobLines({ jobs, spec }: Plan): string[] {
  const matrix = spec.search === undefined ? spec.run.matrix : {};
  const names = Object.entries(matrix).map(([name, entries]) => {
    const own = parametersOf(name, entries);
    return own.length > 1 ? `(${own.join(', ')})` : own.join('');
  });
  const combined = names.length === 0 ? '' : `, every combination of ${names.join(', ')}`;
  const each = names.length > 0 && spec.run.jobs > 1 ? `, each ${spec.run.jobs} times` : '';
  const seeds = spec.run.repeat === undefined ? '' : `, with ${counted(spec.run.repeat, 'seed')}`;
  const lines = [`${counted(jobs.length, 'job')}${combined}${each}${seeds}`];
  if (jobs.length === 1) return lines;
  const called = jobNames(jobs);
  for (const { id, train } of jobs.slice(0, shownJobs))
    lines.push(printable(`${jobLabel(id, called.get(id))}: ${train.command}`));
  return withRest(lines, jobs.length - shownJobs);
}

function fileLines(plan: Plan): string[] {
  const { files } = plan;
  if (files.length === 0) return ['none'];
  const lines = [`${counted(files.length, 'file')}, ${sentBytes(plan)}, sent with every job`];
  for (const file of files.slice(0, shownFiles)) lines.push(`${file.path}  ${formatSize(file.bytes)}`);
  return withRest(lines, files.length - shownFiles);
}

const withRest = (lines: string[], left: number): string[] =>
  left > 0 ? [...lines, `and ${left} more (--json shows all)`] : lines;

function dataLines({ data }: Plan): string[] {
  if (data.length === 0) return ['none'];
  return data.flatMap((source) => {
    const { files, bytes } = source.expect;
    const proofs = given(
      source.sha256 !== undefined && 'its SHA-256',
      source.manifest !== undefined && 'its manifest',
      shardRange(source.url) !== undefined && 'what its servers say of each shard',
      bytes !== undefined && `${bytes} bytes`,
      files !== undefined && counted(files, 'file'),
    );
    return given(
      `${source.name}: ${source.url} -> ${source.into}/ ` +
        `(${isOnDemand(source) ? 'as tar files' : `unpack: ${source.unpack}`})`,
      `  ${source.method}: ${source.why}`,
      isOnDemand(source) && `  ${describeKeep(source.keepBytes)}`,
      '  must match: ' + (proofs.join(', ') || 'nothing declared; add expect or sha256 to verify it'),
      source.arriving &&
        '  the training starts with the first part, and its result counts once all parts have arrived',
      source.tokenFile !== undefined && `  token from ${source.tokenFile}`,
    );
  });
}

const describeKeep = (keep: number | undefined): string =>
  keep === undefined
    ? 'the training asks for its shards; they all stay on disk once they have come'
    : `the training asks for its shards; up to ${formatSize(keep)} of them are on disk at a time`;

export const describeFallback = ({ why, fix }: Fallback): string =>
  `this machine's software, not the Pixi environment: ${why}; ${fix}`;

function softwareLines({ spec, environment }: Plan): string[] {
  const { image, python } = spec.environment;
  const pack = environment?.pack;
  const own = image === undefined ? "the worker's software" : `image ${image}`;
  const where = pack === undefined ? own : `archive ${pack.url}, unpacked before the training`;
  const { facts, fallback } = environment ?? {};
  return given(
    python.length === 0 ? where : `${where}, with the Python modules ${python.join(', ')}`,
    fallback !== undefined && describeFallback(fallback),
    pack !== undefined && `  ${pack.method}: ${pack.why}`,
    ...(facts === undefined
      ? []
      : [
          `Pixi environment ${facts.environment} on ${facts.platform}: Python ${facts.python ?? 'none'}, ` +
            describeTorch(facts),
          `  needs ${describeNeeds(facts)}; ${describeSize(facts)}; packages ${facts.hash.slice(0, 8)}`,
        ]),
  );
}

function describeGpus(gpu: Plan['spec']['resources']['gpu'] = {}): string {
  const words = given(
    gpu.capability !== undefined && `capability ${gpu.capability.toFixed(1)}`,
    gpu.memoryBytes !== undefined && `${formatSize(gpu.memoryBytes)} memory`,
    gpu.cuda !== undefined && `a driver for CUDA ${gpu.cuda}`,
  );
  return words.length === 0 ? '' : ` (at least ${words.join(' and ')})`;
}

function needLines({ spec, disk }: Plan): string[] {
  const { cpus, gpus, memoryBytes, timeSeconds } = spec.resources;
  const parts = given(
    counted(cpus, 'CPU'),
    gpus > 0 && `${counted(gpus, 'GPU')}${describeGpus(spec.resources.gpu)}`,
    `${formatSize(memoryBytes)} memory`,
    `${formatSize(disk.bytes)} disk`,
    timeSeconds !== undefined && `at most ${formatDuration(timeSeconds)} per attempt`,
  );
  return [parts.join(', '), `disk: ${disk.why}`];
}

/** How often to expect an interruption, and what it costs a training with checkpoints. */
function interruptionLines({ spec }: Plan, interruptions: Interruptions | undefined): string[] {
  if (interruptions === undefined) return [];
  const { interrupted, attempts, saveSeconds: save } = interruptions;
  const life = meanLife(interruptions);
  if (life === undefined) return [];
  const every = spec.train.checkpointEverySeconds;
  const lost = (saveSeconds: number): string =>
    `${(100 * expectedLoss(life, saveSeconds, every)).toFixed(1)} %`;
  const chosen = every === undefined ? '' : ` and is made every ${formatDuration(every)}`;
  const known = (seconds: number): string =>
    `  expect to lose ${lost(seconds)} of the time: a checkpoint took ${seconds.toFixed(2)} s in the latest ` +
    `run${chosen}`;
  return [
    `interrupted once in ${formatDuration(Math.max(1, Math.round(life)))} so far (${interrupted} of ` +
      `${counted(attempts, 'attempt')} in ${runsFolder}/):`,
    save === undefined
      ? `  expect to lose ${lost(1)} of the time if a checkpoint takes 1 s, ${lost(10)} if it takes 10 s${chosen}`
      : known(save),
  ];
}

function successLines({ spec }: Plan): string[] {
  const { outputs, check, checkpoint, quietLimitSeconds } = spec.train;
  const lines = [`${outputs.join(', ')} must exist, be newer than the attempt's start, and not be empty`];
  if (check !== undefined) lines.push(`and \`${printable(check)}\` exits with 0`);
  if (checkpoint !== undefined) lines.push(`resumes from ${checkpoint}/`);
  if (quietLimitSeconds !== undefined)
    lines.push(
      `ended as hung after ${formatDuration(quietLimitSeconds)} without output or CPU use (three times that ` +
        'while it uses CPU)',
    );
  return lines;
}
