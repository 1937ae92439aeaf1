import { existsSync } from 'node:fs';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);

/** `npm test` has bundled the programs, which start in half the time; by hand the sources are used, which are never old. */
function mainOf(program: 'cli' | 'agent'): string {
  const bundled = path.join(root, 'dist', program, 'main.ts');
  const isBundled = process.env['UPDRAFT_TEST_POOL'] !== undefined && existsSync(bundled);
  return isBundled ? bundled : path.join(root, 'src', program, 'main.ts');
}

/** The main module of `updraft`, for Node. */
export const cliMain = mainOf('cli');

/** The program that ships, in suites that `npm test` runs under Bun: it was compiled with it. */
export const oneFile =
  process.versions['bun'] !== undefined && process.env['UPDRAFT_TEST_POOL'] !== undefined
    ? path.join(root, 'dist', `updraft-linux-${process.arch}`)
    : undefined;

/** The main module of the agent, for Node. */
export const agentMain = mainOf('agent');
