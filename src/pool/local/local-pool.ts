import { spawn } from 'node:child_process';
import { access, constants, open, readFile, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { counted, type Env, errorReason, formatSize, isThere } from '@updraft/base';
import { leaseHolder, livenessOf } from '@updraft/base/processes';
import { appendHere } from '@updraft/base/disk';
import { Fault, kinds } from '@updraft/account/fault';
import { readClaim } from '../../job/claim.ts';
import { attemptFolder, runFiles, runFolderFull } from '@updraft/account/run-folder';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { variantsOf } from '../../job/variants.ts';
import { fold, readRunJournal } from '@updraft/account/journal';
import { agentCommand } from '../find-agent.ts';
import { findImageRunner } from '../image-command.ts';
import type { Kill, Pool, PoolKind, PoolRecords, PoolContext, SupervisorState } from '../pool.ts';
import { localPolicy } from './order.ts';
import { detectMachine, localPoolFolder, type Machine } from './machine.ts';
import { heldByRuns } from './shares.ts';

const records: PoolRecords = {
  traits: poolTraits.local,
  // Everything is in the run's journals.
  source: () => Promise.resolve(undefined),
  account: () => Promise.resolve({}),
  supervisor: supervisorState,
  heldByRuns: (env) => heldByRuns(localPoolFolder(env)),
  supervisedBy: localPolicy,
};

export const localKind: PoolKind = { ...records, open: localPool };

/** This machine as a pool: attempts run side by side, within its resources. */
function localPool(context: PoolContext): Pool {
  return {
    ...records,
    async limits({ spec }) {
      const lacks = lacksOf(spec, await detectMachine(context.env));
      return { title: `this machine (${os.hostname()})`, wantsProject: false, lacks };
    },
    policies: (plan) => Promise.resolve(variantsOf(plan).map(localPolicy)),
    async examine(cwd) {
      const { bavail, bsize } = await statfs(cwd);
      return `${describe(await detectMachine(context.env))}, ${formatSize(bavail * bsize)} free here`;
    },
    slots: () => Promise.resolve(undefined),
    async render(plan) {
      const machine = await detectMachine(context.env);
      for (const one of variantsOf(plan)) assertFits(one, machine);
      await assertWritable(localPoolFolder(context.env));
      const images = await imagesOf(plan, context.env);
      const agent = (await agentCommand(context.env, context.self)).findLast((word) => path.isAbsolute(word));
      const jobs = counted(plan.jobs.length, 'job');
      const least = Math.min(
        ...variantsOf(plan).map((one) => maxConcurrent({ ...one, jobs: plan.jobs }, machine)),
      );
      const together =
        plan.jobs.length === 1
          ? jobs
          : `${least}${plan.variants === undefined ? '' : ' or more'} of ${jobs} at a time`;
      return {
        summary:
          `${together} on this machine (${describe(machine)})` +
          `${images.length === 0 ? '' : `, in ${images.join(' or ')}`}, by the agent ${agent ?? ''}`,
        files: {},
      };
    },
    submit: (runFolder) => startSupervisor(runFolder, context),
    // The supervisor reads the journal; if it is dead, this ends what it left.
    stop: (runFolder) => startSupervisor(runFolder, context),
    // Only the journal keeps jobs here: all that ended need a new round.
    release: (_, jobs) => Promise.resolve([...jobs]),
    // Attempts write into the run's folder.
    output: () => Promise.resolve(undefined),
    evict: (runFolder, job) => evictAgent(runFolder, job, context.kill),
  };
}

/** The images that the jobs run in; throws if nothing here can start them. */
async function imagesOf(plan: Plan, env: Env): Promise<string[]> {
  const runners = await Promise.all(variantsOf(plan).map((one) => findImageRunner(one, env)));
  return [...new Set(runners.flatMap((runner) => runner?.image ?? []))];
}

/** Throws before a run is created that no supervisor could bring to its end. */
async function assertWritable(poolFolder: string): Promise<void> {
  let place = poolFolder;
  while (place !== path.dirname(place) && !(await isThere(place))) place = path.dirname(place);
  await access(place, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new Fault(
      'pool-unreachable',
      `${poolFolder}, where the local pool records what its runs use, cannot be written: ${errorReason(error)}`,
      { fix: 'set XDG_STATE_HOME to a folder that you can write to', about: poolFolder, cause: error },
    );
  });
}

/** Throws if one job requests more than the machine has. */
export function assertFits({ file, spec }: Plan, machine: Machine): void {
  const lacks = lacksOf(spec, machine);
  if (lacks.length === 0) return;
  throw new Fault(
    'pool-unreachable',
    `a job requests more than this machine (${os.hostname()}) has: ${lacks.join(', ')}`,
    { fix: `request less in [resources] of ${file}, or choose another pool in [run]`, about: file },
  );
}

