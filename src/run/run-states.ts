import path from 'node:path';
import { type Clock, defined, printable } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { jobNames, withJsonNumbers } from '../job/describe-parameters.ts';
import { jobId, runFiles } from '../job/layout.ts';
import { followRun } from '../journal/follow-run.ts';
import { type EntrySource, loadOutline, loadRun } from '../journal/load-run.ts';
import { percentagesOf } from '../journal/metrics.ts';
import type { JobState, RunState } from '../journal/state.ts';
import { readJournalEnds } from '../journal/tail.ts';
import { poolKind } from '../pool/open-pool.ts';
import { readPlan } from '../pool/read-plan.ts';

/** The state of a run on any pool, from its folder alone. */
export async function readRunState(runFolder: string): Promise<RunState> {
  const state = await loadRun(runFolder, await poolSource(runFolder));
  return addNames(await readNames(runFolder))(state);
}

/** The same without what its attempts report themselves: much cheaper for a run of many jobs. */
export async function readRunOutline(runFolder: string): Promise<RunState> {
  return loadOutline(runFolder, await poolSource(runFolder));
}

/** The states of a run on any pool, from now until it ends. */
export async function* followRunStates(
  runFolder: string,
  options: { clock: Clock; signal?: AbortSignal },
): AsyncGenerator<RunState, void, undefined> {
  const complete = addNames(await readNames(runFolder));
  for await (const state of followRun(runFolder, { ...options, source: await poolSource(runFolder) }))
    yield complete(state);
}

type Planned = Pick<JobState, 'parameters' | 'name' | 'directions'>;

/** The jobs' values of the matrix and their names, by id, and how their metrics are judged; none if all are alike. */
async function readNames(folder: string): Promise<Map<string, Planned>> {
  // A copy of a run may lack its plan.
  const { jobs = [], spec } = (await readPlan(folder).catch(() => undefined)) ?? {};
  const directions = spec?.results;
  const names = jobNames(jobs);
  const known = jobs.filter(({ parameters }) => directions ?? Object.keys(parameters).length > 0);
  const cells = withJsonNumbers(known.map(({ parameters }) => parameters));
  const plannedAt = (at: number, name?: string): Planned =>
    defined({ parameters: cells[at], name, directions });
  return new Map(known.map(({ id }, at) => [id, plannedAt(at, names.get(id))]));
}

/** A job that has not changed stays the same object: views print only those that have. */
function addNames(known: Awaited<ReturnType<typeof readNames>>): (state: RunState) => RunState {
  let completed = new WeakMap<JobState, JobState>();
  let percentages: string[] | undefined;
  const complete = (job: JobState): JobState => {
    const made = completed.get(job) ?? { ...job, ...known.get(job.id), ...defined({ percentages }) };
    completed.set(job, made);
    return made;
  };
  return (state) => {
    const found = percentagesOf(state.jobs);
    if (found.length !== (percentages ?? []).length) [completed, percentages] = [new WeakMap(), found];
    return known.size + found.length === 0 ? state : { ...state, jobs: state.jobs.map(complete) };
  };
}

/** What the run's pool knows beyond the journals. */
async function poolSource(runFolder: string): Promise<EntrySource | undefined> {
  const name = await poolOf(runFolder);
  return name === undefined ? undefined : await poolKind(name)?.source(runFolder);
}

/** A journal may have lost its beginning, and a copy of a run its plan. */
async function poolOf(runFolder: string): Promise<string | undefined> {
  const { first } = await readJournalEnds(path.join(runFolder, runFiles.journal)).catch(() => ({
    first: undefined,
  }));
  if (first?.kind === 'run-created') return first.pool;
  const plan = await readPlan(runFolder).catch(() => undefined);
  return plan?.spec.run.pool;
}

/** The job of a run that a user names, as `0003` or `3`. */
export function findJob({ run, jobs }: RunState, word: string): JobState {
  const id = /^\d+$/.test(word) ? jobId(Number(word)) : word;
  const found = jobs.find((job) => job.id === word || job.id === id);
  if (found !== undefined) return found;
  throw new Fault('usage', `${printable(run)} has no job "${printable(word)}"`, {
    about: word,
    fix:
      jobs.length === 1
        ? `use ${jobs[0]?.id ?? ''}, its only job`
        : `use one of its jobs, ${jobs[0]?.id ?? ''} to ${jobs.at(-1)?.id ?? ''}`,
  });
}
