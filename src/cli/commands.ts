import { Command } from 'commander';
import type { Cli } from './cli.ts';

interface Entry {
  summary: string;
  /** Not for people, and not on the help page. */
  hidden?: true;
  /** Loaded when asked for, so that `updraft status` does not pay for the rest. */
  load: () => Promise<{ configure: (command: Command, cli: Cli) => void }>;
}

/** Every command, in the order of the help page. Each file of `commands/` exports `configure`. */
export const commands: Record<string, Entry> = {
  init: { summary: 'write a commented job file to start from', load: () => import('./commands/init.ts') },
  check: {
    summary: 'say what would fail, before anything is queued',
    load: () => import('./commands/check.ts'),
  },
  plan: { summary: 'show what would be sent and run, and why', load: () => import('./commands/plan.ts') },
  submit: { summary: 'queue the jobs and return', load: () => import('./commands/submit.ts') },
  run: { summary: 'queue the jobs and watch them', load: () => import('./commands/run.ts') },
  rehearse: {
    summary: 'run one job, evict it twice, and see that nothing is lost',
    load: () => import('./commands/rehearse.ts'),
  },
  status: { summary: 'show how each job of a run stands', load: () => import('./commands/status.ts') },
  watch: { summary: 'see a run live, until it ends', load: () => import('./commands/watch.ts') },
  logs: { summary: 'show what a job printed', load: () => import('./commands/logs.ts') },
  why: {
    summary: 'say why a job stands as it does, with the evidence',
    load: () => import('./commands/why.ts'),
  },
  retry: {
    summary: 'try the jobs without a valid result again, in the same run',
    load: () => import('./commands/retry.ts'),
  },
  report: { summary: 'show where the time of a run went', load: () => import('./commands/report.ts') },
  dashboard: {
    summary: 'see runs live in a browser, or as one file',
    load: () => import('./commands/dashboard.ts'),
  },
  shell: {
    summary: 'open a shell on a machine as a job would get it',
    load: () => import('./commands/shell.ts'),
  },
  stop: { summary: 'stop a run, or some of its jobs', load: () => import('./commands/stop.ts') },
  adopt: {
    summary: 'take over a submit file of HTCondor: what is wrong in it, submit and watch it',
    load: () => import('./commands/adopt.ts'),
  },
  get: { summary: 'fetch objects of a federation, verified', load: () => import('./commands/get.ts') },
  put: { summary: 'upload files as objects', load: () => import('./commands/put.ts') },
  ls: { summary: 'list what is in a folder of a federation', load: () => import('./commands/ls.ts') },
  stat: {
    summary: 'show what is known of an object, and who has it',
    load: () => import('./commands/stat.ts'),
  },
  cat: { summary: 'write objects to stdout, one after the other', load: () => import('./commands/cat.ts') },
  stage: {
    summary: 'upload a data set as proven, cache-friendly objects',
    load: () => import('./commands/stage.ts'),
  },
  env: {
    summary: 'the software of a job: look into a Pixi environment, pack it, make an image, upload it',
    load: () => import('./commands/env.ts'),
  },
  demo: {
    summary: 'train CIFAR-10 end to end on this machine',
    load: () => import('./commands/demo.ts'),
  },
  mini: {
    summary: 'a federation or a real HTCondor pool on this machine',
    load: () => import('./commands/mini.ts'),
  },
  doctor: {
    summary: 'see what this machine has of what runs need',
    load: () => import('./commands/doctor.ts'),
  },
  completion: {
    summary: 'print the script that completes commands in your shell',
    load: () => import('./commands/completion.ts'),
  },
  _supervise: {
    summary: 'bring a run on the local pool to its end',
    hidden: true,
    load: async () => {
      const { superviseRun } = await import('../pool/supervise-run.ts');
      return {
        configure: (command, cli) =>
          void command.argument('<folder>').action((folder: string) => superviseRun(folder, cli)),
      };
    },
  },
};

/** The program with all its commands, of which only those asked for (or `'all'`) are loaded. */
export async function buildProgram(cli: Cli, wanted: readonly string[] | 'all'): Promise<Command> {
  const root = new Command('updraft')
    .description('Train PyTorch models on high-throughput pools and lose none of it.')
    .version(cli.version)
    .showHelpAfterError('(add --help for what this command takes)')
    .showSuggestionAfterError()
    .exitOverride();
  for (const [name, { hidden = false, summary, load }] of Object.entries(commands)) {
    const command = root.command(name, { hidden });
    command.summary(summary).description(summary).exitOverride();
    if (wanted === 'all' || wanted.includes(name)) (await load()).configure(command, cli);
  }
  return root;
}
