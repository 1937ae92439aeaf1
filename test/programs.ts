import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { shellQuote } from '@updraft/base';

const root = path.dirname(import.meta.dirname);

/** `npm test` has bundled the programs, which start in half the time; by hand the sources are used, which are never old. */
function mainOf(program: 'cli' | 'agent'): string {
  const bundled = path.join(root, 'dist', program, 'main.ts');
  const isBundled = process.env['UPDRAFT_TEST_POOL'] !== undefined && existsSync(bundled);
  return isBundled ? bundled : path.join(root, 'src', program, 'main.ts');
}

/** The main module of `updraft`, for Node. */
export const cliMain = mainOf('cli');

/** What ships, if `npm test` has built it: it takes a third of the CPU to start. By hand the sources, for Node. */
function shipped(name: string, main: string): string[] {
  const file = path.join(root, 'dist', `${name}-linux-${process.arch}`);
  const isBuilt = process.env['UPDRAFT_TEST_POOL'] !== undefined && existsSync(file);
  return isBuilt ? [file] : [process.execPath, main];
}

const updraftWords = shipped('updraft', cliMain);

/** A folder for the PATH, in which `updraft` is that program. */
export async function placeUpdraft(bin: string): Promise<void> {
  await mkdir(bin, { recursive: true });
  const program = path.join(bin, 'updraft');
  // By its own name, which it prints in its advice.
  if (updraftWords.length === 1) await symlink(updraftWords[0]!, program);
  else
    await writeFile(program, `#!/bin/sh\nexec ${updraftWords.map(shellQuote).join(' ')} "$@"\n`, {
      mode: 0o755,
    });
}

/** The program that ships, in suites that `npm test` runs under Bun: it was compiled with it. */
export const oneFile =
  process.versions['bun'] !== undefined && process.env['UPDRAFT_TEST_POOL'] !== undefined
    ? path.join(root, 'dist', `updraft-linux-${process.arch}`)
    : undefined;

/** The main module of the agent, for Node. */
export const agentMain = mainOf('agent');

/** The agent as a run starts it. */
export const agentWords = shipped('updraft-agent', agentMain);
