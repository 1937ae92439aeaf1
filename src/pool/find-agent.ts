import { type Env, shellQuote, succeeds } from '@updraft/base';
import { access, constants } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { agentName, build, type Build, type Installation, installationOf } from '../job/installation.ts';
import { sha256Of } from '@updraft/base/disk';
import { Fault } from '../fault/fault.ts';

/** The agent for the workers, as a file that can be sent. */
export interface FoundAgent {
  arch: string;
  file: string;
  /** Whether the file is already packed with gzip. */
  isPacked: boolean;
}

/** What decides where the agent is: the environment, and how this program was started. */
export interface AgentSearch {
  env: Env;
  self: readonly string[];
  /** Of a one-file executable; only tests pass another. */
  build?: Build | undefined;
}

/**
 * The agent for machines of this architecture (Node's name): the executable that `UPDRAFT_AGENT` names, or the one that
 * this installation has. Source cannot be sent.
 */
export async function findAgent(search: AgentSearch, arch: string = os.arch()): Promise<FoundAgent> {
  const named = await namedAgent(search.env);
  if (named !== undefined) return { arch, file: named, isPacked: false };
  const { kind, root } = installationOf(search.self);
  const name = `${agentName}-linux-${arch}`;
  if (kind === 'checkout') return await needFile(path.join(root, 'dist', name), kind, root, arch);
  if (kind === 'package') return await needFile(path.join(root, 'agents', `${name}.gz`), kind, root, arch);
  if (arch === os.arch()) return { arch, file: search.self[0] ?? '', isPacked: false };
  return await besideExecutable(root, arch, search.build ?? build());
}

/** How to start the agent on this machine. A checkout without a build, or a package, runs its code with our own Node. */
export async function agentCommand(env: Env, self: readonly string[]): Promise<string[]> {
  const named = await namedAgent(env);
  if (named !== undefined) return [named];
  const { kind, root } = installationOf(self);
  const [program = '', main = ''] = self;
  if (kind === 'executable') return [program, agentName];
  const built = path.join(root, 'dist', `${agentName}-linux-${os.arch()}`);
  if (kind === 'checkout' && (await isAccessible(built, constants.X_OK))) return [built];
  const source = path.join(path.dirname(main), '..', 'agent', path.basename(main));
  if (await isAccessible(source, constants.R_OK)) return [program, source];
  throw missing(source, kind, root, os.arch());
}

async function namedAgent(env: Env): Promise<string | undefined> {
  const named = env['UPDRAFT_AGENT'] ?? '';
  if (named === '') return undefined;
  if (await isAccessible(named, constants.X_OK)) return path.resolve(named);
  throw new Fault('pool-unreachable', `UPDRAFT_AGENT: ${named} is not executable`, {
    fix: 'set it to the path of an agent executable, or unset it',
    about: named,
  });
}

async function needFile(
  file: string,
  kind: Installation['kind'],
  root: string,
  arch: string,
): Promise<FoundAgent> {
  const isPacked = file.endsWith('.gz');
  if (await isAccessible(file, isPacked ? constants.R_OK : constants.X_OK)) return { arch, file, isPacked };
  throw missing(file, kind, root, arch);
}

/** The agent for another architecture is a second file of the same release; a wrong one must not reach a worker. */
async function besideExecutable(root: string, arch: string, made: Build | undefined): Promise<FoundAgent> {
  const [name, sha256] =
    Object.entries(made?.agents ?? {}).find(([one]) => one.includes(`-linux-${arch}`)) ?? [];
  const file = path.join(root, name ?? `${agentName}-linux-${arch}.gz`);
  const found = await needFile(file, 'executable', root, arch);
  if ((await sha256Of(file)) === sha256) return found;
  throw new Fault('pool-unreachable', `${file} is not the agent for ${arch} of this version`, {
    fix: `put ${path.basename(file)} of the same release there, or set UPDRAFT_AGENT to an agent executable`,
    about: file,
  });
}

function missing(file: string, kind: Installation['kind'], root: string, arch: string): Fault {
  const fixes: Record<Installation['kind'], string> = {
    checkout: `build it: npm --prefix ${shellQuote(root)} run build:agent`,
    package: 'install the package again: its agents are missing',
    executable: `download ${path.basename(file)} of the same release into ${root}`,
  };
  return new Fault('pool-unreachable', `there is no agent for linux-${arch} machines: ${file} is missing`, {
    fix: `${fixes[kind]}; or set UPDRAFT_AGENT to an agent executable`,
    about: file,
  });
}

const isAccessible = (file: string, mode: number): Promise<boolean> => succeeds(access(file, mode));
