import { defined, isTable } from '@updraft/base';
import { Fault, usageFault } from '@updraft/account/fault';
import type { JobState, RungPlace } from '@updraft/account/journal';
import { judge, mergeResults } from '../search/rungs.ts';
import { gridTrials, randomTrials, spaceSize, type Trial } from '../search/trials.ts';
import { fillJob, listJobs } from './expand.ts';
import { rangeForms, searchSchema } from './file-schema.ts';
import type { Job } from './job.ts';
import { type Plan, rungsOf } from './plan.ts';
import { entriesAt, FileProblems, type SourceFile, valueAt } from './source-file.ts';
import type { Spec } from './spec.ts';

type Search = NonNullable<Spec['search']>;

/** What the trials of a search are in the matrix: one group of parameters that belong together. */
const group = 'trial';

/** The file with the trials of its search as a matrix; as it is without a search, or with one that is refused. */
export function withTrials(source: SourceFile): SourceFile {
  const { value } = source;
  const written = valueAt(value, ['search']);
  if (written === undefined || !isTable(value)) return source;
  const search = searchSchema.safeParse(written).data;
  const problems = new FileProblems(source);
  checkSearch(problems, search);
  const isFine = search !== undefined && problems.found.length === 0;
  // So that its placeholders are known.
  const unread = Object.fromEntries(entriesAt(written, ['ranges']).map(([name]) => [name, 0]));
  const isUsed = (name: string): boolean => JSON.stringify(value).includes(`{${name}}`);
  const trials = isFine ? trialsOf(search, isUsed) : [{ epochs: 0, steps: 0, ...unread }];
  const run = valueAt(value, ['run']) ?? {};
  if (!isTable(run) || (!isFine && Object.keys(unread).length === 0)) return source;
  return { ...source, value: { ...value, run: { ...run, matrix: { [group]: trials } } } };
}

/** `isUsed`: whether the job file has a placeholder of this name. `drawn`: by a sampler of the user's. */
function trialsOf(search: Search, isUsed: (name: string) => boolean, drawn?: readonly Trial[]): Trial[] {
  const { ranges, trials = Infinity, seed } = search;
  if (searchMethod(search) === 'grid') return gridTrials(ranges).slice(0, trials);
  const [unit, budget] = budgetOf(search);
  const own = budget !== undefined && !Object.hasOwn(ranges, unit) && isUsed(unit) ? { [unit]: budget } : {};
  return (drawn ?? randomTrials(ranges, trials, seed)).map((one) => ({ ...one, ...own }));
}

/** Epochs or steps of a whole training. */
const budgetOf = ({ epochs, steps }: Search): [unit: string, budget: number | undefined] =>
  steps === undefined ? ['epochs', epochs?.at(-1)] : ['steps', steps.at(-1)];

/** The plan of a search whose first `before` trials are its jobs, with `more` added: those `drawn`, or else ours. */
export function withMoreTrials(plan: Plan, before: number, more: number, drawn?: readonly Trial[]): Plan {
  const search = searchOf(plan);
  const [trials, size] = [before + more, spaceSize(search.ranges)];
  if (trials > size)
    throw usageFault(
      `the ranges have ${size} combinations, and ${before} of them are trials`,
      size > before ? `add fewer: --trials +${size - before}` : 'widen a range, and start a new run',
      plan.file,
    );
  if (plan.variants !== undefined)
    throw usageFault(
      'trials whose data, software or resources differ cannot be added',
      'set more `trials` in the job file, and start a new run',
      plan.file,
    );
  const isUsed = (name: string): boolean => Object.hasOwn(plan.jobs[0]?.parameters ?? {}, name);
  const all = trialsOf({ ...search, trials }, isUsed, drawn);
  const { overrides = { with: [], set: [] }, spec } = plan;
  return {
    ...withTrialsFrom(
      { ...plan, spec: { ...spec, search: { ...search, trials } } },
      before,
      all.slice(-more),
    ),
    // So that the job file still describes the run.
    overrides: { ...overrides, set: [...overrides.set, `search.trials=${trials}`] },
  };
}

