import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { type CommandName, groups } from './command-list.ts';
import { addHelp, configureHelp, describe, removedCommand } from './help.ts';
import { Fault } from '@updraft/account/fault';
import type { Plan } from '../job/plan.ts';

type Configure = (command: Command, cli: Cli) => void;

/** A command is loaded when it is used, so that `updraft status` does not load the rest. */
const files: Record<CommandName, () => Promise<{ configure: Configure }>> = {
  init: () => import('./commands/init.ts'),
  check: () => import('./commands/check.ts'),
  plan: () => import('./commands/plan.ts'),
  rehearse: () => import('./commands/rehearse.ts'),
  submit: async () => ({ configure: (await import('./commands/run.ts')).configureSubmit }),
  run: () => import('./commands/run.ts'),
  status: () => import('./commands/status.ts'),
  watch: () => import('./commands/watch.ts'),
  logs: () => import('./commands/logs.ts'),
  why: () => import('./commands/why.ts'),
  retry: () => import('./commands/retry.ts'),
  stop: () => import('./commands/stop.ts'),
  shell: () => import('./commands/shell.ts'),
  runs: () => import('./commands/runs.ts'),
  results: () => import('./commands/results.ts'),
  compare: () => import('./commands/compare.ts'),
  report: () => import('./commands/report.ts'),
  bundle: () => import('./commands/bundle.ts'),
  dashboard: () => import('./commands/dashboard.ts'),
  adopt: () => import('./commands/adopt.ts'),
  get: () => import('./commands/get.ts'),
  put: () => import('./commands/put.ts'),
  ls: async () => ({ configure: (await import('./commands/stat.ts')).configureList }),
  stat: () => import('./commands/stat.ts'),
  cat: () => import('./commands/cat.ts'),
  rm: () => import('./commands/rm.ts'),
  login: () => import('./commands/login.ts'),
  stage: () => import('./commands/stage.ts'),
  env: () => import('./commands/env.ts'),
  doctor: () => import('./commands/doctor.ts'),
  demo: () => import('./commands/demo.ts'),
  mini: () => import('./commands/mini.ts'),
  docs: () => import('./commands/docs.ts'),
  licenses: async () => ({ configure: (await import('./commands/docs.ts')).configureLicenses }),
  completion: () => import('./commands/completion.ts'),
};

/** How a command is set up: each file of `commands/` exports `configure`. */
export async function configureOf(name: string): Promise<Configure> {
  return (await files[name as CommandName]()).configure;
}

/** `mini` of `mini pool up`. */
function outermost(command: Command): Command {
  const { parent } = command;
  return parent === null || parent.parent === null ? command : outermost(parent);
}

/** The program with all its commands, of which only the wanted ones (or `'all'`) are loaded. */
export async function buildProgram(cli: Cli, wanted: readonly string[] | 'all'): Promise<Command> {
  const root = new Command('updraft')
    .version(cli.version)
    .showHelpAfterError('(add --help for what this command takes)')
    .showSuggestionAfterError()
    .exitOverride();
  root.hook('preAction', (_, action) => assertSystem(outermost(action).name(), cli.platform));
  configureHelp(root, cli);
  addHelp(root, {
    what: 'train PyTorch models on high-throughput pools and lose none of it',
    examples: [
      ['updraft init train.py', 'write a job file for a script'],
      ['updraft check', 'find what would fail'],
      ['updraft run', 'queue the jobs and watch them'],
    ],
  });
  for (const [heading, commands] of Object.entries(groups))
    for (const [name, what] of Object.entries(commands)) {
      const command = describe(root.command(name), what).helpGroup(heading).exitOverride();
      if (wanted === 'all' || wanted.includes(name)) (await configureOf(name))(command, cli);
    }
  root
    .command('_supervise', { hidden: true })
    .argument('<folder>')
    .action(async (folder: string) => {
      const renewTokens = async (plan: Plan): Promise<void> =>
        await (await import('./object/login.ts')).renewTokensOf(cli, plan);
      await (await import('../pool/supervise-run.ts')).superviseRun(folder, { ...cli, renewTokens });
    });
  for (const [name, fix] of Object.entries(removedCommands)) removedCommand(root, name, fix);
  return root;
}

/** The commands of earlier versions, and what to use instead. */
const removedCommands = {
  sync:
    '`updraft get -r URL FOLDER` or `updraft put -r FOLDER URL` copies what is missing; ' +
    '`pelican object sync` mirrors',
  warm:
    '`updraft submit --canary 1` lets one job fill the caches of its site before the others ask; ' +
    '`pelican object prestage` fills a cache ahead of time',
};

/** Commands that start or end processes on this machine, which Updraft identifies by Linux's /proc. */
const linuxOnly = ['run', 'submit', 'rehearse', 'retry', 'stop', 'shell', 'demo', 'mini', '_supervise'];

/** Refuses a command that cannot work on this system, before it does anything. Pure. */
export function assertSystem(command: string, platform: NodeJS.Platform): void {
  if (platform === 'win32')
    throw new Fault('pool-unreachable', 'Updraft does not run on Windows itself', {
      fix: 'install WSL (`wsl --install`), and Updraft in it: there everything works as on Linux',
    });
  if (platform === 'linux' || !linuxOnly.includes(command)) return;
  const system = platform === 'darwin' ? 'macOS' : platform;
  throw new Fault('pool-unreachable', `updraft ${command} needs Linux, and this is ${system}`, {
    fix:
      'log in to an access point with ssh, and run it there; init, check, plan, report, why, bundle, adopt ' +
      `and dashboard work on ${system} too`,
  });
}
