import { spawn } from 'node:child_process';
import type { World } from '../world.ts';

export type ProgramAnswer =
  | { kind: 'absent' }
  | { kind: 'silent' }
  | { kind: 'ended'; status: number | null; stdout: string; stderr: string };

interface Asking {
  env: Record<string, string | undefined>;
  cwd?: string;
  patienceMs: number;
}

const mostCharacters = 64 * 1024;

/**
 * Runs a program that answers in a few lines. One that does not end in time is killed and left: where a driver hangs,
 * the programs that ask it cannot even be killed, and nobody may wait for them. Rejects only when the attempt must end.
 */
export async function askProgram(
  program: string,
  args: string[],
  { env, cwd = '/', patienceMs }: Asking,
  { clock, signal }: Pick<World, 'clock' | 'signal'>,
): Promise<ProgramAnswer> {
  signal.throwIfAborted();
  const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on(
      'data',
      (bytes: Buffer) => (text[name] = (text[name] + bytes.toString()).slice(-mostCharacters)),
    );
  const over = new AbortController();
  const ended = new Promise<ProgramAnswer>((resolve) => {
    child.once('error', () => resolve({ kind: 'absent' }));
    child.once('close', (status) => resolve({ kind: 'ended', status, ...text }));
  });
  const late = clock
    .sleep(patienceMs, AbortSignal.any([over.signal, signal]))
    .then((): ProgramAnswer => ({ kind: 'silent' }));
  try {
    return await Promise.race([ended, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
    child.kill('SIGKILL');
    child.unref();
  }
}
