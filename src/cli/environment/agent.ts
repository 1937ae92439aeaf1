import os from 'node:os';
import type { Command } from 'commander';
import { agentName } from '../../base/installation.ts';
import { findAgent } from '../../pool/find-agent.ts';
import { packAgent } from '../../pool/packed-agent.ts';
import { describeFile } from '../../stage/data-files.ts';
import { singleFile } from '../../stage/shards.ts';
import { sha256Of } from '../../base/sha256-of.ts';
import type { Cli } from '../cli.ts';
import { below } from '../object/access.ts';
import { checkFederated, stageAll } from '../object/stage-object.ts';
import { nextCommands } from '../text/phrases.ts';

interface Options {
  arch: string;
  tokenFile?: string;
  json?: true;
  quiet?: true;
}

export function configureAgent(command: Command, cli: Cli): void {
  command
    .argument('<url>', 'the folder to upload to')
    .option('--arch <name>', 'architecture of the workers: x64 or arm64', os.arch())
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print JSON')
    .option('-q, --quiet', 'show no progress')
    .action((url: string, options: Options) => stageAgent(cli, url, options));
}

/** Uploads the agent under its hash: another version is another object, and runs under way keep theirs. */
async function stageAgent(cli: Cli, url: string, options: Options): Promise<void> {
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
