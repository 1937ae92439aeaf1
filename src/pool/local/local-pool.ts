import os from 'node:os';
import { Fault } from '../../fault/fault.ts';
import type { Plan } from '../../job/plan.ts';
import { formatSize } from '../../job/units.ts';
import type { Pool } from '../pool.ts';
import { agentCommand } from '../agent-command.ts';
import { evictAgent } from './evict-agent.ts';
import { imageStart } from '../image-command.ts';
import type { Kill } from './leftovers.ts';
import { localPolicy } from './local-policy.ts';
import { detectMachine, type Machine } from './machine.ts';
import { startSupervisor, type SupervisorStart } from './start-supervisor.ts';

/** This machine as a pool: attempts run side by side within what it has. */
export function localPool(start: SupervisorStart & { kill: Kill }): Pool {
  return {
    // What cannot run here is told when it is rendered, with the machine's figures.
    customs: () => Promise.resolve(undefined),
    policy: (plan) => Promise.resolve(localPolicy(plan)),
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
    look: () => Promise.resolve(),
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
  `${cpus} CPUs, ${formatSize(memoryBytes)}, ${gpus.length === 0 ? 'no' : gpus.length} GPUs`;
