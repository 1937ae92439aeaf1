import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { safeOutput, shellQuote } from '@updraft/base';
import { accessPointReason, machineFacts, openBrowser } from '../../dashboard/host.ts';
import { staticPage } from '../../dashboard/page.ts';
import type { RunSource } from '../../dashboard/run-source.ts';
import { serveDashboard } from '../../dashboard/serve-dashboard.ts';
import { usageFault } from '@updraft/account/fault';
import { openPool } from '../../pool/open-pool.ts';
import { requestStop, followRunStates, readRunState } from '../../run/run-states.ts';
import { retryRun } from '../../run/rounds.ts';
import { documentText } from '@updraft/view/document';
import { type Cli, drawErr } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun, type FoundRun } from '../find-run.ts';
import { whileRefreshing } from '../run-view/current-state.ts';
import { integerOption } from '../submit/options.ts';
import { errWidth, nextCommands } from '../text/phrases.ts';
import { explainRun } from '../why/explain-run.ts';
import { writeNamed } from '../write-named.ts';

interface Options {
  port?: number;
  open: boolean;
  static?: string;
  here?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'dashboard.md', [
    'updraft dashboard                                # the latest run',
    'updraft dashboard cifar10 --static cifar10.html  # a file to keep or send',
  ])
    .argument('[run...]', 'folders, ids or names of runs (default: the latest)')
    .option('--port <number>', 'port on this machine (default: a free one)', integerOption(65_535, 0))
    .option('--no-open', 'print the link; do not open a browser')
    .option('--static <file>', 'write the page as one file and exit')
    .option('--here', 'serve on an access point too (ask its staff first)')
    .action((words: string[], options: Options) => dashboard(cli, words, options));
}

async function dashboard(cli: Cli, words: string[], options: Options): Promise<void> {
  const { here, static: file } = options;
  const found = await Promise.all(
    (words.length === 0 ? [undefined] : words).map((word) => findRun(cli, word)),
  );
  if (file === undefined && here === undefined) await refuseOnAccessPoint(cli, found[0]);
  const runs = found.map((run) => localRun(cli, run));
  const serving = (): Promise<void> => serve(cli, runs, options);
  const looking =
    (action: typeof serving, { folder }: FoundRun) =>
    () =>
      whileRefreshing(cli, folder, action);
  if (file === undefined) await found.reduce(looking, serving)();
  else await writeStatic(cli, runs, file);
}

async function refuseOnAccessPoint(cli: Cli, run: FoundRun | undefined): Promise<void> {
  const facts = await machineFacts(cli.uid);
  const reason = accessPointReason(facts);
  if (reason === undefined) return;
  const argument = run?.argument ?? 'RUN';
  nextCommands(cli, [
    [`updraft dashboard ${argument} --static dashboard.html`, 'the page as a file, to copy and open'],
    [`updraft dashboard ${argument} --here --port 8123 --no-open`, 'the live page through the tunnel below'],
  ]);
  const tunnel = [`ssh -L 8123:127.0.0.1:8123 ${facts.hostname}`, 'a tunnel, if the staff agrees'] as const;
  const elsewhere = documentText(['', 'on your own machine:', { commands: [tunnel] }], errWidth(cli));
  // Not renamed: this machine's path of Updraft means nothing there.
  drawErr(cli, safeOutput(elsewhere, false));
  throw usageFault(
    `this is an access point (${reason}): do not run servers on it`,
    'use one of the commands above',
    facts.hostname,
  );
}

function localRun(cli: Cli, { folder, argument }: FoundRun): RunSource {
  return {
    place: folder,
    folder,
    argument,
    follow: (signal) => followRunStates(folder, { clock: cli.clock, signal }),
    explain: (state, jobs) => explainRun(folder, state, jobs, cli.clock.now()),
    async stop(jobs) {
      const state = await readRunState(folder);
      const stopping = await requestStop(folder, state, jobs, cli.clock);
      if (stopping.length > 0) await openPool(state.pool, cli).stop(folder, stopping);
    },
    async retry(named) {
      const { jobs, pool } = await readRunState(folder);
      const ids = named.length > 0 ? named : jobs.map(({ id }) => id);
      await retryRun(folder, openPool(pool, cli), { jobs: ids, change: {} }, cli);
    },
  };
}

async function serve(cli: Cli, runs: RunSource[], { port = 0, open }: Options): Promise<void> {
  const { clock, version, signal } = cli;
  await using page = await serveDashboard({ runs, clock, version, port });
  cli.out(`${page.url}\n`);
  cli.err('The link works once, on this machine. Ctrl-C ends the dashboard; the run continues.\n');
  await using opened = new AsyncDisposableStack();
  if (open && cli.outIsTerminal) opened.use(await openBrowser(page.url, cli.env));
  if (!signal.aborted) await once(signal, 'abort');
}

async function writeStatic(cli: Cli, runs: RunSource[], file: string): Promise<void> {
  const [run, ...others] = runs;
  if (run === undefined || others.length > 0)
    throw usageFault('--static takes one run', 'write a file for each run');
  const to = path.resolve(cli.cwd, file);
  const { clock, version } = cli;
  const html = await staticPage(run, await readRunState(run.folder), { clock, version });
  await writeNamed(to, html);
  cli.out(`${to}\n`);
  nextCommands(cli, [[`scp ${shellQuote(`${os.hostname()}:${to}`)} .`, 'copy it to another machine']]);
}
