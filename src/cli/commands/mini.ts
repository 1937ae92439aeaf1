import path from 'node:path';
import type { Command } from 'commander';
import { findProgram, isThere, shellQuote } from '@updraft/base';
import { identifyProcess, withLease } from '@updraft/base/processes';
import { cacheFolder } from '@updraft/base/user-folders';
import { asFault, Fault, usageFault } from '@updraft/account/fault';
import { serverModels } from '@updraft/mini/federation';
import {
  type MiniPoolState,
  poolModels,
  rootFolder,
  runningPool,
  sites,
  startPool,
  stopPool,
} from '@updraft/mini/pool';
import type { Cli } from '../cli.ts';
import { addHelp, describe, subcommand } from '../help.ts';
import { collect } from '../job-file-argument.ts';
import {
  federationApprove,
  federationDown,
  federationStatus,
  federationToken,
  federationTrouble,
} from '../mini/federation-control.ts';
import { federationUp, type UpOptions } from '../mini/federation-up.ts';
import { miniFolder, poolFolder } from '../mini/state-folder.ts';
import { printJson, nextCommands, progressLine } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'mini-federation.md', [
    'updraft mini pool up                             # a real HTCondor pool of three sites',
    'updraft mini federation up --publish /demo=data  # a Pelican federation',
  ]);
  configureFederation(command.command('federation'), cli);
  configurePool(command.command('pool'), cli);
}

interface Options {
  state?: string;
  json?: true;
}

interface UpPoolOptions extends Options {
  like?: string;
}

function modelConfig(like: string | undefined): string[] {
  const config = like === undefined ? [] : poolModels[like];
  if (config !== undefined) return config;
  throw usageFault(
    `there is no pool "${like}" to be like`,
    `use one of: ${Object.keys(poolModels).join(', ')}`,
  );
}

/** `updraft mini pool up | status | down`. */
function configurePool(command: Command, cli: Cli): void {
  addHelp(describe(command, 'run a real HTCondor pool of three sites on this machine'), 'mini-pool.md', [
    'updraft mini pool up    # start it; the first time it is built',
    'updraft mini pool down  # stop it',
  ]);
  common(
    subcommand(command, 'up', 'start the pool; the first time it is built', [
      'updraft mini pool up                # then: updraft run --pool condor',
      'eval "$(updraft mini pool up)"      # HTCondor\'s commands in this shell',
      "updraft mini pool up --like ospool  # with the OSPool's limits",
    ]),
  )
    .option('--like <pool>', `with the limits of a real pool: ${Object.keys(poolModels).join(', ')}`)
    .action((options: UpPoolOptions) => up(cli, options));
  common(
    subcommand(command, 'status', 'show whether the pool runs, and where', [
      'updraft mini pool status         # sites, and how to use the pool',
      'updraft mini pool status --json  # for a program',
    ]),
  ).action((options: Options) => status(cli, options));
  common(
    subcommand(command, 'down', 'stop every process of the pool', [
      'updraft mini pool down         # its files stay',
      'updraft mini pool down --json  # for a program',
    ]),
  ).action((options: Options) => down(cli, options));
}

async function up(cli: Cli, options: UpPoolOptions): Promise<void> {
  const config = modelConfig(options.like);
  const own = await ownCondor(cli);
  if (own !== undefined) {
    if (options.json === true) printJson(cli, { running: false, condor: own });
    cli.err(`this machine already has HTCondor: ${own}; nothing to start\n`);
    return;
  }
  const home = homeOf(cli, options);
  const self = identifyProcess(cli.pid);
  if (self === undefined) throw new Fault('pool-unreachable', 'there is no /proc on this machine');
  // If the command runs twice at once, the second waits and finds the first one's pool.
  const state = await withLease(
    path.join(home, 'starting'),
    self,
    cli.clock,
    async () => (await runningPool(home)) ?? (await build(cli, home, config)),
  );
  printPool(cli, state, options);
}

async function build(cli: Cli, home: string, config: string[]): Promise<MiniPoolState> {
  const say = progressLine(cli);
  try {
    const root = await rootFolder({ ...cli, cacheFolder: cacheFolder(cli.env), say });
    say('starting HTCondor ...', true);
    const state = await startPool({
      root,
      home,
      sites,
      config,
      clock: cli.clock,
      kill: (pid, name) => cli.kill(pid, name),
      signal: cli.signal,
    });
    say(`HTCondor runs: ${state.sites.join(', ')}`);
    return state;
  } catch (error) {
    cli.signal.throwIfAborted();
    throw new Fault('pool-unreachable', `the pool cannot be started: ${asFault(error).message}`, {
      fix:
        'it needs user namespaces and, the first time, Debian with mmdebstrap (apt-get install mmdebstrap) ' +
        'and its mirror; elsewhere use a machine with HTCondor',
      cause: error,
    });
  }
}

function printPool(cli: Cli, running: MiniPoolState, { json, state }: Options): void {
  const onPath = `export PATH=${shellQuote(running.bin)}:$PATH`;
  cli.out(json === true ? `${JSON.stringify({ running: true, ...running })}\n` : `${onPath}\n`);
  const word = state === undefined ? '' : ` --state ${shellQuote(state)}`;
  nextCommands(cli, [
    state === undefined && ['updraft run --pool condor', 'your job file on it'],
    [onPath, "condor_q, condor_status and HTCondor's other commands, in this shell"],
    [`updraft mini pool down${word}`, 'stop it'],
  ]);
}

