import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '../../base/map-limited.ts';
import { scanEventLog } from '../../eventlog/read-event-log.ts';
import { attemptFiles, attemptFolder, jobId, runFiles } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { readJournal } from '../../journal/read-journal.ts';
import type { AttemptState, JobState, RunState } from '../../journal/state.ts';
import { condorFiles } from '../../pool/condor/condor-files.ts';
import { recoveryRules } from '../../pool/condor/recovery-rules.ts';
import { supervisorState } from '../../pool/local/supervisor-state.ts';
import { causes } from '../../recovery/causes.ts';
import { decide, type Decision, type EndedAttempt } from '../../recovery/decide.ts';
import { explainRunJob, type FiledEntry } from '../../recovery/explain-run-job.ts';
import { explainStory } from '../../recovery/explain-story.ts';
import type { Explanation } from '../../recovery/explanation.ts';
import { StoryFold } from '../../recovery/story-fold.ts';
import type { RunRules } from '../../recovery/what-is-done.ts';
import { readPlan } from '../../run/read-plan.ts';

/** Journals read at once. */
const readAtOnce = 32;

/** Explains these jobs of a run, from its folder alone. */
export async function explainRun(
  folder: string,
  state: RunState,
  jobs: readonly JobState[],
  now: number,
): Promise<Explanation[]> {
  // A copy of a run may have lost its plan; what its journals say is explained all the same.
  const plan = await readPlan(folder).catch(() => undefined);
  const journal = (await readJournal(path.join(folder, runFiles.journal))).entries;
  const submitted = journal.flatMap((entry) => (entry.kind === 'submitted' ? [entry.cluster] : []));
  const rules = plan === undefined ? undefined : await runRules(folder, plan);
  const fromLog =
    state.pool === 'condor' ? await explainEvents(folder, state.run, new Set(submitted), rules) : undefined;
  const isSupervised = await hasSupervisor(folder, state);
  const run = journal.map((entry) => ({ file: runFiles.journal, entry }));
  return mapLimited(jobs, readAtOnce, async (job) =>
    explainRunJob({
      job,
      entries: [...(await agentEntries(folder, job)), ...run.filter((one) => isAbout(one, job.id))],
      decision: plan === undefined || fromLog !== undefined ? undefined : decisionOn(job, plan, now),
      fromLog: fromLog && (fromLog.get(job.id) ?? notYetQueued(job.id)),
      isSupervised,
    }),
  );
}

async function hasSupervisor(folder: string, { pool, endedAt }: RunState): Promise<boolean> {
  if (pool !== 'local' || endedAt !== undefined) return true;
  const { state } = await supervisorState(folder);
  return state === 'running' || state === 'elsewhere';
}

function decisionOn({ attempts }: JobState, plan: Plan, now: number): Decision | undefined {
  if (attempts.some(({ outcome }) => outcome === undefined)) return undefined;
  return decide(attempts.map(asEnded), plan.spec.run.attempts, now);
}

const asEnded = ({ outcome, fault, endedAt }: AttemptState): EndedAttempt => ({
  ...{ outcome: outcome ?? 'lost', fault },
  endedAt: Date.parse(endedAt ?? ''),
});

function isAbout({ entry }: FiledEntry, job: string): boolean {
  if (entry.kind === 'stop-requested') return entry.jobs === 'all' || entry.jobs.includes(job);
  return 'job' in entry && entry.job === job;
}

async function agentEntries(folder: string, { id, attempts }: JobState): Promise<FiledEntry[]> {
  const perAttempt = await mapLimited(attempts, readAtOnce, async ({ attempt }) => {
    const file = path.join(attemptFolder(folder, id, attempt), attemptFiles.journal);
    const { entries } = await readJournal(file);
    return entries.map((entry) => ({ file: path.relative(folder, file), entry }));
  });
  return perAttempt.flat();
}

/** What HTCondor's log says of the jobs of the run, by their ids. */
async function explainEvents(
  folder: string,
  run: string,
  clusters: Set<number>,
  rules: RunRules | undefined,
): Promise<Map<string, Explanation>> {
  const fold = new StoryFold(condorFiles.eventLog);
  const log = path.join(folder, condorFiles.eventLog);
  // Before the jobs are in the queue there is no log.
  const isThere = await stat(log).catch(() => undefined);
  if (isThere !== undefined)
    await scanEventLog(log, (event) => {
      if (event.kind === 'submit' && event.details.batchName === run) clusters.add(event.cluster);
      if (clusters.has(event.cluster)) fold.add(event);
    });
  return new Map(fold.stories().map((story) => [jobId(procOf(story.id)), explainStory(story, rules)]));
}

/** A job that HTCondor has not written about. */
const notYetQueued = (job: string): Explanation => ({
  ...{ job, standing: 'waiting', cause: 'waits-for-slot', title: causes['waits-for-slot'] },
  because: [
    'HTCondor’s log has nothing of it yet: it is not in the queue, or waits until others have left it.',
  ],
  evidence: [],
  doing: ['If the run is submitted, HTCondor takes it when its turn comes.'],
  advice: ['See what the queue has: condor_q'],
});

const procOf = (id: string): number => Number(id.split('.')[1]);

/** The rules the access point follows for the run, if they are ours: an adopted submit file has its own. */
async function runRules(folder: string, plan: Plan): Promise<RunRules | undefined> {
  const text = await readFile(path.join(folder, condorFiles.submit), 'utf8').catch(() => '');
  const [, seconds] = /^periodic_release = NumHolds < \d+ .* > (\d+) \* pow\(2, NumHolds\)/m.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const firstReleaseSeconds = Number(seconds);
  const rules = recoveryRules(plan, firstReleaseSeconds);
  return { ...rules, attempts: plan.spec.run.attempts, firstReleaseSeconds, file: condorFiles.submit };
}
