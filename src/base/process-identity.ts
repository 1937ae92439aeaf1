import { readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';

/** Names one process for ever: process ids are used again, but not with the same start. */
export interface ProcessIdentity {
  pid: number;
  /** The boot, the space of process ids (a container has its own) and the clock ticks since the boot. */
  start: string;
  host: string;
}

/** `elsewhere`: the process belongs to another machine, so nothing can be said from here. */
export type Liveness = 'alive' | 'dead' | 'elsewhere';

/** The identity of a running process of this machine; undefined when there is none (a zombie has ended). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const stat = readOrUndefined(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command name stands in brackets and may itself hold brackets and spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const ticks = fields[19];
  if (state === undefined || ticks === undefined || state === 'Z' || state === 'X') return undefined;
  return { pid, start: `${processNamespace()}/${ticks}`, host: os.hostname() };
}

/** This process; undefined on a system that has no `/proc`. */
export function identifySelf(): ProcessIdentity | undefined {
  const pid = Number.parseInt(readOrUndefined('/proc/self/stat') ?? '', 10);
  return Number.isNaN(pid) ? undefined : identifyProcess(pid);
}

export function livenessOf({ pid, start, host }: ProcessIdentity): Liveness {
  // A laptop's host name changes with its network, and containers of one machine share its boot.
  if (start.startsWith(`${processNamespace()}/`))
    return identifyProcess(pid)?.start === start ? 'alive' : 'dead';
  return host === os.hostname() ? 'dead' : 'elsewhere';
}

/** What makes a process id of ours mean one process. */
function processNamespace(): string {
  const boot = readOrUndefined('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return `${boot}/${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? ''}`;
}

function readOrUndefined(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
