import path from 'node:path';
import type { Command } from 'commander';
import { counted, printable } from '@updraft/base';
import { usageFault } from '@updraft/account/fault';
import { formatMillis } from '@updraft/view/format';
import { listRuns, type RunSummary, assertRemovable, removeRun } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { addHelp, subcommand } from '../help.ts';
import { findRunsFolder } from '../find-run.ts';
import { confirmDeletion } from '../object/confirm-deletion.ts';
import { type NextCommand, printPage } from '../text/phrases.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'run-folder.md', [
    'updraft runs                           # name, pool, state, jobs and when each was started',
    'updraft runs --json | jq -r ".[].run"  # the names, for a script',
  ]);
  command
    .option('--json', 'print a JSON array of the runs')
    .action(({ json = false }: { json?: boolean }) => list(cli, json));
  subcommand(command, 'rm', 'remove runs that have ended, with their results', [
    'updraft runs rm cifar10-20261116T093000_1a2b  # shows it, and asks',
    'updraft runs rm --yes RUN OTHER-RUN           # without asking',
  ])
    .argument('<run...>', 'names of runs that have ended')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--json', 'print JSON')
    .action((names: string[], options: RemoveOptions) => remove(cli, names, options));
}

interface RemoveOptions {
  yes?: true;
  json?: true;
}

async function list(cli: Cli, json: boolean): Promise<void> {
  const runs = await listRuns(await findRunsFolder(cli));
  const data = runs.map((run) => ({ ...run, state: stateOf(run) }));
  const rows = runs.map((run) => rowOf(run, cli.clock.now()));
  const next: NextCommand[] = [
    ['updraft status RUN', 'the state of its jobs'],
    ['updraft runs rm RUN', 'remove one that has ended, with its results'],
  ];
  printPage(cli, [{ columns, rows }], next, json && data);
}

const columns = [
  // Other commands take it, as it is.
  { title: 'RUN', minWidth: Infinity },
  { title: 'POOL', rank: 2 },
  { title: 'STATE' },
  { title: 'JOBS', align: 'right' as const },
  { title: 'STARTED', align: 'right' as const },
  { title: 'NOTE' },
];

function rowOf(run: RunSummary, now: number): string[] {
  const { createdAt, tally } = run;
  return [
    printable(run.run),
    printable(run.pool),
    stateOf(run),
    String(tally.total),
    createdAt === undefined ? '' : `${formatMillis(Math.max(0, now - Date.parse(createdAt)))} ago`,
    [run.isRehearsal && 'rehearsal', run.isUnsupervised && 'supervisor died: updraft watch continues it']
      .filter(Boolean)
      .join(', '),
  ];
}

/** In a word or two, as `status` would say it. */
function stateOf({ endedAt, tally, held }: RunSummary): string {
  const { total, success, removed, running } = tally;
  if (held > 0) return `${held} held`;
  if (endedAt === undefined) return running > 0 ? `${running} running` : 'waiting';
  if (success === total) return 'success';
  const failed = total - success - removed;
  return failed > 0 ? `${failed} failed` : `${removed} removed`;
}

/** The folders of runs by their complete names: what removes a run guesses nothing, and leaves `runs/` alone. */
async function namedRuns(cli: Cli, words: readonly string[]): Promise<string[]> {
  const runsFolder = await findRunsFolder(cli);
  const runs = new Map((await listRuns(runsFolder)).map(({ run, folder }) => [run, folder]));
  const folders = words.map((word) => {
    const isInside = path.resolve(cli.cwd, path.dirname(word)) === runsFolder;
    const folder = runs.get(word) ?? (isInside ? runs.get(path.basename(word)) : undefined);
    if (folder !== undefined) return folder;
    throw usageFault(
      `no run "${printable(word)}" in ${runsFolder}`,
      '`updraft runs` lists them: use a complete name',
      word,
    );
  });
  // All are checked before the first is touched.
  for (const folder of folders) await assertRemovable(folder);
  return [...new Set(folders)];
}

async function remove(cli: Cli, words: readonly string[], { yes, json }: RemoveOptions): Promise<void> {
  const folders = await namedRuns(cli, words);
  const names = folders.map((folder) => path.basename(folder));
  const [first = ''] = names;
  const what =
    names.length === 1 ? `the run ${first} with its results` : `${names.length} runs with their results`;
  await confirmDeletion(cli, { what, names, yes: yes === true });
  for (const folder of folders) await removeRun(folder, cli.env);
  cli.out(json ? `${JSON.stringify({ removed: names })}\n` : `removed ${counted(names.length, 'run')}\n`);
}
