import { access } from 'node:fs/promises';
import path from 'node:path';
import { defined, errorReason, firstFew, shellQuote } from '@updraft/base';
import { findSoftware } from '../../environment/find-software.ts';
import { Fault } from '../../fault/fault.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import type { PoolName } from '../../job/spec.ts';
import type { Cli } from '../cli.ts';
import { jobFileArgument } from '../job-file-argument.ts';
import { errWidth, labelledText, nextCommands, textWidth } from '../text/phrases.ts';
import type { Guess } from './choose-values.ts';
import { draftJob, type JobDraft } from './draft-job.ts';
import { readProject } from './read-project.ts';
import { renderJob } from './render-job.ts';
import { writeJobFile } from './write-job-file.ts';

export interface ScriptStart {
  /** The folder of the job file. */
  folder: string;
  /** Relative to the folder, with `/`. */
  script: string;
  /** More files and folders to send. */
  more: readonly string[];
  pool: PoolName;
  schema: string;
}

/** Writes a job file for a training script, and says what was guessed. */
export async function initScript(
  cli: Cli,
  { folder, script, more, pool, schema }: ScriptStart,
): Promise<void> {
  await refuseUnreadable(path.join(folder, script));
  const project = await readProject(folder, script, cli.env['HOME'] ?? '~');
  const draft = await draftJob(project, more);
  const environment = await environmentCommand(cli, folder, draft);
  const isRemote = !poolTraits[pool].runsHere;
  const text = renderJob(draft, { script, pool, schema, isRemote, ...defined({ environment }) });
  const file = path.join(folder, 'updraft.toml');
  await writeJobFile(file, text);
  cli.out(`${path.relative(cli.cwd, file)}\n`);
  cli.err(describe(cli, draft, [script, ...project.modules.map((module) => module.file)]));
  const here = jobFileArgument(path.relative(cli.cwd, folder) || '.');
  nextCommands(cli, [
    environment !== undefined && [environment, 'pack the software for workers that lack it'],
    [`updraft check${here}`, 'find what would fail'],
    [`updraft run${here}`, 'submit it and watch'],
  ]);
}

/** The command that makes the software for a pool, if the project says what it needs. */
async function environmentCommand(
  cli: Cli,
  folder: string,
  { python, gpu }: JobDraft,
): Promise<string | undefined> {
  const source = await findSoftware(folder, cli.env);
  if (source === undefined || python.length === 0) return undefined;
  const near = path.relative(folder, source.place);
  const place = near.startsWith('..') ? source.place : near;
  const device = python.includes('torch') ? ` -e ${gpu === undefined ? 'cpu' : 'gpu'}` : '';
  return `updraft env make ${shellQuote(place)}${source.kind === 'pixi' ? '' : device}`;
}

async function refuseUnreadable(file: string): Promise<void> {
  await access(file).catch((error: unknown) => {
    throw new Fault('file-invalid', `cannot read ${file}: ${errorReason(error)}`, {
      about: file,
      fix: 'name the Python script that trains: updraft init train.py',
    });
  });
}

const maxShown = 12;

function describe(cli: Cli, draft: JobDraft, read: readonly string[]): string {
  const width = textWidth(cli, errWidth(cli));
  const rows = (guesses: readonly Guess[]): string =>
    labelledText(
      guesses.map(({ what, why }) => [what, [why]] as const),
      width,
    );
  const shown = draft.guesses.slice(0, maxShown);
  return [
    `read ${firstFew(read, 6)}; nothing was run\n`,
    ...(shown.length === 0 ? [] : [`\nguessed:\n${rows(shown)}`]),
    ...(draft.open.length === 0 ? [] : [`\nto fill in:\n${rows(draft.open)}`]),
    ...(draft.hints.length === 0
      ? []
      : [`\nworth knowing:\n${draft.hints.map((hint) => `  ${hint}\n`).join('')}`]),
  ].join('');
}
