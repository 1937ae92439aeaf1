import { spawn } from 'node:child_process';
import type { Env } from '../../base/env.ts';
import { tellingLine } from '../../base/telling-line.ts';
import type { World } from '../world.ts';

export interface ProgramEnd {
  /** 0 to 255; null when a signal ended it; undefined when it could not be started. */
  status: number | null | undefined;
  out: Buffer;
  /** The end of what it printed to stderr. */
  said: string;
}

const mostSaid = 4000;
const mostOut = 4 << 20;

/** Runs a program in a group of its own to its end, or to the attempt's. */
export async function runProgram(
  words: [string, ...string[]],
  env: Env,
  cwd: string,
  { signal, kill }: World,
): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const [program, ...rest] = words;
  const child = spawn(program, rest, {
    cwd,
    env: { ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pieces: Buffer[] = [];
  let [said, bytes] = ['', 0];
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= mostOut) pieces.push(piece);
  });
  child.stderr.on('data', (piece: Buffer) => (said = (said + piece.toString('utf8')).slice(-mostSaid)));
  const stop = (): void => {
    if (child.pid !== undefined) kill(-child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const status = await new Promise<ProgramEnd['status']>((resolve) => {
      child.once('error', (error) => {
        said = error.message;
        resolve(undefined);
      });
      child.once('close', (code) => resolve(code));
    });
    signal.throwIfAborted();
    return { status, out: Buffer.concat(pieces), said: said.trim() };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Why a program failed, in its own words, or how it ended. */
export function lastWords({ said, status }: ProgramEnd): string {
  const line = tellingLine(said);
  if (line !== '') return line;
  return status === null ? 'a signal ended it' : `it ended with status ${status ?? 'unknown'}`;
}
