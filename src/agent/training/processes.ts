import { readdirSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import { tried } from '@updraft/base';
import type { Load } from '@updraft/account/journal';
import type { Context } from '../attempt.ts';
import { textOf } from '../machine/machine.ts';

/** The kernel's unit of CPU time: the same on every Linux that matters. */
const ticksPerSecond = 100;

/**
 * The living processes of an attempt: those with its scratch folder in their environment or as their working folder,
 * and those of its own sessions. Ask for a session only while it lives or has just ended: its number gets reused.
 */
export function attemptProcesses(scratch: string, ...sessions: readonly number[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => belongs(pid, scratch, sessions));
}

/** Kills them; true if there was none. */
export function killProcesses(scratch: string, context: Context, ...sessions: readonly number[]): boolean {
  const left = attemptProcesses(scratch, ...sessions).filter((pid) => pid !== context.pid);
  for (const pid of left) context.kill(pid, 'SIGKILL');
  return left.length === 0;
}

/**
 * Whether SIGTERM can only ask these processes to end: at least one handles it, and of the others it ends shells at
 * most. Python handles it only once a script says so; the workers of PyTorch's data loaders always do.
 */
export function wouldSurviveTerm(pids: readonly number[]): boolean {
  const programs = pids.map((pid) => textOf(`/proc/${pid}/status`)).filter((text) => !isShell.test(text));
  const has = (text: string, set: string): boolean => {
    const mask = new RegExp(String.raw`^${set}:\s+([\da-f]+)$`, 'm').exec(text)?.[1] ?? '0';
    return ((BigInt(`0x${mask}`) >> BigInt(os.constants.signals.SIGTERM - 1)) & 1n) === 1n;
  };
  const handles = (text: string): boolean => has(text, 'SigCgt');
  return programs.some(handles) && programs.every((text) => handles(text) || has(text, 'SigIgn'));
}

const isShell = /^Name:\s+(?:ba|da|k|z)?sh$/m;

/** Memory the processes really take: shared pages are counted once, in parts. */
export function memoryOf(pids: number[]): number {
  return addUp(pids, kilobytes) * 1024;
}

/** CPU time of a process and the children it has waited for, in seconds; 0 if it is gone. */
export function cpuSecondsOf(pid: number): number {
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = statOf(pid).slice(11, 15).map(Number);
  return (utime + stime + cutime + cstime) / ticksPerSecond;
}

/** Their memory, and what they have got of their machine by `now`, in milliseconds: a few small files of each. */
export const usageOf = (pids: number[], now: number): { memoryBytes: number; load: Load } => ({
  memoryBytes: memoryOf(pids),
  load: {
    at: now / 1000,
    processes: pids.length,
    blocked: pids.filter((pid) => statOf(pid)[0] === 'D').length,
    used: addUp(pids, cpuSecondsOf),
    queued: addUp(pids, queuedOf),
  },
});

/** To hundredths, because journals get it. */
export const addUp = (pids: readonly number[], of: (pid: number) => number): number =>
  Math.round(100 * pids.reduce((sum, pid) => sum + of(pid), 0)) / 100;

/** How long the main thread of a process has waited for a core, in seconds. */
const queuedOf = (pid: number): number => Number(textOf(`/proc/${pid}/schedstat`).split(' ')[1] ?? 0) / 1e9;

/** The fields of /proc/PID/stat, from the state on. */
function statOf(pid: number): string[] {
  const stat = textOf(`/proc/${pid}/stat`);
  // The command name is in parentheses and may itself contain parentheses and spaces.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function belongs(pid: number, scratch: string, sessions: readonly number[]): boolean {
  const [state, , , sessionId] = statOf(pid);
  if (state === undefined || state === '' || state === 'Z' || state === 'X') return false;
  if (sessions.includes(Number(sessionId))) return true;
  return textOf(`/proc/${pid}/environ`).includes(`UPDRAFT_SCRATCH=${scratch}\0`) || worksIn(pid, scratch);
}

function worksIn(pid: number, folder: string): boolean {
  const cwd = tried(() => readlinkSync(`/proc/${pid}/cwd`)) ?? '';
  return cwd === folder || cwd.startsWith(`${folder}/`);
}

function kilobytes(pid: number): number {
  const shared = /^Pss:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1];
  const resident = shared ?? /^VmRSS:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/status`))?.[1];
  return Number(resident ?? 0);
}
