import { spawn } from 'node:child_process';

// What is being killed may still write for a moment.
const script = `read -r _ && exit
for target in $TARGETS; do kill -s KILL -- "$target"; done
for delay in 0.1 0.2 0.4 0.8 1.6 3.2; do rm -rf -- "$@" && exit; sleep "$delay"; done`;

interface Belongings {
  /** Process ids; negative for process groups. */
  targets: number[];
  folders?: string[];
}

/**
 * Kills processes and removes folders as soon as this process ends, however it ends: the time limit of a test file
 * runs no clean-up. Disposing of it means that this is done already.
 */
export function endWithUs({ targets, folders = [] }: Belongings): Disposable {
  // Reads from a pipe that closes with this process; in its own session, so that no signal for this one reaches it.
  const guard = spawn('/bin/sh', ['-c', script, 'sh', ...folders], {
    env: { PATH: process.env['PATH'], TARGETS: targets.join(' ') },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  return { [Symbol.dispose]: () => void guard.stdin.end('done\n') };
}
