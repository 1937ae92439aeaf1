import { access, mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { errorReason, fileSize, firstFew, isThere, shellQuote } from '@updraft/base';
import { replaceFile } from '@updraft/base/disk';
import { readAsset } from '../../job/assets.ts';
import { Fault, usageFault } from '@updraft/account/fault';
import { jobFileName } from '@updraft/account/run-folder';
import { pools } from '../../job/choices.ts';
import { readSpec } from '../../job/read-spec.ts';
import type { PoolName } from '../../job/spec.ts';
import { findSoftware } from '../../environment/wanted-software.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { shellCommands } from '@updraft/htcondor/lint';
import { type Document, documentText } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findScripts, readProject } from '../../draft/read-project.ts';
import { refuseSecondFile, schemaLine, writeJobFile } from '../write-job-file.ts';
import { jobFileArgument } from '../job-file-argument.ts';
import { errWidth, nextCommands } from '../text/phrases.ts';
import { withSchemaHere } from '../text/schema-line.ts';
import { cannotWrite } from '../write-named.ts';
import type { Guess } from '../../draft/choose-values.ts';
import { draftJob, type JobDraft } from '../../draft/draft-job.ts';
import { renderJob } from '../../draft/render-job.ts';

/** The job files that `init` can write. */
export const jobTemplates = ['minimal', 'sweep', 'cifar10', 'imagenet'];

/** A template's job file, its schema line pointing at this installation's schema. */
async function templateText(template: string, { env }: Cli): Promise<string> {
  return await withSchemaHere((await readAsset(`templates/${template}/${jobFileName}`)) ?? '', env);
}

/** The example whose scripts a template uses, if its name differs. */
const examples: Record<string, string> = { imagenet: 'imagenet-resnet50' };

/** Where to find a script that a template names, the best place first; some are nowhere. */
const starterNames = (template: string, file: string): string[] =>
  [`templates/${template}`, `examples/${examples[template] ?? template}`, 'templates/minimal'].map(
    (shelf) => `${shelf}/${file}`,
  );

interface InitOptions {
  args?: string;
  template?: string;
  pool?: PoolName;
  force?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'job-file.md', [
    'updraft init train.py                          # read a training script, write updraft.toml for it',
    'updraft init train.py --pool condor            # for an HTCondor pool',
    'updraft init train.py --args "--lr 0.1 data"   # as you start it: `python3 train.py --lr 0.1 data`',
    'updraft init --template cifar10 my-experiment  # CIFAR-10, in its own folder',
  ])
    .argument('[script|folder]', 'a training script to read, or where to write', '.')
    .argument('[files...]', 'more files and folders that the script needs')
    .addOption(new Option('--pool <name>', 'where it will run').choices(pools))
    .addOption(new Option('-t, --template <name>', 'start from a template instead').choices(jobTemplates))
    .option('--args <text>', 'what you type after the name of the script')
    .option('--force', 'replace an existing job file')
    .action(async (word: string, files: string[], options: InitOptions) => {
      const script = options.template === undefined ? await scriptAt(cli, word) : undefined;
      if (script === undefined) await startFromTemplate(cli, word, options);
      else await startFromScript(cli, script, files, options);
    });
}

/** The script that is meant: named, or the only one in the folder; its folder is that of the job file. */
async function scriptAt(cli: Cli, word: string): Promise<{ folder: string; script: string } | undefined> {
  const place = path.resolve(cli.cwd, word);
  if (word.endsWith('.py') || (path.extname(word) === '' && (await fileSize(place)) !== undefined)) {
    const below = path.relative(cli.cwd, place);
    if (!below.startsWith('..')) return { folder: cli.cwd, script: below.split(path.sep).join('/') };
    return { folder: path.dirname(place), script: path.basename(place) };
  }
  if (word.endsWith('.ipynb'))
    throw usageFault(
      `${word} is a notebook, which jobs cannot run`,
      `convert it: jupyter nbconvert --to script ${shellQuote(word)}; then init the .py`,
    );
  const [only, ...others] = await findScripts(place);
  if (only === undefined) return undefined;
  if (others.length === 0) {
    cli.err(
      `${only} is here: reading it (to start from a template instead: --template ${jobTemplates.join('|')})\n`,
    );
    return { folder: place, script: only };
  }
  cli.err(`there are ${[only, ...others].join(', ')}; to read one: updraft init ${shellQuote(only)}\n`);
  return undefined;
}

