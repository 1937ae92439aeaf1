import { tried } from './error-reason.ts';
import { readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';

/** Identifies one process forever: process IDs are reused, but not with the same start. */
export interface ProcessIdentity {
  pid: number;
  /** The boot, the PID namespace (a container has its own) and the clock ticks since the boot. */
  start: string;
  host: string;
}

/** `elsewhere`: the process is on another machine, so its state is unknown. */
export type Liveness = 'alive' | 'dead' | 'elsewhere';

/** The identity of a running process on this machine; undefined if there is none (a zombie has ended). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const stat = readOrUndefined(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command name is in brackets and may itself contain brackets and spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const ticks = fields[19];
  if (state === undefined || ticks === undefined || state === 'Z' || state === 'X') return undefined;
  return { pid, start: `${processNamespace()}/${ticks}`, host: os.hostname() };
}

/** This process; undefined without `/proc`. */
export function identifySelf(): ProcessIdentity | undefined {
  const pid = Number.parseInt(readOrUndefined('/proc/self/stat') ?? '', 10);
  return Number.isNaN(pid) ? undefined : identifyProcess(pid);
}

export function livenessOf({ pid, start, host }: ProcessIdentity): Liveness {
  // A laptop's host name changes with its network, and containers on one machine share its boot.
  if (start.startsWith(`${processNamespace()}/`))
    return identifyProcess(pid)?.start === start ? 'alive' : 'dead';
  return host === os.hostname() ? 'dead' : 'elsewhere';
}

/** The scope in which a process ID is unique. */
function processNamespace(): string {
  const boot = readOrUndefined('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  if (boot === '') return ''; // no Linux: no process here is one of ours
  return `${boot}/${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? ''}`;
}

const readOrUndefined = (file: string): string | undefined => tried(() => readFileSync(file, 'latin1'));
