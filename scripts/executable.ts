import path from 'node:path';
import process from 'node:process';
import { isPluginCall } from '../src/agent/plugin/plugin-args.ts';
import { type Assets, embedAssets } from '../src/job/assets.ts';
import { agentName } from '../src/job/installation.ts';

/**
 * The one-file executable: the agent if its name or its first argument says so, or if its name is that of an HTCondor
 * plugin; otherwise the command line. Each loads only its own code.
 */
export async function start(assets: () => Promise<Assets>): Promise<void> {
  const [, , first] = process.argv;
  if (first === agentName) process.argv.splice(2, 1);
  const isNamed = path.basename(process.argv0).startsWith(agentName) || isPluginCall(process.argv0, []);
  if (first === agentName || isNamed) {
    await import('../src/agent/main.ts');
    return;
  }
  embedAssets(assets);
  const { runCommandLine } = await import('../src/cli/command-line.ts');
  process.exitCode = await runCommandLine({ process, self: [process.execPath] });
}
