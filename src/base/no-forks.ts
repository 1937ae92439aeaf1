import { execFile } from 'node:child_process';
import type { Env } from './env.ts';

/**
 * Words before a command that may create no process: `true` becomes the first process of a fresh process namespace, and
 * when that one has ended the kernel refuses every fork into it. Works for root too.
 */
export const fullPidNamespace = [
  ...['unshare', '--user', '--map-current-user', '--pid', '--'],
  ...['sh', '-c', '/bin/true; exec "$@"', 'sh'],
];

/** Where there are no namespaces; root is exempt from it. */
const zeroProcesses = ['prlimit', '--nproc=0:0', '--'];

/** The words of these that this kernel and user honour. */
export async function noForkCommand(env: Env): Promise<string[] | undefined> {
  for (const words of [fullPidNamespace, zeroProcesses]) if (await refusesForks(words, env)) return words;
  return undefined;
}

/** `timeout` answers 125 when it cannot fork. */
function refusesForks([program = '', ...args]: string[], env: Env): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, [...args, 'timeout', '9', 'true'], { env: { ...env }, timeout: 10_000 }, (error) => {
      resolve(error?.code === 125);
    });
  });
}
