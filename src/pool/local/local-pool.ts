import { statfs } from 'node:fs/promises';
import os from 'node:os';
import { Fault } from '../../fault/fault.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { formatSize } from '../../job/units.ts';
import type { Pool, PoolKind, PoolRecords, PoolStart } from '../pool.ts';
import { supervisorState } from '../supervisor-state.ts';
import { agentCommand } from '../agent-command.ts';
import { evictAgent } from './evict-agent.ts';
import { imageStart } from '../image-command.ts';
import { localPolicy } from './local-policy.ts';
import { detectMachine, type Machine } from './machine.ts';
import { startSupervisor } from './start-supervisor.ts';

const records: PoolRecords = {
  traits: poolTraits.local,
  // All that happens is in the run's journals.
  accountFiles: [],
  source: () => Promise.resolve(undefined),
  account: () => Promise.resolve({}),
  supervisor: supervisorState,
  supervisedBy: localPolicy,
};

export const localKind: PoolKind = { ...records, open: localPool };

/** This machine as a pool: attempts run side by side within what it has. */
function localPool(start: PoolStart): Pool {
  return {
    ...records,
    // What cannot run here is told when it is rendered, with the machine's figures.
    limits: () => Promise.resolve(undefined),
    policy: (plan) => Promise.resolve(localPolicy(plan)),
    async examine(cwd) {
      const { bavail, bsize } = await statfs(cwd);
      return `${told(await detectMachine(start.env))}, ${formatSize(bavail * bsize)} free here`;
    },
    slots: () => Promise.resolve(undefined),
    async render(plan) {
      const machine = await detectMachine(start.env);
      assertFits(plan, machine);
      const image = await imageStart(plan, start.env);
      const agent = (await agentCommand(start.env, start.self)).at(-1);
      const together = `${atOnce(plan, machine)} of ${plan.jobs.length}`;
      return {
        summary: `${together} jobs at a time on this machine (${told(machine)})${image === undefined ? '' : `, in ${image.image}`}, by the agent ${agent ?? ''}`,
        files: {},
      };
    },
    submit: (runFolder) => startSupervisor(runFolder, start),
    // Whoever supervises reads the journal; it may be dead, and then this ends what it left.
    stop: (runFolder) => startSupervisor(runFolder, start),
    // Nothing is kept here but in the journal: all that ended needs a new round.
    release: (_, jobs) => Promise.resolve([...jobs]),
    // Attempts write into the run's folder.
    output: () => Promise.resolve(undefined),
    evict: (runFolder, job) => evictAgent(runFolder, job, start.kill),
  };
}

/** Throws when one job asks for more than the whole machine has. */
export function assertFits({ file, spec }: Plan, machine: Machine): void {
  const { cpus, gpus, memoryBytes } = spec.resources;
  const lacks: string[] = [];
  if (cpus > machine.cpus) lacks.push(`cpus = ${cpus} (it has ${machine.cpus})`);
  if (gpus > machine.gpus.length) lacks.push(`gpus = ${gpus} (it has ${machine.gpus.length})`);
  if (memoryBytes > machine.memoryBytes)
    lacks.push(`memory = ${formatSize(memoryBytes)} (it has ${formatSize(machine.memoryBytes)})`);
  if (lacks.length === 0) return;
  throw new Fault(
    'pool-unreachable',
    `a job asks for more than this machine (${os.hostname()}) has: ${lacks.join(', ')}`,
    { fix: `ask for less in [resources] of ${file}, or choose another pool in [run]`, about: file },
  );
}

function atOnce({ jobs, spec }: Plan, machine: Machine): number {
  const { cpus, gpus, memoryBytes } = spec.resources;
  const share = (has: number, wants: number): number => (wants === 0 ? jobs.length : Math.floor(has / wants));
  return Math.min(
    jobs.length,
    share(machine.cpus, cpus),
    share(machine.memoryBytes, memoryBytes),
    share(machine.gpus.length, gpus),
  );
}

const told = ({ cpus, gpus, memoryBytes }: Machine): string =>
  `${cpus} CPUs, ${formatSize(memoryBytes)} memory, ${gpus.length === 0 ? 'no GPU' : `${gpus.length} GPU`}`;
