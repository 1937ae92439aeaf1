import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Assets } from '../src/job/assets.ts';
import type { Build } from '../src/job/installation.ts';
import { defineLibrary } from './agent-bundle.ts';
import { packAgent } from './build-agent.ts';
import { archs, type Arch } from './bun.ts';
import { compile, makeOnce, root } from './compile.ts';
import { bundlePage } from './page-bundle.ts';

const code = [
  '{src,packages}/**/*.ts',
  'packages/*/package.json',
  'scripts/executable.ts',
  'package.json',
  'package-lock.json',
];
const texts = [
  'LICENSES.txt',
  'python/updraft/*.py',
  'python/updraft/py.typed',
  'schema/*.json',
  'templates/*/*',
  'pools/*.toml',
  'examples/*/*',
  'src/dashboard/page/page.css',
  'docs/**/*.md',
];

/** Builds the one-file executable, command line and agent, unless `dist/` has it; returns its path. */
export async function buildExecutable(arch: Arch): Promise<string> {
  const name = `updraft-linux-${arch}`;
  const others = archs.filter((other) => other !== arch);
  const build: Build = { agents: {} };
  for (const other of others) {
    const agent = await packAgent(other);
    build.agents[path.basename(agent)] = sha256Of(readFileSync(agent));
  }
  const parts = [build, read([...code, ...texts])];
  return await makeOnce(name, parts, async () => {
    await compile(name, {
      arch,
      main: 'main.js',
      files: { 'main.js': main, 'assets.json': JSON.stringify(await readAssets()) },
      flags: [
        // Each command stays a chunk that is loaded when it is used.
        '--splitting',
        '--external=../../scripts/page-bundle.ts',
        `--define=UPDRAFT_BUILD=${JSON.stringify(build)}`,
        defineLibrary(),
      ],
    });
  });
}

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const main = `import { start } from ${JSON.stringify(path.join(root, 'scripts', 'executable.ts'))};
await start(async () => (await import('./assets.json')).default);
`;

function read(patterns: string[]): Assets {
  const names = globSync(patterns, { cwd: root, exclude: ['**/*.test.ts', '**/__pycache__', '**/charts'] });
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(path.join(root, name), 'utf8')]));
}

/** What the executable reads besides its code: what `init`, `demo` and `docs` print, and the dashboard's page. */
async function readAssets(): Promise<Assets> {
  const draft = mkdtempSync(path.join(os.tmpdir(), 'updraft-page-'));
  try {
    const page = path.join(draft, 'page.js');
    await bundlePage(page);
    return { ...read(texts), 'src/dashboard/page/page.js': readFileSync(page, 'utf8') };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
