import path from 'node:path';
import { clip, counted, defined, mapLimited, printable, printableLines, given } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import { lastTraceback, ofFailingRank } from '@updraft/base/training';
import { causeTitle } from '@updraft/account/codes';
import { explainRunJob, explainTrainingError, type Explanation, type FiledEntry } from '@updraft/account/why';
import { readEnd } from '../../dashboard/run-source.ts';
import { jobLabel } from '@updraft/account/parameters';
import { attemptFiles, attemptFolder, runFiles } from '@updraft/account/run-folder';
import {
  endedBadly,
  isProgressLine,
  type JobState,
  JournalTail,
  readRunJournal,
  readWhole,
  type RunState,
} from '@updraft/account/journal';
import { poolKind } from '../../pool/open-pool.ts';
import { type PoolRecords, readPlan } from '../../pool/pool.ts';
import { decide, type Decision, pastAttempts, type Policy } from '@updraft/account/recovery';

/** Journals read in parallel. */
const maxParallelReads = 32;

/** Explains these jobs of a run, from its folder alone. */
export async function explainRun(
  folder: string,
  state: RunState,
  jobs: readonly JobState[],
  now: number,
): Promise<Explanation[]> {
  // A copy of a run may lack its plan; its journals are explained anyway.
  const plan = await readPlan(folder).catch(() => undefined);
  const journal = await readRunJournal(folder);
  const pool = poolKind(state.pool);
  const account = await pool?.account(folder);
  const isSupervised = await hasSupervisor(folder, state, pool);
  const policy = plan && pool?.supervisedBy?.(plan);
  const run = journal.map((entry) => ({ file: runFiles.journal, entry }));
  return mapLimited(jobs, maxParallelReads, async (job) => {
    const named = defined({ parameters: job.parameters, name: job.name });
    if (job.atRung !== undefined) return { ...explainRungWait(job.id, job.atRung), ...named };
    if (job.isKeptBack) return { ...explainCanaryWait(state, job.id, pool), ...named };
    const history = account?.histories?.get(job.id);
    if (account?.histories !== undefined && history === undefined && job.attempts.length === 0)
      return { ...neverQueued(job), ...named };
    const logged = history && { history, rules: account?.rulesOf?.(job.id) };
    const entries = await agentEntries(folder, job);
    const explained = explainRunJob({
      job,
      entries: [
        ...entries,
        ...(await entriesIn(folder, pool?.jobJournal?.(job.id))),
        ...run.filter((one) => isAbout(one, job.id)),
      ],
      decision: policy && decisionOn(job, policy, now),
      queue: pool?.traits.runsHere === false ? pool.traits.title : undefined,
      logged,
      isSupervised,
      now,
    });
    const { traceback, message } = await lastPrinted(folder, job, entries);
    const isOwnFailure = explained.cause === 'training-failed' || explained.cause === 'command-missing';
    const usual = isOwnFailure ? explainTrainingError(message) : undefined;
    return {
      ...named,
      ...explained,
      because: given(
        ...explained.because.map((said) => account?.withUserNames?.(said) ?? said),
        usual !== undefined && usual.because,
      ),
      advice: usual === undefined ? explained.advice : [usual.fix, ...explained.advice],
      ...defined({ traceback }),
    };
  });
}

/** Enough for any traceback. */
const tailBytes = 64 * 1024;

/** The end of the traceback of a training that failed in the job's last attempt, and what it says. */
async function lastPrinted(
  folder: string,
  { id, attempts }: JobState,
  entries: readonly FiledEntry[],
): Promise<Pick<Explanation, 'traceback'> & { message: string }> {
  const last = attempts.at(-1)?.number;
  const failed = entries
    .flatMap(({ entry }) => (entry.kind === 'training-ended' && entry.status !== 0 ? [entry] : []))
    .findLast(({ attempt }) => attempt === last);
  if (last === undefined || failed === undefined) return { message: '' };
  const file = path.join(attemptFolder(folder, id, last), attemptFiles.err);
  const printed = await readEnd(file, tailBytes).catch(() => undefined);
  const all = withoutSecrets(printed?.text ?? '').split(/\r?\n/);
  const traced = lastTraceback(all, failed.rank);
  const raised = traced.find((line) => /^\S/.test(line)) ?? '';
  const plain = ofFailingRank(all, failed.rank);
  const message = plain.slice(plain.lastIndexOf(raised)).slice(0, maxMessage).join('\n');
  const lines = traced.map(tracedLine);
  return lines.length === 0
    ? { message }
    : { message, traceback: { file: path.relative(folder, file), lines } };
}

/** Lines of an exception that are compared with the usual ones. */
const maxMessage = 6;
const longestLine = 400;

/** With its indentation. */
const tracedLine = (line: string): string => clip(printableLines(line).trimEnd(), longestLine);

