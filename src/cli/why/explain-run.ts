import { readdir, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '../../base/map-limited.ts';
import { causeTitle } from '../../codes/causes.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import { scanEventLog } from '../../eventlog/read-event-log.ts';
import type { JobHistory } from '../../history/history.ts';
import { LogFold } from '../../history/log-fold.ts';
import { attemptFiles, attemptFolder, runFiles } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { readJournal } from '../../journal/read-journal.ts';
import type { JobState, RunState } from '../../journal/state.ts';
import { condorFiles } from '../../pool/condor/condor-files.ts';
import { RunClusters } from '../../pool/condor/follow/run-clusters.ts';
import { writtenPolicy } from '../../pool/condor/submit/policy-file.ts';
import { localPolicy } from '../../pool/local/local-policy.ts';
import { supervisorState } from '../../pool/supervisor-state.ts';
import { taskJournal } from '../../pool/slurm/slurm-files.ts';
import { decide, historyOf, type Decision } from '../../recovery/decide.ts';
import { readPlan } from '../../pool/read-plan.ts';
import { explainRunJob, type FiledEntry } from '../../why/explain-run-job.ts';
import { explainStory } from '../../why/explain-story.ts';
import type { RunRules } from '../../why/what-is-done.ts';

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
  const rules = await runRules(folder);
  const fromLog = state.pool === 'condor' ? await explainEvents(folder, rules) : undefined;
  const isSupervised = await hasSupervisor(folder, state);
  const run = journal.map((entry) => ({ file: runFiles.journal, entry }));
  return mapLimited(jobs, readAtOnce, async (job) =>
    job.isKeptBack
      ? explainKeptBack(state, job.id)
      : explainRunJob({
          job,
          entries: [
            ...(await agentEntries(folder, job)),
            ...(await taskEntries(folder, job.id)),
            ...run.filter((one) => isAbout(one, job.id)),
          ],
          decision: plan === undefined || state.pool !== 'local' ? undefined : decisionOn(job, plan, now),
          queue: state.pool === 'slurm' ? 'Slurm' : undefined,
          fromLog: fromLog && (fromLog.get(job.id) ?? neverQueued(job)),
          isSupervised,
        }),
  );
}

async function hasSupervisor(folder: string, { pool, endedAt }: RunState): Promise<boolean> {
  if (pool !== 'local' || endedAt !== undefined) return true;
  const { state } = await supervisorState(folder);
  return state === 'running' || state === 'elsewhere';
}

function decisionOn(
  { attempts, attemptsBefore = 0 }: JobState,
  plan: Plan,
  now: number,
): Decision | undefined {
  if (attempts.some(({ outcome }) => outcome === undefined)) return undefined;
  const ofRound = attempts.filter(({ attempt }) => attempt > attemptsBefore);
  return decide(historyOf(ofRound), localPolicy(plan), now);
}

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

/** On Slurm each job has a journal of its own. */
async function taskEntries(folder: string, job: string): Promise<FiledEntry[]> {
  const file = taskJournal(folder, job);
  return (await readJournal(file)).entries.map((entry) => ({ file: path.relative(folder, file), entry }));
}

/** What HTCondor's log says of the jobs of the run, by their ids. */
async function explainEvents(folder: string, rules: RunRules | undefined): Promise<Map<string, Explanation>> {
  const fold = new LogFold({ evidence: condorFiles.eventLog, ours: rules !== undefined });
  const clusters = new RunClusters(folder);
  await clusters.refresh();
  const log = path.join(folder, condorFiles.eventLog);
  // Before the jobs are in the queue there is no log.
  const isThere = await stat(log).catch(() => undefined);
  if (isThere !== undefined)
    await scanEventLog(log, (event) => {
      if (clusters.has(event) === true) fold.add(event);
    });
  const jobOf = (id: string): string => clusters.whose(...nameOf(id)).job;
  const named = await readInputNames(folder);
  const explain = (story: JobHistory): Explanation => {
    const explained = explainStory(story, rules);
    return { ...explained, because: explained.because.map(named) };
  };
  // Of a job that was submitted again, the latest story counts.
  return new Map(fold.finish().map((story) => [jobOf(story.id), explain(story)]));
}

