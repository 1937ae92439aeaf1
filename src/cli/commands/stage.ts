import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { counted, formatSize, parseSize, shardListEnding, given } from '@updraft/base';
import { Fault, usageFault } from '@updraft/account/fault';
import {
  countFiles,
  describeFile,
  listSamples,
  planShards,
  shuffleSamples,
  singleFile,
  type Shard,
} from '../../stage/shards.ts';
import type { StagedObject } from '../../stage/staged-record.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { manifestSuffix } from '../../preflight/object-proof.ts';
import { below, type ObjectFlags } from '../object/access.ts';
import { checkFederated, stageAll } from '../object/stage-object.ts';
import { printJson, nextCommands } from '../text/phrases.ts';

interface Options extends ObjectFlags {
  shardSize?: string;
  shard: boolean;
  shuffle?: true;
  dryRun?: true;
  manifests?: string;
  into: string;
}

interface DataSet {
  path: string;
  shape: 'file' | 'whole' | 'shards';
  names: StageNames;
  shards: AsyncIterable<Shard>;
}

/** A training that shuffles needs many shards at once, and one that resumes waits for them. */
const shardSizes = { plain: '1GB', shuffled: '64MB' };

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'objects.md', [
    'updraft stage train osdf:///inbox/me/imagenet --dry-run        # what would be made',
    'updraft stage train osdf:///inbox/me/imagenet >> updraft.toml  # upload it, add it to the job file',
  ])
    .argument('<dataset>', 'a folder or a file')
    .argument('<url>', 'the folder to upload to')
    .option(
      '--shard-size <size>',
      'size of the tar files a folder is packed into ' +
        `(default: ${shardSizes.plain}, with --shuffle ${shardSizes.shuffled})`,
    )
    .option('--no-shard', 'pack a folder into one tar file')
    .option('--shuffle', 'mix samples of all folders, for training that starts early')
    .option('--dry-run', 'show what would be made')
    .option('--token-file <file>', 'read the token from this file')
    .option('--manifests <folder>', 'keep manifests here too, to send with the jobs')
    .option('--into <folder>', 'folder of the job for the data', 'data')
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
  const { tokenFile, manifests, json, shuffle } = options;
  const { names, shape } = dataset;
  const request = {
    source: dataset.path,
    url,
    tokenFile,
    manifests: manifests && path.resolve(cli.cwd, manifests),
    nameOf: names.object,
    asItIs: shape === 'file',
    // A stream needs the list, also of a single shard.
    ...(shape === 'shards' && { list: { nameOf: names.list, minShards: shuffle ? 1 : 2 } }),
  };
  const tableOf = (object: StagedObject): DataTable => objectTable(dataset, url, object, manifests);
  const report = (object: StagedObject): string | undefined =>
    json ? JSON.stringify({ ...tableOf(object), files: object.files }) : undefined;
  const { objects, list } = await stageAll(cli, request, dataset.shards, { ...options, report });
  const table =
    list === undefined ? objects.map(tableOf)[0] : listTable(names, url, list, objects, manifests);
  if (table === undefined) return;
  if (json) {
    if (list !== undefined) printJson(cli, table);
    return;
  }
  cli.out(tomlTable(table, options.into));
  cli.err('\nput the lines above into updraft.toml\n');
  nextCommands(cli, [['updraft check', 'check the job file with them']]);
}

async function openDataSet(cli: Cli, word: string, options: Options): Promise<DataSet> {
  const place = path.resolve(cli.cwd, word);
  const { shardSize = options.shuffle ? shardSizes.shuffled : shardSizes.plain } = options;
  const size = parseSize(shardSize);
  if (size === undefined || size < 1_000_000)
    throw usageFault(
      `--shard-size ${shardSize} is not a size of at least 1 MB`,
      'write a size like 1GB or 512MiB',
    );
  const info = await stat(place).catch(() => undefined);
  if (info === undefined) throw new Fault('file-invalid', `${word} does not exist`, { about: place });
  const shape = !info.isDirectory() ? 'file' : options.shard ? 'shards' : 'whole';
  const names = stageNames(place, shape);
  const listed = listSamples(place, await realpath(place));
  const samples = options.shuffle ? shuffleSamples(listed) : listed;
  const shards =
    shape === 'file'
      ? [singleFile(describeFile(place, path.basename(place)))]
      : planShards(samples, shape === 'shards' ? size : Infinity);
  return { path: place, shape, names, shards: atLeastOne(shards, word) };
}

async function* atLeastOne(shards: AsyncIterable<Shard> | Shard[], word: string): AsyncGenerator<Shard> {
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
        ? `${JSON.stringify({ name, bytes, files: countFiles(files) })}\n`
        : `${name}  ${formatSize(bytes)}  ${counted(countFiles(files), 'file')}\n`,
    );
  }
  cli.err(`${counted(objects, 'object')}, ${formatSize(total)} in total; nothing was uploaded\n`);
}

/** A table of the job file, before it is written. */
interface DataTable {
  data: string;
  url: string;
  manifest?: string;
  sha256?: string;
  bytes: number;
  files?: number;
}

/** Where jobs get a proof: beside the job file if it is kept there, else beside the object. */
const proofPlace = (url: string, name: string, manifests: string | undefined): string =>
  manifests === undefined ? below(url, name) : path.posix.join(manifests, name);

function objectTable(
  { names, shape }: DataSet,
  url: string,
  { name, bytes, sha256, files }: StagedObject,
  manifests: string | undefined,
): DataTable {
  const manifest = proofPlace(url, `${name}${manifestSuffix}`, manifests);
  const counted = shape === 'file' ? {} : { files };
  return { data: names.data, url: below(url, name), manifest, bytes, sha256, ...counted };
}

/** The table that stands for all shards. */
function listTable(
  names: StageNames,
  url: string,
  { name, sha256 }: { name: string; sha256: string },
  shards: readonly StagedObject[],
  manifests: string | undefined,
): DataTable {
  const sum = (of: 'bytes' | 'files'): number => shards.reduce((total, shard) => total + shard[of], 0);
  const kept = manifests === undefined ? {} : { manifest: proofPlace(url, name, manifests) };
  return {
    data: names.data,
    url: below(url, name),
    ...kept,
    sha256,
    bytes: sum('bytes'),
    files: sum('files'),
  };
}

/** The lines of the job file. */
function tomlTable({ data, url, manifest, sha256, bytes, files }: DataTable, into: string): string {
  const expect = files === undefined ? `bytes = ${bytes}` : `files = ${files}, bytes = ${bytes}`;
  const proof =
    manifest === undefined ? `sha256 = "${sha256 ?? ''}"` : `manifest = ${JSON.stringify(manifest)}`;
  return given(
    `[data.${data}]`,
    `url = ${JSON.stringify(url)}`,
    proof,
    `into = ${JSON.stringify(into)}`,
    // An empty object has nothing to expect.
    bytes !== 0 && `expect = { ${expect} }`,
    '',
  ).join('\n');
}

/** The names of a data set's objects, and of its table in the job file. */
interface StageNames {
  /** The name of object `index`; caches treat names as immutable, so it contains part of the content's hash. */
  object: (index: number, sha8: string) => string;
  /** The name of the list of all objects, which contains part of its hash, too. */
  list: (sha8: string) => string;
  /** The name of the table in the job file. */
  data: string;
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
    list: (sha8) => `${stem}-${sha8}${shardListEnding}`,
    data: name(stem),
  };
}
