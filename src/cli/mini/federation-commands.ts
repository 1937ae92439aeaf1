import type { Command } from 'commander';
import { troubleLanguage } from '../../mini/federation/parse-trouble.ts';
import type { Cli } from '../cli.ts';
import {
  federationDown,
  federationStatus,
  federationToken,
  federationTrouble,
} from './federation-control.ts';
import { federationUp, type UpOptions } from './federation-up.ts';

/** The commands of `updraft mini federation`. */
export function configureFederation(command: Command, cli: Cli): void {
  command
    .summary('a small Pelican federation on this machine')
    .description(
      'Run a small Pelican federation on this machine: director, origin and caches, with trouble on demand.',
    )
    .addHelpText('after', example);
  configureUp(command.command('up'), cli);
  common(
    command.command('status').description('show the addresses, what was served and the trouble in force'),
  ).action((options: { state?: string; json?: true }) => federationStatus(cli, options));
  common(command.command('token').description('print a new token for a protected namespace'))
    .argument('[prefix]', 'the namespace; the first that asks for tokens, if left out')
    .option('--scope <scopes>', 'WLCG scopes, paths relative to the namespace')
    .option('--expires <seconds>', 'seconds until it ends; below zero for one that has ended', '1200')
    .action((prefix: string | undefined, options: Parameters<typeof federationToken>[2]) =>
      federationToken(cli, prefix, options),
    );
  common(command.command('trouble').description('make servers misbehave; without rules, show those in force'))
    .argument('[rule...]', "as in 'cache-1: stall after 1MB on *.tar first 2'")
    .option('--clear', 'end all trouble first')
    .option('--end <number>', 'end the trouble of this number')
    .addHelpText('after', `\nA rule:\n  ${troubleLanguage}`)
    .action((rules: string[], options: Parameters<typeof federationTrouble>[2]) =>
      federationTrouble(cli, rules, options),
    );
  common(command.command('down').description('end the federation')).action(
    (options: { state?: string; json?: true }) => federationDown(cli, options),
  );
}

function configureUp(command: Command, cli: Cli): void {
  const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];
  common(command.description('start it; Ctrl-C ends it'))
    .option('--publish <prefix=folder>', 'serve this folder under this prefix (repeatable)', collect)
    .option('--token-for <prefix>', 'ask for a token to read under this prefix (repeatable)', collect)
    .option('--writable <prefix>', 'allow uploads, with a token, under this prefix (repeatable)', collect)
    .option('--caches <number>', 'how many caches', '2')
    .option('--http', 'let the director name public objects by http addresses')
    .option('--trouble <rule>', 'start with this trouble (repeatable)', collect)
    .option('--detach', 'leave it running in the background')
    .addHelpText('after', `\nA rule of trouble:\n  ${troubleLanguage}`)
    .action((options: UpOptions) => federationUp(cli, options));
}

function common(command: Command): Command {
  return command
    .option('--state <folder>', 'folder for its state ($XDG_STATE_HOME/updraft/mini-federation if left out)')
    .option('--json', 'print JSON');
}

const example = `
Examples:
  $ updraft mini federation up --publish /demo=data --detach
  $ updraft mini federation trouble 'cache-1: stall after 1MB on *.tar first 2'
  $ updraft mini federation down

Exit codes: 0 done, 2 wrong usage, 92 no federation is running.`;
