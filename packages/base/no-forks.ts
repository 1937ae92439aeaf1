import { execFile } from 'node:child_process';
import type { Env } from './env.ts';

/**
 * Prefix for a command that must not create processes: `true` becomes the first process of a new PID namespace, and
 * when it has ended, the kernel refuses every fork in it. Works for root, too.
 */
export const fullPidNamespace = [
  ...['unshare', '--user', '--map-current-user', '--pid', '--'],
  ...['sh', '-c', '/bin/true; exec "$@"', 'sh'],
];

/** Without namespaces; does not bind root. */
const zeroProcesses = ['prlimit', '--nproc=0:0', '--'];

/** The first of these prefixes that works for this kernel and user. */
export async function noForkCommand(env: Env): Promise<string[] | undefined> {
  for (const words of [fullPidNamespace, zeroProcesses]) if (await refusesForks(words, env)) return words;
  return undefined;
}

/** `timeout` exits with 125 if it cannot fork. */
function refusesForks([program = '', ...args]: string[], env: Env): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, [...args, 'timeout', '9', 'true'], { env: { ...env }, timeout: 10_000 }, (error) => {
      resolve(error?.code === 125);
    });
  });
}