async function startFromScript(
  cli: Cli,
  { folder, script }: { folder: string; script: string },
  files: readonly string[],
  { pool = 'local', force, args }: InitOptions,
): Promise<void> {
  if (force === undefined) await refuseSecondFile(folder);
  const more = files.map((file) =>
    path.relative(folder, path.resolve(cli.cwd, file)).split(path.sep).join('/'),
  );
  await initScript(cli, { folder, script, more, pool, args, schema: await schemaLine(cli.env) });
}

async function startFromTemplate(cli: Cli, folder: string, options: InitOptions): Promise<void> {
  const target = path.resolve(cli.cwd, folder);
  if (options.force === undefined) await refuseSecondFile(target);
  const template = options.template ?? firstTemplate(cli);
  const text = await templateText(template, cli);
  const missing = await writeAll(cli, { target, template, text });
  for (const file of missing) cli.err(`${file} does not exist yet: add yours, or change the job file\n`);
  const here = jobFileArgument(folder);
  nextCommands(cli, [
    [`updraft check${here}`, 'check the job file'],
    [`updraft run${here}`, 'submit it and watch'],
  ]);
}

function firstTemplate(cli: Cli): string {
  const [first = '', ...others] = jobTemplates;
  cli.err(`template: ${first} (others: --template ${others.join('|')})\n`);
  return first;
}

/** Writes the job file and the scripts it names, prints each, and returns those that are missing. */
async function writeAll(
  cli: Cli,
  { target, template, text }: { target: string; template: string; text: string },
): Promise<string[]> {
  const shown = (name: string): string => path.relative(cli.cwd, path.join(target, name));
  const missing: string[] = [];
  try {
    await mkdir(target, { recursive: true });
    await replaceFile(path.join(target, jobFileName), text);
    cli.out(`${shown(jobFileName)}\n`);
    for (const name of readSpec(text, jobFileName).train.files) {
      const result = await copyStarter(starterNames(template, name), path.join(target, name));
      if (result === 'copied') cli.out(`${shown(name)}\n`);
      if (result === 'missing') missing.push(shown(name));
    }
  } catch (error) {
    throw cannotWrite(target, error, 'name a folder you can write to: updraft init FOLDER');
  }
  return missing;
}

async function copyStarter(names: string[], target: string): Promise<'copied' | 'kept' | 'missing'> {
  if (await isThere(target)) return 'kept';
  for (const name of names) {
    const text = await readAsset(name);
    if (text === undefined) continue;
    await writeFile(target, text, { flag: 'wx' });
    return 'copied';
  }
  return 'missing';
}

interface ScriptStart {
  /** The folder of the job file. */
  folder: string;
  /** Relative to the folder, with `/`. */
  script: string;
  /** More files and folders to send. */
  more: readonly string[];
  pool: PoolName;
  args: string | undefined;
  schema: string;
}

/** Writes a job file for a training script, and says what was guessed. */
async function initScript(
  cli: Cli,
  { folder, script, more, pool, args = '', schema }: ScriptStart,
): Promise<void> {
  await refuseUnreadable(path.join(folder, script));
  const words = shellCommands(args).flatMap((one) => one.words);
  const project = await readProject(folder, script, { home: cli.env['HOME'] ?? '~', words });
  const isRemote = !poolTraits[pool].runsHere;
  const draft = await draftJob(project, more, args);
  if (!isRemote) draft.cpus = Math.min(draft.cpus, os.availableParallelism());
  const environment = await environmentCommand(cli, folder, draft);
  const text = renderJob(draft, { script, pool, schema, isRemote });
  const file = path.join(folder, jobFileName);
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
  const source = await findSoftware(folder);
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

function describe(cli: Cli, draft: JobDraft, read: readonly string[]): string {
  const part = (title: string, guesses: readonly Guess[]): Document =>
    guesses.length === 0 ? [] : ['', title, { facts: guesses }];
  const { guesses, open, hints } = draft;
  const page = [
    `read ${firstFew(read, 6)}; nothing was run`,
    ...part('guessed:', guesses),
    ...part('to fill in:', open),
    ...(hints.length === 0 ? [] : ['', 'worth knowing:', ...hints.map((hint) => `  ${hint}`)]),
  ];
  return documentText(page, errWidth(cli));
}