async function status(cli: Cli, options: Options): Promise<void> {
  const state = await runningPool(homeOf(cli, options));
  if (state !== undefined) printPool(cli, state, options);
  else if (options.json === true) cli.out('{"running":false}\n');
  else cli.out('no pool is running; to start one: updraft mini pool up\n');
}

async function down(cli: Cli, options: Options): Promise<void> {
  const state = await runningPool(homeOf(cli, options));
  if (state !== undefined) await stopPool(state, cli);
  if (options.json === true) printJson(cli, { stopped: state !== undefined });
  else cli.err(state === undefined ? 'no pool is running\n' : 'the pool is stopped\n');
}

/** The machine's own HTCondor, not counting the mini pool's tools. */
async function ownCondor(cli: Cli): Promise<string | undefined> {
  for (const PATH of (cli.env['PATH'] ?? '').split(':'))
    if (!(await isThere(path.join(PATH, '.inside')))) {
      const file = await findProgram(['condor_submit'], { PATH });
      if (file !== undefined) return file;
    }
  return undefined;
}

const homeOf = (cli: Cli, { state }: Options): string => miniFolder(cli, poolFolder, state);

/** The commands of `updraft mini federation`. */
function configureFederation(command: Command, cli: Cli): void {
  addHelp(describe(command, 'run a small Pelican federation on this machine'), undefined, [
    'updraft mini federation up --publish /demo=data --detach  # start it',
    'updraft mini federation down                              # stop it',
  ]);
  configureUp(command, cli);
  common(
    subcommand(command, 'status', 'show addresses, what was served, and active trouble', [
      'updraft mini federation status         # the one started by `up --detach`',
      'updraft mini federation status --json  # for a program',
    ]),
  ).action((options: Options) => federationStatus(cli, options));
  configureTokens(command, cli);
  common(
    subcommand(command, 'trouble', 'make servers misbehave; without rules, list active ones', [
      "updraft mini federation trouble 'cache-1: stall after 1MB'  # the first cache stalls",
      'updraft mini federation trouble --clear                     # back to normal',
    ]),
  )
    .argument('[rule...]', "as in 'cache-1: stall after 1MB on *.tar first 2'")
    .option('--clear', 'remove all rules first')
    .option('--end <number>', 'remove the rule of this number')
    .action((rules: string[], options: Parameters<typeof federationTrouble>[2]) =>
      federationTrouble(cli, rules, options),
    );
  common(
    subcommand(command, 'down', 'stop the federation', [
      'updraft mini federation down                   # the one started by `up --detach`',
      'updraft mini federation down --state /tmp/fed  # one that keeps its state there',
    ]),
  ).action((options: Options) => federationDown(cli, options));
}

function configureTokens(command: Command, cli: Cli): void {
  common(
    subcommand(command, 'token', 'print a new token for a protected namespace', [
      'updraft mini federation token > token             # for the first namespace that needs one',
      'updraft mini federation token /demo --expires 60  # valid for a minute',
    ]),
  )
    .argument('[prefix]', 'a namespace (default: the first that needs tokens)')
    .option('--scope <scopes>', 'WLCG scopes, with paths relative to the namespace')
    .option('--expires <seconds>', 'seconds until it expires; negative: already expired', '1200')
    .action((prefix: string | undefined, options: Parameters<typeof federationToken>[2]) =>
      federationToken(cli, prefix, options),
    );
  common(
    addHelp(
      describe(command.command('approve'), 'approve a pending login, as its web page would'),
      'login.md',
      [
        'updraft mini federation approve ABCD-EFGH         # the code that login shows',
        'updraft mini federation approve ABCD-EFGH --deny  # refuse it',
      ],
    ),
  )
    .argument('<code>', 'the code that `updraft login` shows')
    .option('--deny', 'deny it')
    .action((code: string, options: Parameters<typeof federationApprove>[2]) =>
      federationApprove(cli, code, options),
    );
}

function configureUp(command: Command, cli: Cli): void {
  common(
    subcommand(command, 'up', 'start the federation; Ctrl-C stops it', [
      'updraft mini federation up --publish /demo=data --like xrootd               # behave like XRootD servers',
      'updraft mini federation up --publish /demo=data --token-for /demo --detach  # in the background',
    ]),
  )
    .option('--publish <prefix=folder>', 'serve a folder (repeatable)', collect)
    .option('--token-for <prefix>', 'need a token to read it (repeatable)', collect)
    .option('--writable <prefix>', 'allow uploads with a token (repeatable)', collect)
    .option('--caches <number>', 'number of caches', '2')
    .option('--http', 'serve public objects over http')
    .option('--like <servers>', `behave like real servers: ${serverModels.join(', ')}`)
    .option('--trouble <rule>', 'start with this trouble rule (repeatable)', collect)
    .option('--detach', 'run in the background')
    .action((options: UpOptions) => federationUp(cli, options));
}

const common = (command: Command): Command =>
  command.option('--state <folder>', 'where it keeps its state').option('--json', 'print JSON');
