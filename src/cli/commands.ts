import path from 'node:path';
import { Command } from 'commander';
import type { Cli } from './cli.ts';

/** Every command and what it does, in the order of the help page. */
const summaries = {
  init: 'write a commented job file to start from',
  check: 'say what would fail, before anything is queued',
  plan: 'show what would be sent and run, and why',
  submit: 'queue the jobs and return',
  run: 'queue the jobs and watch them',
  rehearse: 'run one job, evict it twice, and see that nothing is lost',
  status: 'show how each job of a run stands',
  watch: 'see a run live, until it ends',
  logs: 'show what a job printed',
  why: 'say why a job stands as it does, with the evidence',
  retry: 'try the jobs without a valid result again, in the same run',
  report: 'show where the time of a run went',
  dashboard: 'see runs live in a browser, or as one file',
  shell: 'open a shell on a machine as a job would get it',
  stop: 'stop a run, or some of its jobs',
  adopt: 'take over a submit file of HTCondor: what is wrong in it, submit and watch it',
  get: 'fetch objects of a federation, verified',
  put: 'upload files as objects',
  sync: 'make a folder and a collection the same, either way',
  warm: 'fill caches with objects before many jobs ask for them',
  ls: 'list what is in a folder of a federation',
  stat: 'show what is known of an object, and who has it',
  cat: 'write objects to stdout, one after the other',
  rm: 'delete objects at their origin',
  login: 'log in to a namespace that asks for a token, and keep the login',
  stage: 'upload a data set as proven, cache-friendly objects',
  env: 'the software of a job: look into a Pixi environment, pack it, make an image, upload it',
  demo: 'train CIFAR-10 end to end on this machine',
  mini: 'a federation or a real HTCondor pool on this machine',
  doctor: 'see what this machine has of what runs need',
  completion: 'print the script that completes commands in your shell',
};

/** A command is loaded when asked for, so that `updraft status` does not pay for the rest. */
type Configure = (command: Command, cli: Cli) => void;

/** How a command is set up: each file of `commands/` exports `configure`. */
export async function configureOf(name: string): Promise<Configure> {
  // `.ts` in a checkout, `.js` in the package.
  const file = `./commands/${name}${path.extname(import.meta.filename)}`;
  return ((await import(file)) as { configure: Configure }).configure;
}

/** The program with all its commands, of which only those asked for (or `'all'`) are loaded. */
export async function buildProgram(cli: Cli, wanted: readonly string[] | 'all'): Promise<Command> {
  const root = new Command('updraft')
    .description('Train PyTorch models on high-throughput pools and lose none of it.')
    .version(cli.version)
    .showHelpAfterError('(add --help for what this command takes)')
    .showSuggestionAfterError()
    .exitOverride();
  for (const [name, summary] of Object.entries(summaries)) {
    const command = root.command(name).summary(summary).description(summary).exitOverride();
    if (wanted === 'all' || wanted.includes(name)) (await configureOf(name))(command, cli);
  }
  root
    .command('_supervise', { hidden: true })
    .argument('<folder>')
    .action(async (folder: string) => (await import('../pool/supervise-run.ts')).superviseRun(folder, cli));
  return root;
}