async function hasSupervisor(
  folder: string,
  { endedAt }: RunState,
  pool: PoolRecords | undefined,
): Promise<boolean> {
  if (endedAt !== undefined) return true;
  const supervisor = await pool?.supervisor?.(folder);
  return supervisor === undefined || supervisor.state === 'running' || supervisor.state === 'elsewhere';
}

function decisionOn(
  { attempts, attemptsBefore = 0 }: JobState,
  policy: Policy,
  now: number,
): Decision | undefined {
  if (attempts.some(({ ending }) => ending === 'running')) return undefined;
  const ofRound = attempts.filter(({ number: attempt }) => attempt > attemptsBefore);
  return decide(pastAttempts(ofRound), policy, now);
}

function isAbout({ entry }: FiledEntry, job: string): boolean {
  if (entry.kind === 'stop-requested') return entry.jobs === 'all' || entry.jobs.includes(job);
  return 'job' in entry && entry.job === job;
}

async function agentEntries(folder: string, { id, attempts }: JobState): Promise<FiledEntry[]> {
  const perAttempt = await mapLimited(attempts, maxParallelReads, ({ number: attempt }) =>
    entriesIn(
      folder,
      path.relative(folder, path.join(attemptFolder(folder, id, attempt), attemptFiles.journal)),
    ),
  );
  return perAttempt.flat();
}

/** The entries of a journal in the run's folder, without the training's reports. */
async function entriesIn(folder: string, file: string | undefined): Promise<FiledEntry[]> {
  if (file === undefined) return [];
  const filed: FiledEntry[] = [];
  // Reports are nearly all of a long journal, and explain nothing: they are not even decoded.
  const tail = new JournalTail(path.join(folder, file), (line) => !isProgressLine(line));
  await readWhole(tail, (entries) => {
    for (const entry of entries) filed.push({ file, entry });
  });
  return filed;
}

/** A job that is not in HTCondor's log. */
function neverQueued({ id: job, status }: JobState): Explanation {
  const notYet: Explanation = {
    job,
    standing: 'waiting',
    cause: 'waits-for-slot',
    title: causeTitle('waits-for-slot'),
    because: [
      "HTCondor's log does not mention it yet: it is not queued, or waits until other jobs leave the queue.",
    ],
    evidence: [],
    doing: ['If the run is submitted, HTCondor queues it when its turn comes.'],
    advice: ['To see the queue, run: condor_q'],
  };
  if (status !== 'ended') return notYet;
  // The cluster was removed before HTCondor had queued all of it.
  return {
    ...notYet,
    standing: 'removed',
    cause: 'user',
    title: 'it was removed while it waited to be queued',
    because: ["HTCondor queues the jobs of a large run as others leave; this one's turn never came."],
    doing: ['Nothing: the run was stopped.'],
    advice: ['If you still need it, run: updraft retry'],
  };
}

const toContinue = "To continue, run `updraft submit` with the run's folder.";

const explainRungWait = (job: string, rung: number): Explanation => ({
  job,
  standing: 'waiting',
  cause: 'waits-for-slot',
  title: `it waits at rung ${rung} for the next round`,
  because: ['It ended there with its checkpoint; the best go on once all trials of the round have ended.'],
  evidence: [],
  doing: ['`updraft run` or `updraft watch` queues them then; nothing else does.'],
  advice: [toContinue],
});

function explainCanaryWait(
  { jobs, endedAt }: RunState,
  job: string,
  pool: PoolRecords | undefined,
): Explanation {
  const ahead = jobs.filter(({ isKeptBack }) => !isKeptBack);
  const bad = ahead.filter(endedBadly);
  const named = bad
    .slice(0, 8)
    .map(({ id, name }) => printable(jobLabel(id, name)))
    .join(', ');
  return {
    job,
    standing: 'waiting',
    cause: 'waits-for-slot',
    title:
      bad.length > 0
        ? 'it is kept back: a canary job failed'
        : 'it is kept back until the canary jobs are done',
    because: [
      bad.length > 0
        ? `It was not queued, because ${named} of the ${counted(ahead.length, 'canary job')} ended without a ` +
          'valid result.'
        : `It is queued when ${ahead.length === 1 ? 'the canary job has' : 'all canary jobs have'} a valid result.`,
    ],
    evidence: [],
    doing: [
      endedAt !== undefined
        ? 'Nothing: the run stopped after its canary jobs.'
        : pool?.traits.supervises === true
          ? "The run's supervisor queues it then."
          : '`updraft run` or `updraft watch` queues it then; nothing else does.',
    ],
    advice:
      bad.length > 0
        ? [
            `See why job ${bad[0]?.id ?? ''} failed with \`updraft why\`, then run \`updraft retry\`: after a ` +
              'valid result this job follows.',
          ]
        : [toContinue],
  };
}
