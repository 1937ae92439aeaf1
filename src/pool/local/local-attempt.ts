import { randomBytes } from 'node:crypto';
import { copyFile, lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, type Env, readJsonFile, unlessGone } from '@updraft/base';
import { identifyProcess, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { ensureFolder, removeTree } from '@updraft/base/disk';
import { asFault, Fault } from '@updraft/account/fault';
import { makeClaim, readClaim } from '../../job/claim.ts';
import type { Job, WorkOrder } from '../../job/job.ts';
import {
  attemptFiles,
  attemptFolder,
  describeFull,
  isFull,
  runFiles,
  runFolderFull,
  sandboxFiles,
} from '@updraft/account/run-folder';
import type { Plan } from '../../job/plan.ts';
import { readAttemptExit, type AttemptExit, hasReported } from '../attempt-exit.ts';
import { imageEnvironment, findImageRunner, imageCommand } from '../image-command.ts';
import { hasSecrets, secretsFile } from '../stored-secrets.ts';
import type { Kill, PoolContext } from '../pool.ts';
import type { Exit, StartAgent } from './agent-process.ts';
import { renderOrder } from './order.ts';
import type { Share } from './shares.ts';

/** What starting and ending attempts needs from the supervisor. */
export interface AttemptContext extends Pick<PoolContext, 'env' | 'clock' | 'kill'> {
  runFolder: string;
  plan: Plan;
  /** Executable and leading arguments of the agent. */
  agent: string[];
  /** The parent of the attempts' scratch folders. */
  scratchRoot: string;
  startAgent: StartAgent;
  /** Writes a line to the supervisor's log. */
  say: (line: string) => void;
  /** Called when an agent that is our child has exited. */
  onExit: () => void;
  /** Renews the logins whose tokens the plan names, before the attempt after one whose token ended; never throws. */
  renewTokens?: ((plan: Plan) => Promise<void>) | undefined;
  /** How long a stopped agent may take to end its training and return what it has. */
  stopGraceMs: number;
}

/** An attempt whose agent is running, or is gone so that we must find out how it ended. */
export class LocalAttempt {
  readonly job: string;
  readonly number: number;
  readonly folder: string;
  readonly #context: AttemptContext;
  readonly #agent: ProcessIdentity | undefined;
  /** Known without the work order, which is in the run's folder. */
  readonly #scratch: string | undefined;
  /** Whether the agent is our child, so that we get its exit code. */
  readonly #isChild: boolean;
  #exit: Exit | undefined;
  #stoppedAt: number | undefined;
  #clearing: { since: number; isDone: boolean } | undefined;

  private constructor(
    context: AttemptContext,
    job: string,
    number: number,
    agent: ProcessIdentity | undefined,
    scratch: string | undefined,
    exited?: Promise<Exit>,
  ) {
    this.#context = context;
    this.job = job;
    this.number = number;
    this.folder = attemptFolder(context.runFolder, job, number);
    this.#agent = agent;
    this.#scratch = scratch;
    this.#isChild = exited !== undefined;
    void exited?.then((exit) => {
      this.#exit = exit;
      context.onExit();
    });
  }

  /** Starts the agent of an attempt that is already in the journal. If it throws, no agent was started. */
  static async start(context: AttemptContext, job: Job, number: number, share: Share): Promise<LocalAttempt> {
    const folder = attemptFolder(context.runFolder, job.id, number);
    const orderFile = path.join(folder, attemptFiles.order);
    const scratch = path.join(context.scratchRoot, scratchName(context.runFolder, job.id, number));
    const order = renderOrder(context.runFolder, context.plan, job, number, scratch, share.memoryBytes);
    try {
      await makeAttemptFolder(folder);
      // The work order is written before the folder it names, so that a later clean-up knows of it.
      await writeFile(orderFile, `${JSON.stringify(order, undefined, 2)}\n`, { flush: true, mode: 0o600 });
      await mkdir(scratch, { mode: 0o700 });
      if (hasSecrets(context.plan))
        await copyFile(
          secretsFile(context.env, path.basename(context.runFolder)),
          path.join(scratch, sandboxFiles.secrets),
        );
    } catch (error) {
      throw cannotPrepare(error, context.runFolder);
    }
    const { plan, agent, env, runFolder } = context;
    const image = await findImageRunner(plan, env);
    const command = [...agent, 'run', orderFile];
    const { pid, exited } = await context
      .startAgent({
        command:
          image === undefined
            ? command
            : imageCommand(image, command, { run: runFolder, scratch, agent }, plan),
        env: agentEnvironment(image === undefined ? env : imageEnvironment(env), share),
        log: path.join(folder, attemptFiles.log),
        cwd: scratch,
      })
      .catch((error: unknown) => {
        throw isFull(error) ? cannotPrepare(error, runFolder) : error;
      });
    return new LocalAttempt(context, job.id, number, identifyProcess(pid), scratch, exited);
  }

  /**
   * Adopts an attempt that another supervisor started. An unclaimed one is voided, so that an agent that starts late
   * exits at once.
   */
  static async adopt(context: AttemptContext, job: string, number: number): Promise<LocalAttempt> {
    const folder = attemptFolder(context.runFolder, job, number);
    await makeAttemptFolder(folder);
    await makeClaim(folder, { void: 'the supervisor died before the agent started' });
    const claim = await readClaim(folder);
    const agent = claim === undefined || 'void' in claim ? undefined : claim;
    return new LocalAttempt(
      context,
      job,
      number,
      agent,
      await scratchOf(context, folder).catch(() => undefined),
    );
  }

  /** Whether the agent is gone, so that `end` knows the outcome. */
  get isOver(): boolean {
    if (this.#isChild) return this.#exit !== undefined;
    return this.#agent === undefined || livenessOf(this.#agent) === 'dead';
  }

  /**
   * Asks the agent to end (SIGINT means that the user asked), and kills it after a grace period; one that only
   * cleans up may finish. To be called until it is over.
   */
  async stop(): Promise<void> {
    if (this.#agent === undefined || livenessOf(this.#agent) !== 'alive') return;
    const { clock, kill, stopGraceMs } = this.#context;
    const now = clock.monotonic();
    if (this.#stoppedAt === undefined) kill(this.#agent.pid, 'SIGINT');
    else if (now - this.#stoppedAt >= stopGraceMs && !(await hasReported(this.folder)))
      kill(this.#agent.pid, 'SIGKILL');
    this.#stoppedAt ??= now;
  }

  /** Once it is over, removes what it left behind; returns for how many milliseconds it has tried, or `done`. */
  clear(): number | 'done' {
    const { clock, onExit } = this.#context;
    this.#clearing ??= this.#clear(onExit);
    return this.#clearing.isDone ? 'done' : clock.monotonic() - this.#clearing.since;
  }

  #clear(onDone: () => void): { since: number; isDone: boolean } {
    const clearing = { since: this.#context.clock.monotonic(), isDone: false };
    void clearAttempt(this.#context, this.folder).then(() => {
      clearing.isDone = true;
      onDone();
    });
    return clearing;
  }

  /** Ends the agent and its training at once, and removes what they have on this machine: the run's folder is gone. */
  async abandon(): Promise<void> {
    const { clock, kill } = this.#context;
    if (this.#agent !== undefined && livenessOf(this.#agent) === 'alive') kill(this.#agent.pid, 'SIGKILL');
    if (this.#scratch !== undefined) await removeLeftovers(this.#scratch, kill, clock);
  }

  end(): Promise<AttemptExit> {
    return readAttemptExit(this.folder, this.#exit);
  }
}

/**
 * Removes everything that a finished attempt left: processes, scratch folder, partial results. Logs what cannot be
 * removed and continues.
 */
export async function clearAttempt(context: AttemptContext, folder: string): Promise<void> {
  await clear(context, folder).catch((error: unknown) => {
    context.say(`${folder}: cannot remove what the attempt left: ${asFault(error).message}`);
  });
}

async function clear(context: AttemptContext, folder: string): Promise<void> {
  const job = path.basename(path.dirname(folder));
  const results = path.join(context.runFolder, runFiles.results);
  for (const name of await readdir(results).catch(() => []))
    if (name.startsWith(`.${job}.`)) await removeTree(path.join(results, name));
  const scratch = await scratchOf(context, folder);
  if (scratch !== undefined) await removeLeftovers(scratch, context.kill, context.clock);
}

/**
 * The scratch folder that the attempt's work order names; undefined if its writer died while writing it: then it
 * started nothing. The run may be a stranger's: throws if `start` would not have made that folder, which is then
 * not removed, nor is any process ended for it.
 */
async function scratchOf({ scratchRoot }: AttemptContext, folder: string): Promise<string | undefined> {
  const order = await readJsonFile<Partial<WorkOrder>>(path.join(folder, attemptFiles.order));
  if (order === undefined) return undefined;
  const [scratch, job] = [String(order.scratchParent), path.basename(path.dirname(folder))];
  const made = path.basename(scratch).replace(/[0-9a-f]{8}$/, 'X');
  const isNamed =
    made.startsWith('updraft-') &&
    made.endsWith(`-${job}-${path.basename(folder).replace('attempt-', '')}-X`);
  const isOurs = isNamed && path.join(scratchRoot, path.basename(scratch)) === scratch;
  if (isOurs && (await unlessGone(lstat(scratch)))?.isDirectory() !== false) return scratch;
  const what = `${scratch} is not a scratch folder of this attempt in ${scratchRoot}`;
  throw new Fault('scratch-unusable', `${what}; it was left alone: remove it yourself if it is yours`);
}

/** In the folder of the run, which has a folder for its jobs. */
async function makeAttemptFolder(folder: string): Promise<void> {
  await ensureFolder(path.dirname(folder));
  await ensureFolder(folder);
}

function cannotPrepare(error: unknown, runFolder: string): Fault {
  const { path: file = runFolder, message } = error as NodeJS.ErrnoException;
  const what = 'cannot prepare the attempt';
  if (!isFull(error))
    return new Fault('scratch-unusable', `${what}: ${message}`, {
      fix: 'set UPDRAFT_SCRATCH to a folder that you can write to',
      cause: error,
    });
  if (`${file}/`.startsWith(`${runFolder}/`)) return runFolderFull({ what, folder: runFolder, error });
  return new Fault('disk-full', `${what}: ${describeFull(file, error)}`, {
    fix: 'free some space there, or set UPDRAFT_SCRATCH to a folder on another disk',
    about: file,
    cause: error,
  });
}

/** `scratchOf` recognises it. */
function scratchName(runFolder: string, job: string, number: number): string {
  const run = path.basename(runFolder).slice(-40);
  return `updraft-${run}-${job}-${number}-${randomBytes(4).toString('hex')}`;
}

function agentEnvironment(env: Env, share: Share): Env {
  return {
    ...env,
    CUDA_VISIBLE_DEVICES: share.gpus.join(','),
    // By default, numerical libraries use all cores of the machine.
    OMP_NUM_THREADS: env['OMP_NUM_THREADS'] ?? String(Math.max(1, Math.floor(share.cpus))),
  };
}

const maxRounds = 50;
const roundMs = 20;

/** Removes an attempt's scratch folder and every process that belongs to it, whatever state the agent left. */
async function removeLeftovers(scratch: string, kill: Kill, clock: Clock): Promise<void> {
  // A process may fork meanwhile, so we repeat until none is left.
  for (let round = 0; round < maxRounds; round++) {
    const left = await processesOf(scratch);
    if (left.length === 0) break;
    for (const pid of left) kill(pid, 'SIGKILL');
    await clock.sleep(roundMs);
  }
  await removeTree(scratch);
}

/** The folder's name is unique: a process with it in its environment, or with its cwd in it, belongs to the attempt. */
async function processesOf(scratch: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    const cwd = await readlink(`/proc/${name}/cwd`).catch(() => '');
    if (environment.includes(scratch) || `${cwd}/`.startsWith(`${scratch}/`)) found.push(Number(name));
  }
  return found;
}