/** A job that HTCondor has not written about. */
const neverQueued = ({ id, status }: JobState): Explanation =>
  status === 'ended' ? removedBefore(id) : notYetQueued(id);

/** The rest of a cluster that was removed before HTCondor had put all of it into the queue. */
const removedBefore = (job: string): Explanation => ({
  job,
  standing: 'removed',
  cause: 'user',
  title: 'it was removed before it was in the queue',
  because: [
    'HTCondor puts the jobs of a large run into its queue as others leave; this one’s turn never came.',
  ],
  evidence: [],
  doing: ['Nothing: the run was stopped.'],
  advice: ['If it is still wanted: updraft retry'],
});

const notYetQueued = (job: string): Explanation => ({
  job,
  standing: 'waiting',
  cause: 'waits-for-slot',
  title: causeTitle('waits-for-slot'),
  because: [
    'HTCondor’s log has nothing of it yet: it is not in the queue, or waits until others have left it.',
  ],
  evidence: [],
  doing: ['If the run is submitted, HTCondor takes it when its turn comes.'],
  advice: ['See what the queue has: condor_q'],
});

function nameOf(id: string): [cluster: number, proc: number] {
  const [cluster, proc] = id.replace(/#.*$/, '').split('.');
  return [Number(cluster), Number(proc)];
}

/** The rules the access point follows for the run, if they are ours: an adopted submit file has its own. */
async function runRules(folder: string): Promise<RunRules | undefined> {
  const policy = await writtenPolicy(folder);
  return policy === undefined ? undefined : { policy, file: condorFiles.submit };
}

/**
 * HTCondor is given files under links in the run's folder and speaks of those; people know the files by the names they
 * gave them. Gives what puts the one for the other in a sentence.
 */
async function readInputNames(folder: string): Promise<(said: string) => string> {
  const inputs = path.join(folder, condorFiles.inputs);
  const names = await readdir(inputs).catch(() => []);
  const links = await Promise.all(
    names.map(async (name) => {
      const file = await readlink(path.join(inputs, name)).catch(() => undefined);
      return file === undefined ? [] : [[name, file] as const];
    }),
  );
  // The longest first: one name may be the beginning of another.
  const known = links.flat().sort(([one], [other]) => other.length - one.length);
  return (said) =>
    known.reduce((text, [name, file]) => {
      const spellings = [path.join(inputs, name), `${condorFiles.inputs}/${name}`];
      return spellings.reduce((words, spelling) => words.replaceAll(spelling, () => file), text);
    }, said);
}

/** A job that waits for its canaries. */
function explainKeptBack({ jobs, endedAt, pool }: RunState, job: string): Explanation {
  const ahead = jobs.filter(({ isKeptBack }) => !isKeptBack);
  const bad = ahead.filter(({ outcome }) => outcome !== undefined && outcome !== 'success');
  const named = bad
    .map(({ id }) => id)
    .slice(0, 8)
    .join(', ');
  return {
    job,
    standing: 'waiting',
    cause: 'waits-for-slot',
    title:
      bad.length > 0
        ? 'it is kept back: a job that went ahead failed'
        : 'it is kept back until those before it are done',
    because: [
      bad.length > 0
        ? `It was not queued, because ${named} of the ${ahead.length} jobs that went ahead ended without a valid result.`
        : `It is queued when all ${ahead.length} jobs that went ahead have a valid result.`,
    ],
    evidence: [],
    doing: [
      endedAt !== undefined
        ? 'Nothing: the run stopped at its canary.'
        : pool === 'local'
          ? 'The supervisor of the run goes on by itself.'
          : '`updraft run` goes on by itself while it watches; otherwise nobody does.',
    ],
    advice:
      bad.length > 0
        ? [
            `See why with \`updraft why\` and ${bad[0]?.id ?? ''}, then \`updraft retry\`: when that is good, this one follows.`,
          ]
        : ['`updraft submit` with the folder of the run goes on with it.'],
  };
}
