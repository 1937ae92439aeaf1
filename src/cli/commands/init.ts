import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { readAsset } from '../../job/assets.ts';
import { isThere, shellQuote } from '@updraft/base';
import { replaceFile } from '@updraft/base/disk';
import { Fault } from '../../fault/fault.ts';
import { pools } from '../../job/choices.ts';
import { readSpec } from '../../job/read-spec.ts';
import type { PoolName } from '../../job/spec.ts';
import type { Cli } from '../cli.ts';
import { initScript } from '../init/init-script.ts';
import { findScripts } from '../init/read-project.ts';
import { refuseSecondFile, schemaLine } from '../init/write-job-file.ts';
import { jobFileArgument } from '../job-file-argument.ts';
import { nextCommands } from '../text/phrases.ts';
import { withSchemaHere } from '../text/schema-line.ts';
import { cannotWrite } from '../write-named.ts';

/** The job files that `init` can write, and what each is for. */
export const jobTemplates: Record<string, string> = {
  minimal: 'one training, with a script to start from',
  sweep: 'a matrix of parameters, a job for each combination',
  cifar10: 'CIFAR-10: data fetched, verified, unpacked; checkpoints; an output check',
  imagenet: 'ImageNet on a GPU pool: ResNet-50, on shards that come as they are needed',
};

/** A template's job file, its schema line pointing at this installation's schema. */
async function templateText(template: string, fileName: string, { env }: Cli): Promise<string> {
  return await withSchemaHere((await readAsset(`templates/${template}/${fileName}`)) ?? '', env);
}

/** The example whose scripts a template uses, if its name differs. */
const examples: Record<string, string> = { imagenet: 'imagenet-resnet50' };

/** Where to find a script that a template names, the best place first; some are nowhere. */
const starterNames = (template: string, file: string): string[] =>
  [`templates/${template}`, `examples/${examples[template] ?? template}`, 'templates/minimal'].map(
    (shelf) => `${shelf}/${file}`,
  );

interface InitOptions {
  template?: string;
  pool?: PoolName;
  yaml?: true;
  force?: true;
}

const names = Object.keys(jobTemplates);
const list = Object.entries(jobTemplates).map(([name, what]) => `  ${name.padEnd(10)}${what}\n`);

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[script|folder]', 'a training script to read, or where to write', '.')
    .argument('[files...]', 'more files and folders that the script needs')
    .addOption(new Option('--pool <name>', 'where it will run').choices(pools))
    .addOption(new Option('-t, --template <name>', 'start from a template instead').choices(names))
    .option('--yaml', 'write updraft.yaml instead of updraft.toml (templates)')
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
  if (word.endsWith('.py')) {
    const below = path.relative(cli.cwd, place);
    if (!below.startsWith('..')) return { folder: cli.cwd, script: below.split(path.sep).join('/') };
    return { folder: path.dirname(place), script: path.basename(place) };
  }
  const [only, ...others] = await findScripts(place);
  if (only === undefined) return undefined;
  if (others.length === 0) {
    cli.err(
      `${only} is here: reading it (to start from a template instead: --template ${names.join('|')})\n`,
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
  { pool = 'local', yaml, force }: InitOptions,
): Promise<void> {
  if (yaml)
    throw new Fault('usage', '--yaml is only for templates', { fix: 'leave it out, or add --template' });
  const fileName = 'updraft.toml';
  await refuseSecondFile(folder, force ? fileName : undefined);
  const more = files.map((file) =>
    path.relative(folder, path.resolve(cli.cwd, file)).split(path.sep).join('/'),
  );
  await initScript(cli, { folder, script, more, pool, schema: await schemaLine(cli.env) });
}

async function startFromTemplate(cli: Cli, folder: string, options: InitOptions): Promise<void> {
  const target = path.resolve(cli.cwd, folder);
  const fileName = options.yaml ? 'updraft.yaml' : 'updraft.toml';
  await refuseSecondFile(target, options.force ? fileName : undefined);
  const template = options.template ?? (await chooseTemplate(cli));
  const text = await templateText(template, fileName, cli);
  const missing = await writeAll(cli, { target, fileName, template, text });
  for (const file of missing) cli.err(`${file} does not exist yet: add yours, or change the job file\n`);
  const here = jobFileArgument(folder);
  nextCommands(cli, [
    [`updraft check${here}`, 'check the job file'],
    [`updraft plan${here}`, 'show what would be sent and run, and why'],
    [`updraft run${here}`, 'submit it and watch'],
  ]);
}

async function chooseTemplate(cli: Cli): Promise<string> {
  const [first = 'minimal'] = names;
  if (cli.ask === undefined) {
    cli.err(`template: ${first} (choose another with --template ${names.join('|')})\n`);
    return first;
  }
  cli.err(list.join(''));
  for (;;) {
    const answer = (await cli.ask(`Which template? [${first}] `)).trim();
    const chosen = answer === '' ? first : names.find((name) => name === answer.toLowerCase());
    if (chosen !== undefined) return chosen;
    cli.err(`There is no template "${answer}"; expected one of ${names.join(', ')}.\n`);
  }
}

/** Writes the job file and the scripts it names, prints each, and returns those that are missing. */
async function writeAll(
  cli: Cli,
  { target, fileName, template, text }: { target: string; fileName: string; template: string; text: string },
): Promise<string[]> {
  const shown = (name: string): string => path.relative(cli.cwd, path.join(target, name));
  const missing: string[] = [];
  try {
    await mkdir(target, { recursive: true });
    await replaceFile(path.join(target, fileName), text);
    cli.out(`${shown(fileName)}\n`);
    for (const name of readSpec(text, fileName).train.files) {
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
