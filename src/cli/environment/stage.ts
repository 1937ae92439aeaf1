import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '../../base/shell-quote.ts';
import { inspectPack } from '../../environment/pack-inspector.ts';
import { hashName } from '../../environment/pixi-tools.ts';
import { Fault } from '../../fault/fault.ts';
import { describe } from '../../stage/data-files.ts';
import type { StagedObject } from '../../stage/staged-record.ts';
import type { Cli } from '../cli.ts';
import { below, manifestSuffix } from '../object/access.ts';
import { checkFederated, stageAll } from '../object/stage-object.ts';
import { nextCommands } from '../text/words.ts';
import { unpackerLines } from './workspace.ts';

interface Options {
  tokenFile?: string;
  json?: true;
  quiet?: true;
}

export function configureStage(command: Command, cli: Cli): void {
  command
    .description('upload an archive or an image under a name that holds its hash')
    .argument('<file>', 'an archive of pixi-pack (.sh, .tar), or an image (.sif)')
    .argument('<url>', 'folder of a federation to upload to')
    .option('--token-file <file>', 'file with the token, instead of the usual places')
    .option('--json', 'print the object as JSON')
    .option('-q, --quiet', 'no progress')
    .addHelpText('after', example)
    .action((file: string, url: string, options: Options) => stage(cli, file, url, options));
}

async function stage(cli: Cli, word: string, url: string, options: Options): Promise<void> {
  checkFederated(cli, url);
  const file = path.resolve(cli.cwd, word);
  if ((await stat(file).catch(() => undefined))?.isDirectory() === true)
    throw new Fault('file-invalid', `${word} is a folder, and an object is one file`, {
      about: file,
      fix: `make an image of a sandbox with: apptainer build ${shellQuote(`${path.basename(file)}.sif`)} ${shellQuote(word)}`,
    });
  const described = await describe(file, path.basename(file));
  const isImage = /\.(sif|img|sqsh|squashfs)$/i.test(file);
  // An archive that no worker could use is found here, and not a hundred times over there.
  if (!isImage) await inspectPack(file, cli.signal);
  const { tokenFile, json } = options;
  const nameOf = (_: number, sha8: string): string => hashName(file, sha8);
  const tell = ({ name, sha256, bytes }: StagedObject): string => {
    const place = below(url, name);
    const told = { url: place, sha256, bytes, manifest: `${place}${manifestSuffix}` };
    return json ? JSON.stringify(told) : isImage ? imageLines(place) : packLines(told);
  };
  const shards = [{ index: 0, files: [described], bytes: described.bytes }];
  await stageAll(cli, { source: file, url, tokenFile, nameOf, asItIs: true }, shards, { ...options, tell });
  if (json === undefined)
    nextCommands(cli, [['updraft check', 'put the lines above into updraft.toml, and see that it is good']]);
}

const imageLines = (url: string): string => `[environment]\nimage = ${JSON.stringify(url)}\n`;

/** Texts and numbers are written in TOML as in JSON. */
function packLines(pack: { url: string; sha256: string; bytes: number; manifest: string }): string {
  const unpacker = unpackerLines(pack.url);
  return [
    ...(unpacker.length === 0 ? [] : ['[environment]', ...unpacker, '']),
    '[environment.pack]',
    ...Object.entries(pack).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
    '',
  ].join('\n');
}

const example = `
An archive is read through first: one that is cut or damaged is not uploaded. The same command again sends nothing that
is there already.

Examples:
  $ updraft env stage hello-gpu-1a2b3c4d.sh osdf:///my-project/environments
  $ updraft env stage hello-gpu.sif osdf:///my-project/images

Exit codes: 0 it is there and proven; 2 wrong usage; 3 the file cannot be read; 93 to 95 token; 104 it is no archive of
pixi-pack that could be used; 116 the archive is broken;
else those of docs/exit-codes.md.`;
