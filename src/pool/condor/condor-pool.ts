import path from 'node:path';
import { chmod, readdir, readFile, readlink, cp, mkdtemp, writeFile } from 'node:fs/promises';
import { applyRules, counted, type Env, given, isThere } from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';
import { Fault } from '@updraft/account/fault';
import { runFiles } from '@updraft/account/run-folder';
import { readRunJournal } from '@updraft/account/journal';
import { policyOf } from '@updraft/account/recovery';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { removeTree } from '@updraft/base/disk';
import { sentAuthorities } from '@updraft/pelican/trust';
import type { PlanLimits } from '../../check/facts.ts';
import { limitRules } from '../../check/rules/limits.ts';
import { durationRule } from '../../check/rules/results.ts';
import { type LivePage, livePageBytes, readLivePage } from '../../job/live-page.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { variantsOf } from '../../job/variants.ts';
import { launcherScript, pluginScript, softwareScript } from '../launcher.ts';
import { findAgent, type FoundAgent, packedBytes } from '../find-agent.ts';
import {
  type Pool,
  type PoolKind,
  type PoolRecords,
  type PoolContext,
  type RunAccount,
  readPlan,
  roundPlan,
} from '../pool.ts';
import { examineSeconds } from '../scheduler-tools.ts';
import { condorFiles, jobIds, condorRoundFiles } from './condor-files.ts';
import { eventLogSource, loggedHistories } from './follow/event-log-source.ts';
import {
  agentObject,
  anyNeedsPlugin,
  describeSent,
  imageTokenName,
  requiredArch,
  prepareInputs,
  renderCondorOrders,
  withOwnAgent,
} from './submit/job-inputs.ts';
import { condorRunPolicy, policyOfJob, rankExpression, writtenPolicy } from './submit/condor-policy.ts';
import { findLimits, findProfile, type Profile } from './submit/profiles.ts';
import { renderSubmit, inputsOf, renderShell } from './submit/render-submit.ts';
import { submitOnce } from './submit/submit-once.ts';
import { userEnvironment } from './submit/submit-text.ts';
import { askSlots } from './tools/ask-slots.ts';
import { CondorTools } from './tools/condor-tools.ts';
import { countQueued, releaseHeld, stopJobs } from './tools/queued-jobs.ts';
import { isFederated } from './submit/render-image.ts';

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
        findProfile(plan.spec.run.profile, { tools, env }),
      ]);
      for (const one of variantsOf(plan)) assertAllowed(one, profile);
      const environment = userEnvironment(env);
      const sends = await withOwnAgent(plan, () => sentAgent(plan, env, self));
      const { submit, items } = renderSubmit({ plan: sends, profile, version, run, environment, round });
      const names = condorRoundFiles(round?.number ?? 1);
      return {
        summary: `for ${profile.title} (HTCondor ${version})${describeRank(plan)}`,
        files: {
          [names.submit]: submit,
          [names.items]: items,
          [condorFiles.launcher]: launcherScript(agentObject(plan)),
          [condorFiles.policy]: `${JSON.stringify(condorRunPolicy(plan, profile), undefined, 2)}\n`,
          ...(anyNeedsPlugin(sends) ? { [condorFiles.plugin]: pluginScript } : {}),
          ...renderCondorOrders(plan, run, profile, round),
        },
        shown: names.submit,
        sent: await describeSent(plan, version, () => agentBytes(plan, env, self), sends),
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

function describeRank({ places = [] }: Plan): string {
  const [best] = places;
  if (rankExpression(places) === undefined || best === undefined) return '';
  const where = [best.gpu, best.site].filter((text) => text !== '').join(' at ');
  return `, slots ranked by ${counted(places.length, 'place')} of earlier attempts, ${where} first`;
}

const sentAgent = (plan: Plan, env: Env, self: readonly string[]): Promise<FoundAgent> =>
  findAgent({ env, self }, requiredArch(plan));

async function examine(env: Env): Promise<string> {
  const tools = await CondorTools.find({ UPDRAFT_POOL_SECONDS: examineSeconds, ...env });
  const version = await tools.version();
  const { name } = await findLimits(undefined, { tools, env });
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
  const entries = await readRunJournal(runFolder);
  const rounds = entries.flatMap((entry) => (entry.kind === 'round-started' ? [entry.round] : []));
  const last = rounds.at(-1) ?? 1;
  const plan = await roundPlan(runFolder, last);
  const agent = (await sendsAgent(runFolder, last)) ? await sentAgent(plan, env, self) : undefined;
  await prepareInputs(runFolder, plan, agent, env);
  for (const round of [1, ...rounds]) await submitOnce(runFolder, round, { tools, clock, self: myself });
  // HTCondor makes it readable by everyone, and it says why jobs were held.
  await chmod(path.join(runFolder, condorFiles.eventLog), 0o600).catch(() => undefined);
}

/** As it was rendered. Where jobs have inputs of their own, these stand beside the jobs. */
async function sendsAgent(runFolder: string, round: number): Promise<boolean> {
  const { submit, items } = condorRoundFiles(round);
  const texts = [submit, items].map((name) => readFile(path.join(runFolder, name), 'utf8'));
  return (await Promise.all(texts)).some((text) => text.includes(condorFiles.agent));
}

const agentBytes = async (plan: Plan, env: Env, self: readonly string[]): Promise<number> =>
  packedBytes(await sentAgent(plan, env, self), env);

/** The pool's limits, as far as this machine knows them. */
async function likelyProfile({ spec }: Plan, env: Env): Promise<Profile> {
  const tools = await CondorTools.find(env).catch(() => undefined);
  return await findLimits(spec.run.profile, { tools, env });
}

/** HTCondor's ids of a run's jobs, of each job the latest last. */
async function idsOf(runFolder: string): Promise<Map<string, string[]>> {
  const entries = await readRunJournal(runFolder);
  return jobIds(entries, entries.find((entry) => entry.kind === 'run-created')?.jobs ?? []);
}

const allIds = async (runFolder: string): Promise<string[]> => [...(await idsOf(runFolder)).values()].flat();

/** HTCondor's current ids of a run's jobs. */
async function latestIds(runFolder: string): Promise<Map<string, string>> {
  return new Map([...(await idsOf(runFolder))].map(([job, ids]) => [job, ids.at(-1) ?? '']));
}

/** Whether the complete run was asked to stop, and nothing was submitted since. */
async function isAllStopped(runFolder: string): Promise<boolean> {
  const entries = await readRunJournal(runFolder);
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

/** What HTCondor's files in a run's folder say about its jobs. */
export async function condorAccount(runFolder: string): Promise<RunAccount> {
  // An adopted submit file has its own rules.
  const policy = await writtenPolicy(runFolder);
  return {
    rulesOf: (job) => policy && { policy: policyOfJob(policy, job), file: condorFiles.submit },
    histories: await loggedHistories(runFolder, policy !== undefined),
    withUserNames: await readInputNames(runFolder),
  };
}

/**
 * HTCondor gets files as links in the run's folder and names those; people know the files by their own names. Returns
 * a function that replaces the one by the other in a message.
 */
async function readInputNames(runFolder: string): Promise<(said: string) => string> {
  const inputs = path.join(runFolder, condorFiles.inputs);
  const names = await readdir(inputs).catch(() => []);
  const links = await Promise.all(
    names.map(async (name) => {
      const file = await readlink(path.join(inputs, name)).catch(() => undefined);
      return file === undefined ? [] : [[name, file] as const];
    }),
  );
  // Longest first: one name may be a prefix of another.
  const known = links.flat().sort(([one], [other]) => other.length - one.length);
  return (said) =>
    known.reduce((text, [name, file]) => {
      const spellings = [path.join(inputs, name), `${condorFiles.inputs}/${name}`];
      return spellings.reduce((words, spelling) => words.replaceAll(spelling, () => file), text);
    }, said);
}

/** Opens a shell on a machine of the pool, with the plan's image, resources and files, on this terminal. */
async function openShell(
  plan: Plan,
  env: Env,
  self: readonly string[],
  say: (line: string) => void,
): Promise<void> {
  if (plan.environment?.pack !== undefined)
    say(`the software is sent as an archive; in the shell, set it up with: . ./${softwareFile}`);
  const tools = await CondorTools.find(env);
  const [version, profile] = await Promise.all([
    tools.version(),
    findProfile(plan.spec.run.profile, { tools, env }),
  ]);
  const folder = await mkdtemp(path.join(env['TMPDIR'] ?? '/tmp', 'updraft-shell-'));
  try {
    for (const file of plan.files)
      await cp(path.join(plan.folder, file.path), path.join(folder, runFiles.files, file.path));
    const run = `${plan.spec.name}-shell`;
    const software = await prepareSoftware(folder, plan, profile, env, self);
    const environment = software.length === 0 ? {} : userEnvironment(env);
    const text = renderShell({ plan, profile, version, run, environment }, software);
    await writeFile(path.join(folder, 'shell.sub'), text);
    const child = spawn(tools.command('condor_submit'), ['-interactive', 'shell.sub'], {
      cwd: folder,
      env: { ...env },
      stdio: 'inherit',
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    // The schedd recreates the folder if the job's last files arrive after its removal.
    await tools.ask('condor_wait', ['-wait', '30', 'shell.log'], folder).catch(() => '');
    if (code === 0) return;
    throw new Fault(
      'pool-unreachable',
      `the shell exited with ${code ?? 'a signal'}: see HTCondor's messages above`,
      { fix: 'try again, or add `requirements` in [run]: some machines do not allow interactive jobs' },
    );
  } finally {
    await removeTree(folder);
  }
}

/** Sets up the software of an interactive job; sourced, to change the user's own shell. */
const softwareFile = 'software.sh';
const [script, order] = ['updraft-software', 'software.json'];

/** Adds to a folder what an interactive job needs to fetch or unpack the plan's software; returns the files to send. */
async function prepareSoftware(
  folder: string,
  plan: Plan,
  profile: Profile,
  env: Env,
  self: readonly string[],
): Promise<string[]> {
  const { environment } = plan;
  const named = environment?.pack;
  // The agent fetches it on the worker: no plugin needed.
  const pack = named && named.method !== 'native' ? { ...named, method: 'stream' as const } : named;
  const asked = {
    ...plan,
    data: [],
    jobs: plan.jobs.slice(0, 1),
    ...(pack && environment && { environment: { ...environment, pack } }),
  };
  const agent = pack !== undefined || isFederated(plan) ? await findAgent({ env, self }) : undefined;
  await prepareInputs(folder, asked, agent, env);
  if (agent === undefined) return [];
  const sent = given(
    condorFiles.agent,
    sentAuthorities(env).length > 0 && condorFiles.authority,
    plan.imageTokenFile !== undefined && imageTokenName(plan),
  );
  // Not every machine can fetch the image by itself.
  await writeFile(path.join(folder, condorFiles.plugin), pluginScript, { mode: 0o755 });
  if (pack === undefined) return sent;
  const [text = ''] = Object.values(renderCondorOrders(asked, plan.spec.name, profile));
  await writeFile(path.join(folder, order), text);
  await writeFile(path.join(folder, script), softwareScript);
  const sourced = `updraft_script=$(sh ./${script} ${order}) && . "$updraft_script"\nunset updraft_script\n`;
  await writeFile(path.join(folder, softwareFile), sourced);
  return [...sent, order, script, softwareFile, ...inputsOf(pack)];
}
