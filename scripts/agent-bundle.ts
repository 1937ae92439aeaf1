import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import { Fault } from '@updraft/account/fault';
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

let bundled: Promise<AgentBundle> | undefined;

/** The agent's sources, bundled with the pinned Bun: once, for all architectures. */
export const bundleAgent = (): Promise<AgentBundle> => (bundled ??= bundleOnce());

async function bundleOnce(): Promise<AgentBundle> {
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

/** The files of the package `updraft`, by name. */
export function readLibrary(): Record<string, string> {
  const folder = path.join(root, 'python', 'updraft');
  const names = globSync('*.{py,typed}', { cwd: folder }).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]));
}

/**
 * The same as a job gets it, 20 kB smaller: without comments, docstrings, types and most of the indentation, but with the
 * same lines. The wheel has all.
 */
export function carriedLibrary(): Record<string, string> {
  const bare = (text: string): string =>
    text
      .replaceAll(/^ *# .*/gm, '')
      .replaceAll(/^( *)"{3}.*?"{3}$/gms, (doc: string, indent: string, at: number, whole: string) => {
        const lines = doc.replaceAll(/[^\n]/g, '');
        // What has nothing else needs it.
        return new RegExp(`^\n+${indent}\\S`).test(whole.slice(at + doc.length))
          ? lines
          : `${indent}""${lines}`;
      })
      .replaceAll(/^( *(?:def .*|\)).*?) -> .*:$/gm, '$1:')
      .replaceAll(
        /(?<=^ *def .*)(?<=[(,] ?\*{0,2}\w+): (?:[^,()[\]= ]|\[(?:[^[\]]|\[[^[\]]*\])*\])+(?= ?[,)=])/gm,
        '',
      )
      .replaceAll(/^def .*?(?=^\S)/gms, (one) => one.replaceAll(/^( +\w+): [^=\n]+ = /gm, '$1 = '))
      .replaceAll(/^( {8,}(?:self\.)?(?!else|finally|try)\w+): [^=\n]+ = /gm, '$1 = ')
      .replaceAll(/^( {8,}\*{0,2}\w+): [^=\n]+,$/gm, '$1,')
      .replaceAll(/^ +/gm, (indent) => ' '.repeat(indent.length / 4))
      .replace(
        /^(from typing import )(.*)$/m,
        (_, from: string, names: string, at: number, whole: string) => {
          const used = names
            .split(', ')
            .filter((name) => whole.split(new RegExp(`\\b${name}\\b`)).length > 2);
          return used.length > 0 ? `${from}${used.join(', ')}` : '';
        },
      );
  return Object.fromEntries(Object.entries(readLibrary()).map(([name, text]) => [name, bare(text)]));
}

let library: string | undefined;

/** Puts `updraft` into a bundle with the agent; compressed, because Linux limits an argument to 128 KiB. */
export const defineLibrary = (): string => (library ??= packLibrary());

function packLibrary(): string {
  const files = Object.entries(carriedLibrary()).map((file) => file.join('\n'));
  const packed = brotliCompressSync(files.join('\0'));
  return `--define=UPDRAFT_LIBRARY=${JSON.stringify(toBase92(packed))}`;
}

/** 27 characters for 22 bytes, none of which a string literal escapes, as the agent reads them. */
function toBase92(bytes: Buffer): string {
  const blocks = Array.from({ length: Math.ceil(bytes.length / 22) }, (_, block) => {
    let rest = BigInt(
      `0x${bytes
        .subarray(22 * block, 22 * block + 22)
        .toString('hex')
        .padEnd(44, '0')}`,
    );
    const digits = Array.from({ length: 27 }, () => {
      const digit = Number(rest % 92n);
      rest /= 92n;
      return String.fromCharCode(35 + digit);
    });
    return digits.reverse().join('');
  });
  return blocks.join('').replaceAll('\\', '!');
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