/** The plan with these trials after the first `before` of its jobs. */
function withTrialsFrom(plan: Plan, before: number, trials: readonly Trial[]): Plan {
  const first = plan.jobs.slice(0, before);
  const matrix = { [group]: [...first.map(({ parameters }) => parameters), ...trials] };
  const spec = { ...plan.spec, run: { ...plan.spec.run, matrix } };
  const rungs = defined({ rungs: rungsOf(spec) });
  const until = plan.jobs.some((job) => job.rungs?.until !== undefined) ? 1 : undefined;
  const added = listJobs(spec.run)
    .slice(before)
    .map((job) => untilRung({ ...fillJob(spec.train, job), ...rungs }, until));
  return { ...plan, spec, jobs: [...first, ...added] };
}

/** The plan with the trials that a sampler has drawn, if one has, instead of ours. */
export const withDrawnTrials = (plan: Plan, drawn: readonly Trial[] | undefined): Plan =>
  drawn === undefined
    ? plan
    : withTrialsFrom(
        plan,
        0,
        drawn.map((one) => ({ ...plan.jobs[0]?.parameters, ...one })),
      );

/** The plan in which these trials train `times` as long as any so far, and none of them is stopped. */
export function withLargerBudget(plan: Plan, chosen: readonly string[], times: number): Plan {
  const search = searchOf(plan);
  const { spec, file: about } = plan;
  const rungs = rungsOf(spec);
  if (rungs === undefined)
    throw usageFault(
      'this search has no rungs, so its trials have no budget',
      'write rungs into [search], like epochs = [1, 3, 9], and start a new run',
      about,
    );
  const { unit } = rungs;
  if (Object.hasOwn(search.ranges, unit) || !Object.hasOwn(plan.jobs[0]?.parameters ?? {}, unit))
    throw usageFault(
      `the job file does not say to the training how many ${unit} it has`,
      `write {${unit}} into its command, like --${unit} {${unit}}, and start a new run`,
      about,
    );
  const longest = plan.jobs.reduce((most, job) => Math.max(most, job.rungs?.budgets.at(-1) ?? 0), 0);
  const budget = Math.ceil(longest * times);
  const jobs = plan.jobs.map((job): Job => {
    if (!chosen.includes(job.id)) return job;
    const values = { id: job.id, index: Number(job.id), rank: 0 };
    const budgets = [...(job.rungs ?? rungs).budgets, budget];
    const filled = fillJob(spec.train, { ...values, parameters: { ...job.parameters, [unit]: budget } });
    return { ...filled, rungs: { ...rungs, budgets, eta: 1 } };
  });
  const matrix = { [group]: jobs.map(({ parameters }) => parameters) };
  return { ...plan, jobs, spec: { ...spec, run: { ...spec.run, matrix } } };
}

/** The plan in which rungs are rounds: no trial hears of another while it runs. */
export const inRounds = (plan: Plan): Plan => ({ ...plan, jobs: plan.jobs.map((job) => untilRung(job, 1)) });

const untilRung = (job: Job, until: number | undefined): Job =>
  job.rungs === undefined || until === undefined ? job : { ...job, rungs: { ...job.rungs, until } };

/** By what all trials have reported, who of those that wait goes on; and the plan in which these have another rung. */
export function judgeRound(
  plan: Plan,
  waiting: readonly JobState[],
  all: readonly JobState[],
): { judged: ({ job: string } & RungPlace)[]; extended: Plan } {
  const rungs = rungsOf(plan.spec);
  const resultsAt = (rung: number): Map<string, number> =>
    mergeResults(
      all.flatMap(({ id: trial, attempts }) =>
        attempts.flatMap(({ number: attempt, agent }) =>
          (agent?.training?.rungs ?? [])
            .filter((one) => one.rung === rung)
            .map(({ value }) => ({ trial, attempt, value })),
        ),
      ),
    );
  const judged = waiting.map(({ id: job, atRung: rung = 0 }) => {
    const results = resultsAt(rung);
    const own = results.get(job);
    results.delete(job);
    const others = [...results.values()];
    // One whose report was lost is not stopped.
    if (rungs === undefined || own === undefined)
      return { job, rung, seen: others.length, better: 0, goesOn: true };
    return { job, rung, ...judge(own, others, rungs) };
  });
  const nextOf = new Map(judged.map(({ job, rung }) => [job, rung + 1]));
  const jobs = plan.jobs.map((job) => untilRung(job, nextOf.get(job.id) ?? job.rungs?.until));
  return { judged, extended: { ...plan, jobs } };
}

