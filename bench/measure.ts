import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** What one run of a command cost. */
export interface Cost {
  /** Seconds. */
  wall: number;
  /** User and system seconds of the command and its children. */
  cpu: number;
  succeeded: boolean;
  output: string;
}

interface MeasureOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Killed, with its children, after this time. */
  limitSeconds?: number;
}

/** Runs a command under the shell's `time`. */
export async function measure(command: string[], options: MeasureOptions = {}): Promise<Cost> {
  const script = `TIMEFORMAT='%R %U %S'; { time "$@" 2>/dev/null; } 2>&3`;
  const child = spawn('bash', ['-c', script, 'bash', ...command], {
    ...{ cwd: options.cwd, env: options.env ?? process.env, detached: true },
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  const texts = [collect(child.stdout), collect(child.stdio[3] as Readable | null)];
  const started = performance.now();
  const killer = setTimeout(
    () => process.kill(-(child.pid ?? 0), 'SIGKILL'),
    (options.limitSeconds ?? 600) * 1000,
  );
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(killer);
  const [output = '', times = ''] = await Promise.all(texts);
  const [wall = (performance.now() - started) / 1000, user = 0, system = 0] = times
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '')
    .map(Number);
  return { wall, cpu: user + system, succeeded: code === 0, output };
}

async function collect(stream: Readable | null): Promise<string> {
  let text = '';
  if (stream === null) return text;
  for await (const part of stream) text += String(part);
  return text;
}
