import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import { Fault } from '../src/fault/fault.ts';
import { bunFor, type Arch } from './bun.ts';

const root = path.dirname(import.meta.dirname);

interface AgentBundle {
  /** All of the agent's code in one module. */
  code: string;
  /** Its source files, relative to the project. */
  inputs: string[];
  /** Modules it imports at run time. */
  imports: string[];
}

/** What Bun writes about a bundle. */
export interface Metafile {
  inputs: Record<string, { imports: { path: string }[] }>;
  outputs: Record<string, { imports: { path: string; external?: boolean }[] }>;
}

/** Bundles the agent's sources with the pinned Bun. */
export async function bundleAgent(): Promise<AgentBundle> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'updraft-bundle-'));
  try {
    const [bundle, metafile] = [path.join(folder, 'agent.js'), path.join(folder, 'meta.json')];
    const outputs = [`--outfile=${bundle}`, `--metafile=${metafile}`];
    const version = `--define=UPDRAFT_VERSION=${JSON.stringify(packageJson.version)}`;
    await runBun(['src/agent/main.ts', '--target=bun', defineLibrary(), version, ...outputs]);
    const meta = JSON.parse(readFileSync(metafile, 'utf8')) as Metafile;
    const imports = Object.values(meta.outputs).flatMap((output) => output.imports.map((one) => one.path));
    const inputs = Object.keys(meta.inputs);
    // Bun puts a line with its name above each module.
    const isName = (line: string): boolean => line.startsWith('// ') && inputs.includes(line.slice(3));
    const lines = readFileSync(bundle, 'utf8').split('\n');
    return { code: lines.filter((line) => !isName(line)).join('\n'), inputs, imports };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts `updraft.py` into a bundle with the agent; compressed, because Linux limits an argument to 128 KiB. */
export const defineLibrary = (): string => {
  const text = readFileSync(path.join(root, 'python', 'updraft.py'));
  return `--define=UPDRAFT_LIBRARY=${JSON.stringify(toBase85(brotliCompressSync(text)))}`;
};

/** As `fromBase85` of the agent reads it. */
function toBase85(bytes: Buffer): string {
  const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
  const words = Array.from({ length: padded.length / 4 }, (_, word) => padded.readUInt32BE(4 * word));
  const digits = words.flatMap((word) => [4, 3, 2, 1, 0].map((place) => Math.floor(word / 85 ** place) % 85));
  return String.fromCharCode(...digits.map((digit) => 40 + digit)).replaceAll('\\', '~');
}

/** Runs `bun build` of the pinned Bun, in the project's folder or the one given: paths in its output are relative to it. */
export async function runBun(args: string[], cwd = root): Promise<void> {
  const bun = await bunFor(process.arch as Arch);
  // The user's environment must not affect the build.
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'] };
  const done = spawnSync(bun, ['build', ...args], { cwd, env, encoding: 'utf8' });
  if (done.status !== 0)
    throw new Fault('internal', `bun build failed: ${done.error?.message ?? done.stderr}`);
}
