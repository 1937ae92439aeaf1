import { spawn } from 'node:child_process';
import path from 'node:path';
import { shellQuote } from '../../base/shell-quote.ts';
import { tellingLine } from '../../base/telling-line.ts';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';

interface ToolOptions {
  cwd?: string;
  /** Also keeps what it prints to stdout, instead of showing it. */
  capture?: true;
  env?: Record<string, string>;
}

const mostSaid = 16_000;

/** Runs a program of the machine and shows what it says; throws with the line that tells why when it fails, and all it said as the cause. */
export async function runTool(
  cli: Cli,
  program: string,
  words: string[],
  options: ToolOptions = {},
): Promise<string> {
  const { cwd = cli.cwd, capture, env } = options;
  if (!capture) cli.err(`$ ${[path.basename(program), ...words].map(shellQuote).join(' ')}\n`);
  const child = spawn(program, words, {
    cwd,
    env: { ...cli.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: cli.signal,
    killSignal: 'SIGTERM',
  });
  let [out, said] = ['', ''];
  const hear = (piece: Buffer): void => {
    const text = piece.toString('utf8');
    said = (said + text).slice(-mostSaid);
    if (!capture) cli.err(text);
  };
  child.stdout.on('data', (piece: Buffer) => {
    if (capture) out += piece.toString('utf8');
    else hear(piece);
  });
  child.stderr.on('data', hear);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).catch((error: unknown) => {
    cli.signal.throwIfAborted();
    said = (error as Error).message;
    return null;
  });
  if (status === 0) return out;
  throw new Fault('environment-broken', `${path.basename(program)} failed: ${tellingLine(said)}`, {
    about: program,
    cause: new Error(said),
    ...(!capture && { fix: 'see what it said above' }),
  });
}
