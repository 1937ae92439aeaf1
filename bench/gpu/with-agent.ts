import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '@updraft/base';
import { removeTree } from '@updraft/base/disk';
import { attemptFiles, attemptFolder, runFiles, sandboxFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { Plan } from '../../src/job/plan.ts';
import type { AgentEntry } from '@updraft/account/journal';
import { startAgent } from '../../src/pool/local/agent-process.ts';
import { renderOrder } from '../../src/pool/local/order.ts';
import { meterCpu, type CpuSample } from './cpu-meter.ts';
import { followLines, type TimedLine } from './follow-lines.ts';
import type { Workload } from './workloads.ts';

/** Observations of a training. */
export interface Seen {
  startedAt: number;
  endedAt: number;
  exit: number | null;
  lines: TimedLine[];
}

/** Observations of a training under the agent. */
export interface SeenWithAgent extends Seen {
  journal: AgentEntry[];
  cpu: CpuSample[];
  results: string[];
  /** What it left on the machine: files of its scratch folder, processes. */
  left: string[];
  /** When it was asked to end; undefined if it was not. */
  askedAt?: number;
  /** How long the pool took to remove what the agent left to it. */
  removalMs?: number;
}

/** The plan of the example's job file with its overrides, in a copy of the example with the files to send. */
export async function planOf(
  { name, example, set, tiny }: Workload,
  sent: string[],
  at: { folder: string; isTiny: boolean },
): Promise<Plan> {
  const folder = path.join(at.folder, `job-${name}`);
  await cp(path.join('examples', example), folder, { recursive: true });
  for (const file of sent) await cp(file, path.join(folder, path.basename(file)));
  const settings = at.isTiny ? [...set, ...tiny] : set;
  return await loadPlan(folder, { with: [path.resolve(`bench/gpu/jobs/${example}.toml`)], set: settings });
}

export const onCores = ({ cores }: Workload): string[] =>
  cores === undefined ? [] : ['taskset', '--cpu-list', cores];

interface Where {
  folder: string;
  env: NodeJS.ProcessEnv;
  attempt?: number;
  endAfterMs?: number;
  /** As HTCondor's starter: in a sandbox, which it removes itself, with the ads of job and machine. */
  asCondor?: boolean;
}

/** Writes the work order of one attempt and runs it with the agent in a new folder, perhaps only for a while. */
export async function trainWithAgent(
  workload: Workload,
  plan: Plan,
  agent: string,
  at: Where,
): Promise<SeenWithAgent> {
  const { order, folder, scratch, words, env } = await prepare(workload, plan, at);
  const startedAt = Date.now();
  const command = [...onCores(workload), agent, ...words];
  const log = path.join(folder, attemptFiles.log);
  const { pid, exited } = await startAgent({ command, env, log, cwd: scratch });
  let askedAt: number | undefined;
  const ask = (): void => {
    askedAt = Date.now();
    process.kill(pid, 'SIGTERM');
  };
  const ending = at.endAfterMs === undefined ? undefined : setTimeout(ask, at.endAfterMs);
  void exited.finally(() => clearTimeout(ending));
  const [exit, lines, cpu] = await Promise.all([
    exited.then(({ code }) => ({ code, at: Date.now() })),
    followLines(path.join(folder, attemptFiles.out), exited),
    meterCpu(pid),
  ]);
  if (exit.code !== 0 && at.endAfterMs === undefined)
    for (const name of [attemptFiles.log, attemptFiles.err])
      console.error(await readFile(path.join(folder, name), 'utf8').catch(() => ''));
  const journal = (await readFile(path.join(folder, attemptFiles.journal), 'utf8')).trim().split('\n');
  return {
    startedAt,
    endedAt: exit.at,
    exit: exit.code,
    lines,
    cpu,
    journal: journal.map((line) => JSON.parse(line) as AgentEntry),
    results: await readdir(order.resultsTo).catch(() => []),
    ...defined({ askedAt }),
    ...(await remove(scratch, folder, workload, at)),
  };
}

/** Where HTCondor keeps a checkpoint between two attempts. */
const spoolOf = ({ name }: Workload, { folder }: Where): string => path.join(folder, `spool-${name}`);
const checkpointOf = (folder: string): string => path.join(path.dirname(folder), sandboxFiles.checkpoint);

async function prepare(workload: Workload, plan: Plan, at: Where) {
  const attempt = at.attempt ?? 1;
  const runFolder = path.join(at.folder, `run-${workload.name}`);
  const scratch = path.join(at.folder, `scratch-${workload.name}`);
  const [job] = plan.jobs;
  if (job === undefined) throw new Error(`${workload.name} has no job`);
  const order = renderOrder(runFolder, plan, job, attempt, scratch);
  // A sandbox has the layout of the run's folder.
  const home = at.asCondor === true ? scratch : runFolder;
  const folder = attemptFolder(home, job.id, attempt);
  for (const one of [folder, scratch]) await mkdir(one, { recursive: true });
  for (const file of plan.files)
    await cp(path.join(plan.folder, file.path), path.join(home, runFiles.files, file.path));
  const orderFile = path.join(folder, attemptFiles.order);
  await writeFile(orderFile, JSON.stringify(order, undefined, 2));
  if (at.asCondor !== true) return { order, folder, scratch, words: ['run', orderFile], env: at.env };
  const spooled = spoolOf(workload, at);
  if (existsSync(spooled)) await rename(spooled, checkpointOf(folder));
  const env = { ...at.env, ...(await adsOf(scratch, attempt)) };
  return { order, folder, scratch, words: ['sandbox', orderFile], env };
}

/** Returns what the agent left, and how long the pool took to remove it. */
async function remove(
  scratch: string,
  folder: string,
  workload: Workload,
  at: Where,
): Promise<Pick<SeenWithAgent, 'left' | 'removalMs'>> {
  const isSandbox = at.asCondor === true;
  if (isSandbox && existsSync(checkpointOf(folder)))
    await rename(checkpointOf(folder), spoolOf(workload, at));
  const left = [...(await readdir(scratch)), ...(await processesOf(scratch))];
  const startedAt = Date.now();
  await removeTree(scratch);
  return { left, ...(isSandbox && { removalMs: Date.now() - startedAt }) };
}

/** The ads that HTCondor's starter leaves for a job, as variables that name their files. */
async function adsOf(sandbox: string, attempt: number): Promise<NodeJS.ProcessEnv> {
  const ads = { job: `NumShadowStarts = ${attempt}\n`, machine: 'MachineMaxVacateTime = 600\n' };
  for (const [name, text] of Object.entries(ads)) await writeFile(path.join(sandbox, `.${name}.ad`), text);
  return {
    _CONDOR_SCRATCH_DIR: sandbox,
    _CONDOR_JOB_AD: path.join(sandbox, '.job.ad'),
    _CONDOR_MACHINE_AD: path.join(sandbox, '.machine.ad'),
  };
}

/** Every process that has the folder in its environment: the training and its children. */
async function processesOf(scratch: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (environment.includes(scratch)) found.push(`process ${pid}`);
  }
  return found;
}