function searchOf({ file, spec: { search } }: Plan): Search {
  if (search !== undefined) return search;
  throw new Fault('usage', 'this run has no [search], so it has no trials', { about: file });
}

/** Only with rungs can a trial be stopped. */
export const searchMethod = ({ method, epochs, steps }: Pick<Search, 'method' | 'epochs' | 'steps'>) =>
  method ?? ((epochs ?? steps) === undefined ? 'random' : 'asha');

const maxTrials = 100_000;

/** Where [search] contradicts itself or the rest of the file. */
export function checkSearch(
  file: FileProblems,
  search = searchSchema.safeParse(file.get('search')).data,
): void {
  if (search === undefined) return;
  const say = (message: string, ...key: string[]): void => file.say(message, 'search', ...key);
  const { ranges, trials, epochs, steps } = search;
  const method = searchMethod(search);
  const rungs = (['epochs', 'steps'] as const).filter((unit) => search[unit] !== undefined);
  if (rungs.length === 2) say('the rungs are in epochs already; remove one of the two', 'steps');
  if (method === 'asha' && (epochs ?? steps) === undefined)
    say('"asha" needs its rungs; add them, like epochs = [1, 3, 9, 27]', 'method');
  if (method !== 'asha' && rungs[0] !== undefined)
    say(`method = "${method}" stops no trial; remove the rungs, or the method`, rungs[0]);
  for (const [name, range] of Object.entries(ranges)) {
    const problem = rangeProblem(range);
    if (problem !== undefined) say(problem, 'ranges', name);
  }
  // What is no range has no size.
  if (Object.values(ranges).some(rangeProblem)) return;
  const size = spaceSize(ranges);
  const [open] = Object.entries(ranges).find(([, one]) => spaceSize({ one }) === Infinity) ?? [];
  if (method === 'grid' && open !== undefined)
    say(
      'has any number of values, and a grid needs a list, like [0.1, 0.01], or { int = […] }',
      'ranges',
      open,
    );
  else if (method === 'grid' && size > maxTrials)
    say(`has ${size} combinations; expected at most ${maxTrials}`, 'ranges');
  else if (method !== 'grid' && trials === undefined)
    say('says not how many trials there are; add trials = 60, or method = "grid"');
  if (trials !== undefined && trials > size)
    say(`is ${trials}, but the ranges have ${size} combinations; expected that or less`, 'trials');
}

function rangeProblem(range: Search['ranges'][string]): string | undefined {
  if (Array.isArray(range))
    return new Set(range).size < range.length ? 'has a value twice; remove one of them' : undefined;
  const [one, ...others] = Object.entries(range).filter(([, ends]) => ends !== undefined);
  const [kind, [low, high] = [NaN, NaN]] = one ?? [];
  if (kind === 'log' && low <= 0) return `begins at ${low}, which has no logarithm; expected more than 0`;
  // Between them are too few numbers to draw from.
  if (high > low && high - low < 1e-10 * Math.max(-low, high))
    return `has ends that differ by ${high - low} only; expected a wider range`;
  const isWhole = kind !== 'int' || [low, high].every(Number.isSafeInteger);
  const isFinite = Number.isFinite(kind === 'log' ? high / low : high - low);
  return low < high && isFinite && isWhole && others.length === 0
    ? undefined
    : `is no range; expected ${rangeForms}`;
}

/** What a search takes the place of; on the file as it was written. */
export function checkNoMatrix(file: FileProblems): void {
  for (const key of file.has('search') ? ['matrix', 'jobs', 'repeat'] : [])
    if (file.has('run', key))
      file.sayOfKey('does not go with [search], where each trial is a job; remove one of them', 'run', key);
}
