import { tried } from '@updraft/base';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { MemoryReadings } from './command-end.ts';

/** Replaceable in tests. */
export interface KernelFiles {
  read: (file: string) => string;
  /** The kernel's messages since a moment of its clock, in seconds. */
  kernelLines: (since: number) => string[];
  uptime: () => number;
}

/** On x86_64 and most others; the figures are for people. */
const pageBytes = 4096;
/** The kernel's line on a kill that no cgroup caused. */
export const machineOutOfMemory = /^Out of memory/;

/** A kill is counted and logged a moment before the training's end is noticed. */
const recentSeconds = 5;

/**
 * Follows the memory of a training, cheaply and often: one that takes too much is dead within seconds, and then its
 * memory is free again.
 */
export class MemoryWatch {
  readonly #files: KernelFiles;
  readonly #cgroup: string[];
  readonly #killsBefore: number;
  #recent: { at: number; kills: number }[] = [];
  readonly #seen = new Set<number>();
  #peak = 0;
  /** At the last poll; shared pages count for each process. */
  residentBytes = 0;
  #available: number | undefined;

  constructor(files: KernelFiles = kernelFiles) {
    this.#files = files;
    this.#cgroup = cgroupFolders(files.read('/proc/self/cgroup'));
    this.#killsBefore = this.#cgroupKills();
    this.poll();
  }

  /** `pids`: the training's shells, while they live. */
  poll(...pids: readonly number[]): void {
    const { read, uptime } = this.#files;
    const now = uptime();
    const kills = numberAfter(read('/proc/vmstat'), 'oom_kill');
    const since = this.#recent.findLastIndex(({ at }) => at <= now - recentSeconds);
    this.#recent = [...this.#recent.slice(Math.max(since, 0)), { at: now, kills }];
    const resident = pids.reduce((sum, pid) => sum + this.#residentBytes(pid), 0);
    this.residentBytes = resident;
    // A dead process shows nothing: what counts is what the machine had while it lived.
    if (resident === 0 && pids.length > 0) return;
    this.#peak = Math.max(this.#peak, resident);
    const available = numberAfter(read('/proc/meminfo'), 'MemAvailable:');
    if (available > 0) this.#available = available * 1024;
  }

  /** Call it right after the training has ended. */
  readings(): MemoryReadings {
    this.poll(-1);
    const { read, kernelLines, uptime } = this.#files;
    const said = kernelLines(uptime() - recentSeconds).findLast((line) => {
      const pid = /Killed process (\d+)/.exec(line)?.[1];
      return pid !== undefined && (this.#seen.has(Number(pid)) || machineOutOfMemory.test(line));
    });
    const [limit] = this.#cgroup.flatMap((folder) => memoryLimits(folder, read)).sort((a, b) => a - b);
    const kills = this.#recent.map((one) => one.kills);
    return {
      peakBytes: this.#peak,
      ...(this.#available === undefined ? {} : { availableBytes: this.#available }),
      totalBytes: numberAfter(read('/proc/meminfo'), 'MemTotal:') * 1024,
      ...(limit === undefined ? {} : { limitBytes: limit }),
      cgroupKills: this.#cgroupKills() - this.#killsBefore,
      machineKills: (kills.at(-1) ?? 0) - (kills[0] ?? 0),
      ...(said === undefined ? {} : { kernelSaid: said }),
    };
  }

  /** Of a process and its descendants; 0 if it is gone. */
  #residentBytes(pid: number): number {
    const { read } = this.#files;
    this.#seen.add(pid);
    const pages = Number(read(`/proc/${pid}/statm`).split(' ')[1] ?? 0);
    const children = read(`/proc/${pid}/task/${pid}/children`).trim();
    const below = children === '' ? [] : children.split(' ').map(Number);
    return pages * pageBytes + below.reduce((sum, child) => sum + this.#residentBytes(child), 0);
  }

  #cgroupKills(): number {
    const { read } = this.#files;
    const own = this.#cgroup[0];
    if (own === undefined) return 0;
    const text = read(path.join(own, 'memory.events')) || read(path.join(own, 'memory.oom_control'));
    return numberAfter(text, 'oom_kill');
  }
}

/** `oom_kill 3`, `MemTotal:  16 kB`; 0 if it is missing. */
const numberAfter = (text: string, name: string): number =>
  Number(new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);

/** The folders of a process's memory cgroup, from its own up: version 1 if that has memory, otherwise version 2. */
export function cgroupFolders(listing: string): string[] {
  const paths = new Map(
    listing
      .trim()
      .split('\n')
      .map((line) => {
        const [, controllers = '', own = ''] = line.split(/^\d+:([^:]*):/);
        return [controllers.split(',').includes('memory') ? 'memory' : controllers, own] as const;
      }),
  );
  const [own, root] = paths.has('memory')
    ? [paths.get('memory'), '/sys/fs/cgroup/memory']
    : [paths.get(''), '/sys/fs/cgroup'];
  const folders: string[] = [];
  for (let at = own ?? ''; at.startsWith('/'); at = path.dirname(at)) {
    folders.push(path.join(root, at === '/' ? '' : at));
    if (at === '/') break;
  }
  return folders;
}

/** Anything above this means no limit. */
const unlimitedBytes = 2 ** 60;

function memoryLimits(folder: string, read: KernelFiles['read']): number[] {
  const text = read(path.join(folder, 'memory.max')) || read(path.join(folder, 'memory.limit_in_bytes'));
  const limit = /^\d+\s*$/.test(text) ? Number(text) : Infinity;
  return limit < unlimitedBytes ? [limit] : [];
}

const kernelFiles: KernelFiles = {
  read(file) {
    // not there, not ours to read, or gone
    return tried(() => readFileSync(file, 'utf8')) ?? '';
  },
  kernelLines,
  uptime: () => os.uptime(),
};

const maxRecords = 20_000;

/** The kernel's log, if this user may read it: one record per read, until there is none. */
function kernelLines(since: number): string[] {
  const file = tried(() => openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK));
  if (file === undefined) return [];
  const [lines, record]: [string[], Buffer] = [[], Buffer.alloc(8192)];
  try {
    for (let count = 0; count < maxRecords; count++) {
      const text = record.toString('utf8', 0, readSync(file, record));
      const [, micros = '', said = ''] = /^\d+,\d+,(\d+),[^;]*;([^\n]*)/.exec(text) ?? [];
      if (Number(micros) / 1e6 >= since) lines.push(said);
    }
  } catch {
    // EAGAIN at the end; EPIPE if the oldest was overwritten: what was read will do.
  } finally {
    closeSync(file);
  }
  return lines;
}
