import path from 'node:path';

/** How this program was installed, and the folder it was installed in. */
export interface Installation {
  kind: 'checkout' | 'package' | 'executable';
  root: string;
}

/** What the build of a one-file executable writes into it. */
export interface Build {
  /** SHA-256 of the packed agents that are published with it, by file name. */
  agents: Record<string, string>;
}

/** Replaced by its value in a one-file executable. */
declare const UPDRAFT_BUILD: Build | undefined;

export const build = (): Build | undefined =>
  typeof UPDRAFT_BUILD === 'undefined' ? undefined : UPDRAFT_BUILD;

/** The one-file executable is the agent if its own name or its first argument starts with this. */
export const agentName = 'updraft-agent';

/** Only a one-file executable starts without a main module. */
export function installationOf(self: readonly string[]): Installation {
  const [program = '', main] = self;
  if (main === undefined) return { kind: 'executable', root: path.dirname(program) };
  const root = path.resolve(path.dirname(main), '..', '..');
  return { kind: main.endsWith('.ts') ? 'checkout' : 'package', root };
}
