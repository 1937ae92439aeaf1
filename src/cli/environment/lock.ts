import path from 'node:path';
import type { Command } from 'commander';
import { findProgram } from '../../base/find-program.ts';
import { describeLocked } from '../../environment/load-workspace.ts';
import { needProgram } from '../../environment/pixi-tools.ts';
import type { Cli } from '../cli.ts';
import { nextCommands } from '../next-commands.ts';
import { runTool } from './run-tool.ts';
import { manifestOf, openWorkspace } from './workspace.ts';

export function configureLock(command: Command, cli: Cli): void {
  command
    .description('write the lock of a workspace anew, or check it')
    .argument('[workspace]', 'a pixi.toml or pyproject.toml, or the folder that holds one', '.')
    .option('--check', 'only say whether the lock is one of the manifest')
    .addHelpText('after', example)
    .action((word: string, options: { check?: true }) =>
      options.check ? check(cli, word) : lock(cli, word),
    );
}

async function lock(cli: Cli, word: string): Promise<void> {
  const manifest = await manifestOf(cli, word);
  const pixi = await needProgram('pixi', 'locking', cli.env);
  await runTool(cli, pixi, ['lock', '--manifest-path', manifest]);
  await check(cli, word);
  nextCommands(cli, [['updraft env show', 'what is in it now']]);
}

/** Every environment on every platform of the lock; where there is pixi, it has the last word. */
async function check(cli: Cli, word: string): Promise<void> {
  const workspace = await openWorkspace(cli, word);
  let checked = 0;
  for (const [name, { platforms }] of workspace.lock.environments)
    for (const platform of platforms) {
      describeLocked(workspace, name, platform.name);
      checked++;
    }
  const pixi = await findProgram(['pixi'], cli.env);
  const file = path.relative(cli.cwd, workspace.lockFile);
  if (pixi === undefined) {
    cli.out(
      `${file}: version ${workspace.lock.version}, ${checked} environments on their platforms; every package that is asked for is locked\n`,
    );
    cli.err('pixi is not on the PATH: that the solution is still the best one was not asked\n');
    return;
  }
  await runTool(cli, pixi, ['lock', '--check', '--manifest-path', workspace.manifestFile]);
  cli.out(
    `${file}: version ${workspace.lock.version}, ${checked} environments on their platforms; pixi agrees\n`,
  );
}

const example = `
Examples:
  $ updraft env lock
  $ updraft env lock --check

Exit codes: 0 locked, or the lock is good; 3 the lock does not match the manifest; 4 pixi is not here; 116 pixi failed.`;
