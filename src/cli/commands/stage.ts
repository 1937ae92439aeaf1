import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { counted } from '../../base/counted.ts';
import { Fault } from '../../fault/fault.ts';
import { formatSize, parseSize } from '../../job/units.ts';
import { describeFile, listSamples } from '../../stage/data-files.ts';
import { planShards, shuffleSamples, type Shard } from '../../stage/shards.ts';
import type { StagedObject } from '../../stage/staged-record.ts';
import type { Cli } from '../cli.ts';
import { below, manifestSuffix } from '../object/access.ts';
import { checkFederated, stageAll } from '../object/stage-object.ts';
import { nextCommands } from '../text/phrases.ts';

interface Options {
  shardSize: string;
  shard: boolean;
  shuffle?: true;
  dryRun?: true;
  tokenFile?: string;
  manifests?: string;
  json?: true;
  quiet?: true;
}

interface DataSet {
  path: string;
  shape: 'file' | 'whole' | 'shards';
  names: StageNames;
  shards: AsyncIterable<Shard>;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('<dataset>', 'a folder or a file')
    .argument('<url>', 'the folder to upload to')
    .option('--shard-size <size>', 'size of the tar files a folder is packed into', '1GB')
    .option('--no-shard', 'pack a folder into one tar file')
    .option('--shuffle', 'mix files of all folders, for training that starts early')
    .option('--dry-run', 'show what would be made')
    .option('--token-file <file>', 'read the token from this file')
    .option('--manifests <folder>', 'keep manifests here too, to send with the jobs')
    .option('--json', 'print a line of JSON for each object')
    .option('-q, --quiet', 'show no progress')
    .action((dataset: string, url: string, options: Options) => stage(cli, dataset, url, options));
}

async function stage(cli: Cli, word: string, url: string, options: Options): Promise<void> {
  checkFederated(cli, url);
  const dataset = await openDataSet(cli, word, options);
  if (options.dryRun) {
    await dryRun(cli, dataset, options);
    return;
  }
  const { tokenFile, manifests, json } = options;
  const request = {
    source: dataset.path,
    url,
    tokenFile,
    manifests: manifests && path.resolve(cli.cwd, manifests),
    nameOf: dataset.names.object,
    asItIs: dataset.shape === 'file',
  };
  const report = (object: StagedObject): string => {
    const manifest = manifestPlace(url, object, manifests);
    return (json ? jsonLine : tomlTable)(dataset, { object, url: below(url, object.name), manifest });
  };
  await stageAll(cli, request, dataset.shards, { ...options, report });
  if (json) return;
  cli.err(
    `\nput the lines above into updraft.toml, or only the parts that a job needs ([data.${dataset.names.data(0)}] …)\n`,
  );
  nextCommands(cli, [['updraft check', 'check the job file with them']]);
}

async function openDataSet(cli: Cli, word: string, options: Options): Promise<DataSet> {
  const place = path.resolve(cli.cwd, word);
  const size = parseSize(options.shardSize);
  if (size === undefined || size < 1_000_000)
    throw new Fault('usage', `--shard-size ${options.shardSize} is not a size of at least 1 MB`, {
      fix: 'write a size like 1GB or 512MiB',
    });
  const info = await stat(place).catch(() => undefined);
  if (info === undefined) throw new Fault('file-invalid', `${word} does not exist`, { about: place });
  const shape = !info.isDirectory() ? 'file' : options.shard ? 'shards' : 'whole';
  const names = stageNames(place, shape);
  const samples = options.shuffle ? shuffleSamples(listSamples(place)) : listSamples(place);
  const shards =
    shape === 'file' ? singleFile(place) : planShards(samples, shape === 'shards' ? size : Infinity);
  return { path: place, shape, names, shards: atLeastOne(shards, word) };
}

async function* singleFile(file: string): AsyncGenerator<Shard> {
  const described = await describeFile(file, path.basename(file));
  yield { index: 0, files: [described], bytes: described.bytes };
}

async function* atLeastOne(shards: AsyncIterable<Shard>, word: string): AsyncGenerator<Shard> {
  let count = 0;
  for await (const shard of shards) {
    count++;
    yield shard;
  }
  if (count === 0) throw new Fault('file-invalid', `${word} contains no files`, { about: word });
}

async function dryRun(cli: Cli, { names, shards }: DataSet, { json }: Options): Promise<void> {
  let [objects, total] = [0, 0];
  for await (const { index, files, bytes } of shards) {
    objects++;
    total += bytes;
    const name = names.object(index, '*');
    cli.out(
      json
        ? `${JSON.stringify({ name, bytes, files: files.length })}\n`
        : `${name}  ${formatSize(bytes)}  ${counted(files.length, 'file')}\n`,
    );
  }
  cli.err(`${counted(objects, 'object')}, ${formatSize(total)} in total; nothing was uploaded\n`);
}

interface Staged {
  object: StagedObject;
  url: string;
  manifest: string;
}

/** Where jobs get the manifest: beside the job file if it is kept there, else beside the object. */
function manifestPlace(url: string, { name }: StagedObject, manifests: string | undefined): string {
  const file = `${name}${manifestSuffix}`;
  return manifests === undefined ? below(url, file) : path.posix.join(manifests, file);
}

function jsonLine({ names }: DataSet, { object, url, manifest }: Staged): string {
  const { index, bytes, sha256, files } = object;
  return JSON.stringify({ data: names.data(index), url, manifest, bytes, sha256, files });
}

/** The lines of the job file that use one object. */
function tomlTable({ shape, names }: DataSet, { object, url, manifest }: Staged): string {
  const { index, bytes, files } = object;
  const expect = shape === 'file' ? `{ bytes = ${bytes} }` : `{ files = ${files}, bytes = ${bytes} }`;
  return [
    `[data.${names.data(index)}]`,
    `url = ${JSON.stringify(url)}`,
    `manifest = ${JSON.stringify(manifest)}`,
    // Each part has its own folder, which appears when it is complete.
    `into = "${shape === 'shards' ? `data/${names.data(index)}` : 'data'}"`,
    ...(shape === 'file' ? [] : ['unpack = "tar"']),
    // An empty object has nothing to expect.
    ...(bytes === 0 ? [] : [`expect = ${expect}`]),
    '',
  ].join('\n');
}

/** The names of a data set's objects, and of its tables in the job file. */
interface StageNames {
  /** The name of object `index`; caches treat names as immutable, so it contains part of the content's hash. */
  object: (index: number, sha8: string) => string;
  /** The name of the table in the job file. */
  data: (index: number) => string;
}

function stageNames(dataset: string, shape: 'file' | 'whole' | 'shards'): StageNames {
  const base = path.basename(dataset);
  const ending = shape === 'file' ? (/(?:\.tar)?\.[A-Za-z0-9]+$/.exec(base)?.[0] ?? '') : '.tar';
  const stem =
    (shape === 'file' && ending !== base ? base.slice(0, base.length - ending.length) : base) || 'data';
  const name = (text: string): string =>
    text
      .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 58) || 'data';
  const number = (index: number): string => (shape === 'shards' ? `-${String(index).padStart(4, '0')}` : '');
  return {
    object: (index, sha8) => `${stem}${number(index)}-${sha8}${ending}`,
    data: (index) => `${name(stem)}${number(index)}`,
  };
}
