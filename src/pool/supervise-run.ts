import path from 'node:path';
import { identifyProcess } from '@updraft/base/processes';
import { Fault } from '@updraft/account/fault';
import { agentCommand } from './find-agent.ts';
import { startAgent } from './local/agent-process.ts';
import type { AttemptContext } from './local/local-attempt.ts';
import { detectMachine, localPoolFolder } from './local/machine.ts';
import { supervise } from './local/supervisor.ts';
import { deleteSecrets } from './stored-secrets.ts';
import { type PoolContext, readPlan } from './pool.ts';
import { loadRun } from '@updraft/account/journal';
import { runOnEnd } from './on-end.ts';

/** What the supervisor's process passes in. */
export interface SupervisorContext extends PoolContext {
  signal: AbortSignal;
  err(text: string): void;
  renewTokens?: AttemptContext['renewTokens'];
}

/** Long enough for an agent to end its training (which gets ten seconds) and to clean up. */
const stopGraceMs = 30_000;

/** Brings a run on the local pool to its end; everything that a supervisor's process does. */
export async function superviseRun(runFolder: string, context: SupervisorContext): Promise<void> {
  const { env, clock, signal, kill } = context;
  const self = identifyProcess(context.pid);
  if (self === undefined)
    throw new Fault('pool-unreachable', 'the local pool needs Linux: this machine has no /proc');
  const how = await supervise({
    runFolder: path.resolve(runFolder),
    plan: await readPlan(runFolder),
    agent: await agentCommand(env, context.self),
    scratchRoot: path.resolve(env['UPDRAFT_SCRATCH'] ?? env['TMPDIR'] ?? '/tmp'),
    poolFolder: localPoolFolder(env),
    machine: await detectMachine(env),
    startAgent,
    say: (line) => context.err(`${new Date(clock.now()).toISOString()} ${line}\n`),
    stopGraceMs,
    renewTokens: context.renewTokens,
    self,
    env,
    clock,
    signal,
    kill,
  });
  if (how === 'ended') {
    const problem = await runOnEnd(path.resolve(runFolder), await loadRun(runFolder), env);
    if (problem !== undefined) context.err(`${problem}\n`);
  }
  if (how === 'ended' || how === 'removed') await deleteSecrets(path.basename(path.resolve(runFolder)), env);
}
