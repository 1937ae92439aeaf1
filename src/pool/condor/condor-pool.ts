import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { applyRules, type Env, isThere } from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';
import type { PlanLimits } from '../../check/facts.ts';
import { limitRules } from '../../check/rules/limits.ts';
import { durationRule } from '../../check/rules/results.ts';
import { Fault } from '../../fault/fault.ts';
import { runFiles } from '../../job/layout.ts';
import { type LivePage, livePageBytes, readLivePage } from '../../job/live-page.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { variantsOf } from '../../job/variants.ts';
import { readJournal } from '../../journal/tail.ts';
import { policyOf } from '../../recovery/policy.ts';
import { launcherScript, pluginScript } from '../launcher.ts';
import { findAgent } from '../find-agent.ts';
import { packedBytes } from '../packed-agent.ts';
import type { Pool, PoolKind, PoolRecords, PoolContext } from '../pool.ts';
import { readPlan, roundPlan } from '../read-plan.ts';
import { examineSeconds } from '../scheduler-tools.ts';
import { condorFiles, jobIds, condorRoundFiles } from './condor-files.ts';
import { eventLogSource } from './follow/event-log-source.ts';
import { condorAccount } from './follow/run-account.ts';
import { agentObject, anyNeedsPlugin, describeSent, requiredArch } from './submit/agent-travel.ts';
import { condorRunPolicy } from './submit/condor-policy.ts';
import { condorProfiles, findLimits, findProfile, type Profile } from './submit/profiles.ts';
import { prepareInputs, renderCondorOrders } from './submit/job-inputs.ts';
import { renderSubmit } from './submit/render-submit.ts';
import { submitOnce } from './submit/submit-once.ts';
import { userEnvironment } from './submit/submit-text.ts';
import { askSlots } from './tools/ask-slots.ts';
import { CondorTools } from './tools/condor-tools.ts';
import { openShell } from './tools/open-shell.ts';
import { countQueued, releaseHeld, stopJobs } from './tools/queued-jobs.ts';

const records: PoolRecords = {
  traits: poolTraits.condor,
  eventLog: condorFiles.eventLog,
  async source(runFolder) {
    // May be missing in a copy.
    if (!(await isThere(path.join(runFolder, condorFiles.submit)))) return undefined;
    return eventLogSource(runFolder, await readPlan(runFolder));
  },
  account: condorAccount,
};

export const condorKind: PoolKind = { ...records, open: condorPool };

/** HTCondor as a pool. After the submission the schedd does everything: nothing of ours needs to run. */
function condorPool({ self, env, clock, pid }: PoolContext): Pool {
  return {
    ...records,
    limits: (plan) => likelyProfile(plan, env),
    async policies(plan) {
      const { backoff } = await likelyProfile(plan, env);
      return variantsOf(plan).map(({ spec, disk }) => policyOf(spec, { diskBytes: disk.bytes, backoff }));
    },
    examine: () => examine(env),
    slots: async (plan, where) => askSlots(plan, where, await CondorTools.find(env)),
    async render(plan, run, round) {
      const tools = await CondorTools.find(env);
      const [version, profile] = await Promise.all([
        tools.version(),
        findProfile(plan.spec.run.profile, tools),
      ]);
      for (const one of variantsOf(plan)) assertAllowed(one, profile);
      const environment = userEnvironment(env);
      const { submit, items } = renderSubmit({ plan, profile, version, run, environment, round });
      const names = condorRoundFiles(round?.number ?? 1);
      return {
        summary: `for ${profile.title} (HTCondor ${version})`,
        files: {
          [names.submit]: submit,
          [names.items]: items,
          [condorFiles.launcher]: launcherScript(agentObject(plan)),
          [condorFiles.policy]: `${JSON.stringify(condorRunPolicy(plan, profile), undefined, 2)}\n`,
          ...(anyNeedsPlugin(plan) ? { [condorFiles.plugin]: pluginScript } : {}),
          ...renderCondorOrders(plan, run, profile, round),
        },
        shown: names.submit,
        sent: await describeSent(plan, version, () => agentBytes(plan, env, self)),
      };
    },
    submit: (runFolder) => submitRounds(runFolder, { self, env, clock, pid }),
    async stop(runFolder, jobs) {
      const [names, asked] = [await latestIds(runFolder), new Set(jobs)];
      const requested = new Map([...names].filter(([job]) => asked.has(job)));
      await stopJobs(await CondorTools.find(env), requested, await isAllStopped(runFolder));
    },
    queued: async (runFolder) => countQueued(await CondorTools.find(env), await allIds(runFolder)),
    async release(runFolder, jobs, change) {
      const tools = await CondorTools.find(env);
      const names = await latestIds(runFolder);
      const released = await releaseHeld(tools, jobs, names, change);
      return jobs.filter((job) => !released.has(job));
    },
    async output(runFolder, job, stream, signal) {
      const id = (await latestIds(runFolder)).get(job);
      return id === undefined ? undefined : tailJob(await CondorTools.find(env), id, stream, signal);
    },
    async evict(runFolder, job) {
      const id = (await latestIds(runFolder)).get(job);
      const tools = await CondorTools.find(env);
      if (id !== undefined) await tools.ask('condor_vacate_job', [id]);
    },
    shell: (plan, say) => openShell(plan, env, self, say),
  };
}

