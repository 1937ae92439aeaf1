import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { asFault, Fault } from '@updraft/account/fault';
import { packAgent } from './build-agent.ts';
import { buildExecutable, sha256Of } from './build-executable.ts';
import { buildPage } from './build-page.ts';
import { buildWheel } from './build-wheel.ts';
import { archs, type Arch } from './bun.ts';
import { dist, root } from './compile.ts';
import { licenses } from './write-licenses.ts';

/** Builds all files of a release into `dist/`. `from` is the URL where they will be. */
async function build(wanted: readonly Arch[], from: string): Promise<string[]> {
  const files = [await writeLicenses()];
  for (const arch of wanted) {
    const executable = await buildExecutable(arch);
    files.push(executable, await packAgent(arch), await buildWheel(arch, executable));
  }
  files.push(await buildPage(), writeInstaller(from));
  return [...files, writeSums(files)];
}

/** Beside what it is about; refused if a package's licence is not known. */
async function writeLicenses(): Promise<string> {
  const file = path.join(dist, 'LICENSES.txt');
  mkdirSync(dist, { recursive: true });
  writeFileSync(file, await licenses());
  return file;
}

function writeInstaller(from: string): string {
  const text = readFileSync(path.join(root, 'packaging', 'install.sh'), 'utf8');
  const file = path.join(dist, 'install.sh');
  writeFileSync(file, text.replace(/^published=''$/m, `published='${from}'`));
  chmodSync(file, 0o755);
  return file;
}

/** As `sha256sum` writes them, and `sha256sum -c` reads them. */
function writeSums(files: readonly string[]): string {
  const lines = files.map((file) => `${sha256Of(readFileSync(file))}  ${path.basename(file)}\n`);
  const sums = path.join(dist, 'SHA256SUMS');
  writeFileSync(sums, lines.join(''));
  return sums;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { arch: { type: 'string' }, from: { type: 'string' } } });
  const wanted = archs.filter((arch) => values.arch === undefined || values.arch === arch);
  const from = values.from ?? '';
  if (wanted.length === 0 || from.includes("'"))
    throw new Fault('usage', `usage: npm run build -- [--arch ${archs.join('|')}] [--from URL]`);
  for (const file of await build(wanted, from))
    console.log(`${path.relative(process.cwd(), file)} ${(statSync(file).size / 1e6).toFixed(1)} MB`);
}

try {
  await main();
} catch (thrown) {
  const { message, fix } = asFault(thrown);
  console.error(`build: ${message}${fix === undefined ? '' : `\n  fix: ${fix}`}`);
  process.exitCode = 1;
}
