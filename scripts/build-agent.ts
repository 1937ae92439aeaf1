import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { agentName } from '../src/job/installation.ts';
import { asFault } from '@updraft/account/fault';
import { bundleAgent } from './agent-bundle.ts';
import { archs, type Arch } from './bun.ts';
import { compile, dist, makeOnce } from './compile.ts';

const nameOf = (arch: Arch): string => `${agentName}-linux-${arch}`;

/** Builds the agent for an architecture, unless `dist/` has one from the same sources; returns its path. */
export async function buildAgent(arch: Arch): Promise<string> {
  const { code } = await bundleAgent();
  const parts = { arch, main: 'agent.js', files: { 'agent.js': code } };
  return await makeOnce(nameOf(arch), parts, () => compile(nameOf(arch), parts));
}

/** The same agent packed with gzip, as it is published. */
export async function packAgent(arch: Arch): Promise<string> {
  const agent = readFileSync(await buildAgent(arch));
  const name = `${nameOf(arch)}.gz`;
  const sha256 = createHash('sha256').update(agent).digest('hex');
  return await makeOnce(name, sha256, async () => {
    writeFileSync(path.join(dist, name), await promisify(gzip)(agent));
  });
}

async function main(args: string[]): Promise<void> {
  const asked = args[0] === '--arch' ? args[1] : undefined;
  if ((args.length > 0 && asked === undefined) || (asked !== undefined && !archs.includes(asked as Arch)))
    throw new Error(`usage: build-agent [--arch ${archs.join('|')}]`);
  for (const arch of asked === undefined ? archs : [asked as Arch]) {
    const file = await buildAgent(arch);
    console.log(`${path.relative(process.cwd(), file)} ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  }
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (thrown) {
    const { message, fix } = asFault(thrown);
    console.error(`build-agent: ${message}${fix === undefined ? '' : `\n  fix: ${fix}`}`);
    process.exitCode = 1;
  }
}
