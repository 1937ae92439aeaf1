import { createHash } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '../../base/shell-quote.ts';
import { inspectPack } from '../../environment/pack-inspector.ts';
import { hashName } from '../../environment/pixi-tools.ts';
import { Fault } from '../../fault/fault.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';
import { describe } from '../../stage/data-files.ts';
import { StagedRecord } from '../../stage/staged-record.ts';
import type { Cli } from '../cli.ts';
import { miniFolder } from '../mini/state-folder.ts';
import { TransferBoard, boardMode } from '../object/board.ts';
import { below, manifestSuffix, openFederation } from '../object/access.ts';
import { stageObject } from '../object/stage-object.ts';
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
  if (parseObjectUrl(url, cli.env).kind === 'file')
    throw new Fault('usage', `${url} is a place of this machine, not of a federation`, {
      about: url,
      fix: 'write osdf:///PATH or pelican://HOST/PATH',
    });
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
  const scratch = await mkdtemp(path.join(cli.env['TMPDIR'] ?? os.tmpdir(), 'updraft-stage-'));
  const board = new TransferBoard(cli, boardMode(cli, options), 0);
  try {
    const object = await stageObject(
      {
        cli,
        board,
        url,
        scratch,
        federation: openFederation(cli),
        record: await StagedRecord.open(recordFile(cli, file, url)),
        ...(options.tokenFile === undefined ? {} : { tokenFile: options.tokenFile }),
        nameOf: (_, sha8) => hashName(file, sha8),
        asItIs: true,
      },
      { index: 0, files: [described], bytes: described.bytes },
    );
    const place = below(url, object.name);
    const told = {
      url: place,
      sha256: object.sha256,
      bytes: object.bytes,
      manifest: `${place}${manifestSuffix}`,
    };
    board.print(options.json ? JSON.stringify(told) : isImage ? imageLines(place) : packLines(told));
  } finally {
    board.close();
    await rm(scratch, { recursive: true, force: true });
  }
  if (options.json === undefined)
    nextCommands(cli, [['updraft check', 'put the lines above into updraft.toml, and see that it is good']]);
}

const unpackerTable = (url: string): string[] => {
  const lines = unpackerLines(url);
  return lines.length === 0 ? [] : ['[environment]', ...lines, ''];
};

const imageLines = (url: string): string => `[environment]\nimage = ${JSON.stringify(url)}\n`;

const packLines = ({
  url,
  sha256,
  bytes,
  manifest,
}: {
  url: string;
  sha256: string;
  bytes: number;
  manifest: string;
}): string =>
  [
    ...unpackerTable(url),
    '[environment.pack]',
    `url = ${JSON.stringify(url)}`,
    `sha256 = "${sha256}"`,
    `bytes = ${bytes}`,
    `manifest = ${JSON.stringify(manifest)}`,
    '',
  ].join('\n');

/** The same file and place are the same staging, whichever folder the command is given in. */
function recordFile(cli: Cli, file: string, url: string): string {
  const name = createHash('sha256')
    .update(`${file}\n${url.replace(/\/+$/, '')}`)
    .digest('hex')
    .slice(0, 16);
  return path.join(miniFolder(cli, 'stage', undefined), `${name}.jsonl`);
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