const agentBytes = async (plan: Plan, env: Env, self: readonly string[]): Promise<number> =>
  packedBytes(await findAgent({ env, self }, requiredArch(plan)), env);

async function examine(env: Env): Promise<string> {
  const tools = await CondorTools.find({ UPDRAFT_POOL_SECONDS: examineSeconds, ...env });
  const version = await tools.version();
  const { name } = await findLimits(undefined, tools);
  // Asks the schedd itself: a client alone says nothing about a pool.
  await tools.ask('condor_q', ['-totals']);
  return `HTCondor ${version}, rules of ${name}, the schedd answers`;
}

/** Submits the rounds of the run's journal that HTCondor does not have yet. */
async function submitRounds(
  runFolder: string,
  { self, env, clock, pid }: Omit<PoolContext, 'kill'>,
): Promise<void> {
  const tools = await CondorTools.find(env);
  const myself = identifyProcess(pid);
  if (myself === undefined) throw new Fault('pool-unreachable', 'this machine has no /proc');
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const rounds = entries.flatMap((entry) => (entry.kind === 'round-started' ? [entry.round] : []));
  const plan = await roundPlan(runFolder, rounds.at(-1) ?? 1);
  const agent =
    agentObject(plan) === undefined ? await findAgent({ env, self }, requiredArch(plan)) : undefined;
  await prepareInputs(runFolder, plan, agent, env);
  for (const round of [1, ...rounds]) await submitOnce(runFolder, round, { tools, clock, self: myself });
  // HTCondor makes it readable by everyone, and it says why jobs were held.
  await chmod(path.join(runFolder, condorFiles.eventLog), 0o600).catch(() => undefined);
}

/** The pool's limits, as far as this machine knows them. */
async function likelyProfile({ spec }: Plan, env: Env): Promise<Profile> {
  const tools = await CondorTools.find(env).catch(() => undefined);
  const named = spec.run.profile;
  return tools === undefined ? condorProfiles[named ?? 'htcondor'] : await findLimits(named, tools);
}

/** HTCondor's ids of a run's jobs, of each job the latest last. */
async function idsOf(runFolder: string): Promise<Map<string, string[]>> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  return jobIds(entries, entries.find((entry) => entry.kind === 'run-created')?.jobs ?? []);
}

const allIds = async (runFolder: string): Promise<string[]> => [...(await idsOf(runFolder)).values()].flat();

/** HTCondor's current ids of a run's jobs. */
async function latestIds(runFolder: string): Promise<Map<string, string>> {
  return new Map([...(await idsOf(runFolder))].map(([job, ids]) => [job, ids.at(-1) ?? '']));
}

/** Whether the complete run was asked to stop, and nothing was submitted since. */
async function isAllStopped(runFolder: string): Promise<boolean> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const last = entries.findLast(({ kind }) => kind === 'stop-requested' || kind === 'round-started');
  return last?.kind === 'stop-requested' && last.jobs === 'all';
}

/** The size of the page's first line. */
const headBytes = 64;

/**
 * The page of its training's log that the agent of a running job shows. Always requested as a whole: `condor_tail -f`
 * repeats some parts and skips others.
 */
async function tailJob(
  tools: CondorTools,
  id: string,
  stream: 'out' | 'err',
  signal: AbortSignal,
): Promise<LivePage | undefined> {
  const which = stream === 'err' ? ['-no-stdout', '-stderr'] : [];
  // The agent's own last lines may follow the page.
  const maxBytes = livePageBytes + headBytes + 4096;
  const args = ['-maxbytes', String(maxBytes), ...which, id];
  return readLivePage(await tools.askBytes('condor_tail', args, { signal }));
}

/** Refuses a plan whose jobs the pool would hold at once. */
function assertAllowed(plan: Plan, limits: PlanLimits): void {
  const { file } = plan;
  const facts = { plan, limits, where: () => ({ file, line: 1 }) };
  const error = applyRules([...limitRules, durationRule], facts).find(({ level }) => level === 'error');
  if (error === undefined) return;
  throw new Fault('file-invalid', `${file}: ${error.message}`, { fix: error.fix, about: file });
}
