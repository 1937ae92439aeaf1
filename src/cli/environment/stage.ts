import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { shellQuote } from '@updraft/base';
import { inspectPack } from '../../environment/pack-inspector.ts';
import { hashName } from '../../environment/pixi-tools.ts';
import { Fault } from '../../fault/fault.ts';
import { describeFile } from '../../stage/data-files.ts';
import { singleFile } from '../../stage/shards.ts';
import type { StagedObject } from '../../stage/staged-record.ts';
import type { Cli } from '../cli.ts';
import { below, manifestSuffix, type ObjectFlags } from '../object/access.ts';
import { checkFederated, stageAll } from '../object/stage-object.ts';
import { nextCommands } from '../text/phrases.ts';
import { unpackerLines } from './workspace.ts';
import os from 'node:os';
import { agentName } from '../../job/installation.ts';
import { findAgent } from '../../pool/find-agent.ts';
import { packAgent } from '../../pool/packed-agent.ts';
import { sha256Of } from '@updraft/base/disk';

export function configureStage(command: Command, cli: Cli): void {
  command
    .argument('<file>', 'a pixi-pack archive (.sh, .tar) or an image (.sif)')
    .argument('<url>', 'the folder to upload to')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print JSON')
    .option('-q, --quiet', 'show no progress')
    .action((file: string, url: string, options: ObjectFlags) => stage(cli, file, url, options));
}

async function stage(cli: Cli, word: string, url: string, options: ObjectFlags): Promise<void> {
  checkFederated(cli, url);
  const file = path.resolve(cli.cwd, word);
  if ((await stat(file).catch(() => undefined))?.isDirectory() === true)
    throw new Fault('file-invalid', `${word} is a folder, but an object is one file`, {
      about: file,
      fix: `to make an image of an Apptainer sandbox: apptainer build ${shellQuote(`${path.basename(file)}.sif`)} ${shellQuote(word)}`,
    });
  const described = describeFile(file, path.basename(file));
  const isImage = /\.(sif|img|sqsh|squashfs)$/i.test(file);
  // A broken archive is found here, not by a hundred workers.
  if (!isImage) await inspectPack(file, cli.signal);
  const { tokenFile, json } = options;
  const nameOf = (_: number, sha8: string): string => hashName(file, sha8);
  const report = ({ name, sha256, bytes }: StagedObject): string => {
    const place = below(url, name);
    const staged = { url: place, sha256, bytes, manifest: `${place}${manifestSuffix}` };
    return json ? JSON.stringify(staged) : isImage ? imageLines(place) : packLines(staged);
  };
  const shards = [singleFile(described)];
  await stageAll(cli, { source: file, url, tokenFile, nameOf, asItIs: true }, shards, { ...options, report });
  if (json === undefined) nextCommands(cli, [['updraft check', 'check updraft.toml with the lines above']]);
}

const imageLines = (url: string): string => `[environment]\nimage = ${JSON.stringify(url)}\n`;

/** Strings and numbers look the same in TOML and JSON. */
function packLines(pack: { url: string; sha256: string; bytes: number; manifest: string }): string {
  const unpacker = unpackerLines(pack.url);
  return [
    ...(unpacker.length === 0 ? [] : ['[environment]', ...unpacker, '']),
    '[environment.pack]',
    ...Object.entries(pack).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
    '',
  ].join('\n');
}

interface AgentOptions extends ObjectFlags {
  arch: string;
}

export function configureAgent(command: Command, cli: Cli): void {
  command
    .argument('<url>', 'the folder to upload to')
    .option('--arch <name>', 'architecture of the workers: x64 or arm64', os.arch())
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print JSON')
    .option('-q, --quiet', 'show no progress')
    .action((url: string, options: AgentOptions) => stageAgent(cli, url, options));
}

/** Uploads the agent under its hash: another version is another object, and runs under way keep theirs. */
async function stageAgent(cli: Cli, url: string, options: AgentOptions): Promise<void> {
  checkFederated(cli, url);
  const file = await packAgent(await findAgent(cli, options.arch), cli.env);
  const sha256 = await sha256Of(file);
  const name = `${agentName}-${cli.version}-linux-${options.arch}-${sha256}.gz`;
  const described = describeFile(file, name);
  const place = below(url, name);
  const report = (): string =>
    options.json
      ? JSON.stringify({ url: place, sha256, bytes: described.bytes })
      : `[pool]\nagent = ${JSON.stringify(place)}\n`;
  const request = { source: file, url, tokenFile: options.tokenFile, nameOf: () => name, asItIs: true };
  const shards = [singleFile(described)];
  await stageAll(cli, request, shards, { ...options, report });
  if (options.json === undefined)
    nextCommands(cli, [['updraft plan', 'what is sent, with the lines above in updraft.toml']]);
}