function lacksOf({ resources: { cpus, gpus, memoryBytes } }: Plan['spec'], machine: Machine): string[] {
  const lacks: string[] = [];
  if (cpus > machine.cpus) lacks.push(`cpus = ${cpus} (it has ${machine.cpus})`);
  if (gpus > machine.gpus.length) lacks.push(`gpus = ${gpus} (it has ${machine.gpus.length})`);
  if (memoryBytes > machine.memoryBytes)
    lacks.push(`memory = ${formatSize(memoryBytes)} (it has ${formatSize(machine.memoryBytes)})`);
  return lacks;
}

function maxConcurrent({ jobs, spec }: Plan, machine: Machine): number {
  const { cpus, gpus, memoryBytes } = spec.resources;
  const share = (has: number, wants: number): number => (wants === 0 ? jobs.length : Math.floor(has / wants));
  return Math.min(
    jobs.length,
    share(machine.cpus, cpus),
    share(machine.memoryBytes, memoryBytes),
    share(machine.gpus.length, gpus),
  );
}

const describe = ({ cpus, gpus, memoryBytes }: Machine): string =>
  `${counted(cpus, 'CPU')}, ${formatSize(memoryBytes)} memory, ` +
  (gpus.length === 0 ? 'no GPU' : counted(gpus.length, 'GPU'));

/** Evicts a job's agent with SIGTERM, as an owner who wants the machine back does. */
async function evictAgent(runFolder: string, job: string, kill: Kill): Promise<void> {
  const { jobs } = fold(await readRunJournal(runFolder));
  const attempt = jobs.find(({ id }) => id === job)?.attempts.at(-1)?.number ?? 1;
  const claim = await readClaim(attemptFolder(runFolder, job, attempt));
  if (claim === undefined || 'void' in claim || livenessOf(claim) !== 'alive')
    throw new Fault('usage', `job ${job} has no running attempt to evict`, { about: job });
  kill(claim.pid, 'SIGTERM');
}

/** The hidden command that supervises a run. */
const superviseCommand = '_supervise';

const pollMs = 50;

/** Ensures that a process supervises the run, in its own session: it outlives command, terminal and logout. */
async function startSupervisor(runFolder: string, { self, env, clock }: PoolContext): Promise<void> {
  if (await isSupervised(runFolder)) return;
  const [executable = '', ...args] = self;
  const log = await open(path.join(runFolder, runFiles.supervisorLog), appendHere, 0o600);
  let ended: SupervisorEnd | undefined;
  try {
    const child = spawn(executable, [...args, superviseCommand, runFolder], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: { ...env },
    });
    child.once('error', (error) => (ended = { why: error.message }));
    child.once('exit', (code, signal) => (ended = { why: `it exited with ${code ?? signal ?? ''}`, code }));
    child.unref();
  } finally {
    await log.close();
  }
  while (ended === undefined && !(await isSupervised(runFolder))) await clock.sleep(pollMs);
  if (ended !== undefined && ended.code !== 0) throw await notStarted(runFolder, ended);
}

async function isSupervised(runFolder: string): Promise<boolean> {
  const { state } = await supervisorState(runFolder);
  return state === 'running' || state === 'elsewhere';
}

/** How a command's error names what to do, in the log of the supervisor. */
const fixMark = '  fix: ';

interface SupervisorEnd {
  why: string;
  code?: number | null;
}

async function notStarted(runFolder: string, { why, code }: SupervisorEnd): Promise<Fault> {
  const file = path.join(runFolder, runFiles.supervisorLog);
  const end = (await readFile(file, 'utf8').catch(() => '')).trim().split('\n').slice(-3);
  const said = end.filter((line) => !line.startsWith(fixMark)).map((line) => line.replace(/^updraft: /u, ''));
  // Its log does not fit there either.
  if (code === kinds['disk-full'].exit)
    return runFolderFull({
      what: `the supervisor cannot write to ${runFolder}`,
      folder: runFolder,
      error: { code: 'ENOSPC' },
    });
  return new Fault(
    'pool-unreachable',
    `cannot start the supervisor of ${runFolder}: ${why}: ${said.join(' ')}`,
    {
      fix: end.find((line) => line.startsWith(fixMark))?.slice(fixMark.length) ?? `read ${file}`,
      about: runFolder,
    },
  );
}

export async function supervisorState(runFolder: string): Promise<SupervisorState> {
  const holder = await leaseHolder(path.join(runFolder, runFiles.supervisor));
  if (holder === undefined) return { state: 'none' };
  const { pid, host } = holder;
  const states = { alive: 'running', dead: 'died', elsewhere: 'elsewhere' } as const;
  return { state: states[livenessOf(holder)], pid, host };
}
