import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '../../base/shell-quote.ts';
import { findProgram } from '../../base/find-program.ts';
import { describeLocked, type Workspace } from '../../environment/load-workspace.ts';
import { notLocked } from '../../environment/lock-mismatches.ts';
import { needProgram } from '../../environment/pixi-tools.ts';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { nextCommands } from '../text/next-commands.ts';
import { counted } from '../text/counted.ts';
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
  const argument = word === '.' ? '' : ` ${shellQuote(word)}`;
  nextCommands(cli, [[`updraft env show${argument}`, 'what is in it now']]);
}

/** Every environment on every platform of the lock; where there is pixi, it has the last word. */
async function check(cli: Cli, word: string): Promise<void> {
  const workspace = await openWorkspace(cli, word);
  const [missing] = notLocked(workspace.manifest, workspace.lock);
  if (missing !== undefined)
    throw new Fault(
      'file-invalid',
      `${workspace.lockFile} does not match ${workspace.manifestFile}: ${missing}`,
      {
        about: workspace.lockFile,
        fix: 'write the lock again with: updraft env lock',
      },
    );
  let checked = 0;
  for (const [name, { platforms }] of workspace.lock.environments)
    for (const platform of platforms) {
      describeLocked(workspace, name, platform.name);
      checked++;
    }
  const pixi = await findProgram(['pixi'], cli.env);
  const file = path.relative(cli.cwd, workspace.lockFile);
  const found = `${file}: version ${workspace.lock.version}, ${counted(checked, 'environment')} on their platforms`;
  if (pixi === undefined) {
    cli.out(`${found}; every package that is asked for is locked\n`);
    cli.err('pixi is not on the PATH: that the solution is still the best one was not asked\n');
    return;
  }
  await askPixi(cli, pixi, workspace);
  cli.out(`${found}; pixi agrees\n`);
}

/**
 * Has pixi compare the lock with the manifest. Its own `lock --check` would write the lock anew before it answers,
 * and takes one of an older format for a wrong one; a list that must be `--locked` does neither.
 */
async function askPixi(cli: Cli, pixi: string, { lock, lockFile, manifestFile }: Workspace): Promise<void> {
  const places = [...lock.environments].flatMap(([name, { platforms }]) =>
    platforms.map((platform) => ['--environment', name, '--platform', platform.name]),
  );
  const words = ['list', '-v', '--json', '--locked', '--no-install', '--manifest-path', manifestFile];
  try {
    await runTool(cli, pixi, [...words, ...(places[0] ?? [])], { capture: true });
  } catch (thrown) {
    if (!(thrown instanceof Fault) || !/lock.?file not up-to-date/.test(thrown.message)) throw thrown;
    const said = thrown.cause instanceof Error ? thrown.cause.message : '';
    const why = /: (.* out of date because .*)$/m.exec(said)?.[1];
    const reason = why === undefined ? ', says pixi' : `, says pixi: ${why}`;
    throw new Fault('file-invalid', `${lockFile} does not match ${manifestFile}${reason}`, {
      about: lockFile,
      fix: 'write the lock again with: updraft env lock',
    });
  }
}

const example = `
Examples:
  $ updraft env lock
  $ updraft env lock --check

Exit codes: 0 locked, or the lock is good; 3 the lock does not match the manifest; 4 pixi is not here; 116 pixi failed.`;
