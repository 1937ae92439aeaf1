import { readFileSync } from 'node:fs';
import os from 'node:os';

/** Names one process for ever: process ids are used again, but not with the same start on the same boot. */
export interface ProcessIdentity {
  pid: number;
  /** Boot and clock ticks since it, as the kernel tells them. */
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
  const boot = readOrUndefined('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return { pid, start: `${boot}/${ticks}`, host: os.hostname() };
}

export function livenessOf(identity: ProcessIdentity): Liveness {
  if (identity.host !== os.hostname()) return 'elsewhere';
  return identifyProcess(identity.pid)?.start === identity.start ? 'alive' : 'dead';
}

function readOrUndefined(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
