import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { asFault, Fault } from '@updraft/account/fault';
import { bunFor, bunVersion, type Arch } from './bun.ts';
import { root } from './compile.ts';

/** What we hand out carries this file; `updraft licenses` prints it. */
const file = path.join(root, 'LICENSES.txt');
const rule = '='.repeat(100);
const part2 = `${rule}\nPart 2: npm packages\n${rule}\n`;

/** Licences that ask for no more than their notice. Any other needs a person's decision. */
const accepted = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']);

/** Entries of `process.versions` that are no linked library. */
const interfaces = new Set([
  'node',
  'bun',
  'openssl',
  'zig',
  'v8',
  'uv',
  'napi',
  'unicode',
  'typescript',
  'modules',
]);

/** Texts in Bun's program that show whose work it has ported: no version of it says so. */
const ported = {
  'react-compiler': 'React Compiler',
  oxlint: 'oxc with oxlint',
  'typescript-eslint': 'typescript-eslint',
  'bun lint': 'ESLint',
  'bun check': 'typescript-go',
  'bun fmt': 'Prettier',
  'eslint-plugin-n': 'eslint-plugin-n',
};

interface Package {
  version: string;
  license?: string;
  author?: string | { name?: string };
  dependencies?: Record<string, string>;
}

/** The packages that our bundles can contain: those of `dependencies`, and theirs. */
function packages(): Map<string, Package> {
  const found = new Map<string, Package>();
  const waiting = Object.keys(packageJson.dependencies);
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (found.has(name)) continue;
    const one = JSON.parse(readFileSync(path.join(folderOf(name), 'package.json'), 'utf8')) as Package;
    found.set(name, one);
    waiting.push(...Object.keys(one.dependencies ?? {}));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const folderOf = (name: string): string => path.join(root, 'node_modules', name);

function notice(name: string, { version, license = 'none', author }: Package): string {
  if (!accepted.has(license))
    throw new Fault(
      'internal',
      `the licence of ${name} ${version} is ${license}, which nobody has accepted`,
      {
        fix: 'read it; if we can keep its terms, add it to `accepted` in scripts/write-licenses.ts',
      },
    );
  const own = readdirSync(folderOf(name)).find((entry) => /^licen[cs]e/i.test(entry));
  if (own === undefined)
    throw new Fault('internal', `${name} ${version} has no file with its licence`, {
      fix: 'find out what its authors ask for',
    });
  const text = readFileSync(path.join(folderOf(name), own), 'utf8').trim();
  const by = typeof author === 'string' ? author : author?.name;
  const head = [`${name} ${version}`, license, ...(by === undefined ? [] : [`by ${by}`])];
  return `${'-'.repeat(100)}\n${head.join('\n')}\n\n${text}\n`;
}

/** Part 1 is written by hand: it must be about the Bun that we use, and every library that it says is in it. */
async function checkBun(text: string): Promise<void> {
  const bun = await bunFor(process.arch as Arch);
  const printed = spawnSync(bun, ['-e', 'console.log(JSON.stringify(process.versions))'], {
    encoding: 'utf8',
  });
  const versions = JSON.parse(printed.stdout) as Record<string, string>;
  const missing = Object.entries(versions).filter(
    ([name, version]) => !interfaces.has(name) && !text.includes(version),
  );
  if (!text.includes(`Part 1: Bun ${bunVersion}\n`)) missing.push(['bun', bunVersion]);
  const program = readFileSync(bun);
  for (const [sign, name] of Object.entries(ported))
    if (program.includes(sign) && !text.includes(`\n${name}`)) missing.push([name, `(${sign})`]);
  if (missing.length > 0)
    throw new Fault(
      'internal',
      `LICENSES.txt does not have ${missing.map((one) => one.join(' ')).join(', ')}`,
      {
        fix: "correct part 1 by hand, from Bun's LICENSE.md and scripts/build/deps",
      },
    );
}

/** The whole text as it must be. */
export async function licenses(): Promise<string> {
  const [part1 = ''] = readFileSync(file, 'utf8').split(part2);
  await checkBun(part1);
  return part1 + part2 + [...packages()].map(([name, one]) => `\n${notice(name, one)}`).join('');
}

if (import.meta.main)
  try {
    const text = await licenses();
    if (!process.argv.includes('--check')) writeFileSync(file, text);
    else if (text !== readFileSync(file, 'utf8'))
      throw new Fault('internal', 'LICENSES.txt is not what the packages say', { fix: 'npm run licenses' });
  } catch (thrown) {
    const { message, fix } = asFault(thrown);
    console.error(`licenses: ${message}${fix === undefined ? '' : `\n  fix: ${fix}`}`);
    process.exitCode = 1;
  }
