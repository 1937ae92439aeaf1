import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { attemptFiles, attemptFolder, runFiles } from '../../src/job/layout.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { Plan } from '../../src/job/plan.ts';
import type { AgentEntry } from '../../src/journal/entry.ts';
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

/** Writes the work order of one attempt and runs it with the agent in a new folder, perhaps only for a while. */
export async function trainWithAgent(
  workload: Workload,
  plan: Plan,
  agent: string,
  at: { folder: string; env: NodeJS.ProcessEnv; attempt?: number; endAfterMs?: number },
): Promise<SeenWithAgent> {
  const attempt = at.attempt ?? 1;
  const runFolder = path.join(at.folder, `run-${workload.name}`);
  const scratch = path.join(at.folder, `scratch-${workload.name}`);
  const [job] = plan.jobs;
  if (job === undefined) throw new Error(`${workload.name} has no job`);
  const order = renderOrder(runFolder, plan, job, attempt, scratch);
  const folder = attemptFolder(runFolder, job.id, attempt);
  for (const one of [folder, scratch]) await mkdir(one, { recursive: true });
  for (const file of plan.files)
    await cp(path.join(plan.folder, file.path), path.join(runFolder, runFiles.files, file.path));
  const orderFile = path.join(folder, attemptFiles.order);
  await writeFile(orderFile, JSON.stringify(order, undefined, 2));

  const startedAt = Date.now();
  const command = [...onCores(workload), agent, 'run', orderFile];
  const log = path.join(folder, attemptFiles.log);
  const { pid, exited } = await startAgent({ command, env: at.env, log, cwd: scratch });
  const ending =
    at.endAfterMs === undefined ? undefined : setTimeout(() => process.kill(pid, 'SIGTERM'), at.endAfterMs);
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
  const left = [...(await readdir(scratch)), ...(await processesOf(scratch))];
  await rm(scratch, { recursive: true });
  return {
    startedAt,
    endedAt: exit.at,
    exit: exit.code,
    lines,
    cpu,
    left,
    journal: journal.map((line) => JSON.parse(line) as AgentEntry),
    results: await readdir(order.resultsTo).catch(() => []),
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
