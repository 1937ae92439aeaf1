import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packAgent } from './build-agent.ts';
import { archs } from './bun.ts';
import { emit, withPaths } from './emit.ts';
import { bundlePage } from './page-bundle.ts';
import { licenses } from './write-licenses.ts';

const root = path.dirname(import.meta.dirname);
/** They run in a browser, bundled into one file or one script. */
const pageSources = ['src/dashboard/page/*.ts', 'packages/page/*.ts'];

/** `packages/` is in `lib/` too: users install one package. */
const inLibrary = (name: string): string =>
  name.startsWith('packages/') ? `lib/${name}` : name.replace(/^src/, 'lib');

/**
 * Builds the code that `npm pack` ships: `lib/` is `src/` without types, at the same depth, because Node runs no
 * TypeScript below `node_modules`.
 */
export async function buildLibrary(into: string): Promise<void> {
  rmSync(path.join(into, 'lib'), { recursive: true, force: true });
  emit({
    sources: ['src/**/*.ts', 'packages/**/*.ts'],
    exclude: [...pageSources, '**/testing.ts'],
    placeOf: inLibrary,
    into,
  });
  mkdirSync(path.join(into, 'lib/dashboard/page'), { recursive: true });
  for (const name of globSync('src/**/*.css', { cwd: root }))
    copyFileSync(path.join(root, name), path.join(into, inLibrary(name)));
  await bundlePage(path.join(into, 'lib/dashboard/page/page.js'));
}

/** The agents of all architectures, packed as workers get them: an installed package has nothing to build them with. */
async function packAgents(into: string): Promise<void> {
  mkdirSync(into, { recursive: true });
  for (const arch of archs) {
    const packed = await packAgent(arch);
    copyFileSync(packed, path.join(into, path.basename(packed)));
  }
  writeFileSync(path.join(into, 'LICENSES.txt'), await licenses());
}

/** Declarations for users of the library. */
function writeTypes(): boolean {
  rmSync(path.join(root, 'types'), { recursive: true, force: true });
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const emit = ['--noEmit', 'false', '--emitDeclarationOnly', '--declaration', '--incremental', 'false'];
  const flags = [...emit, '--outDir', 'types', '--rootDir', '.'];
  const done = spawnSync(process.execPath, [tsc, '-p', '.', ...flags], { cwd: root, stdio: 'inherit' });
  for (const name of globSync('types/{src,packages}/**/*.test.d.ts', { cwd: root }))
    rmSync(path.join(root, name));
  for (const name of globSync('types/**/*.d.ts', { cwd: root })) {
    const text = readFileSync(path.join(root, name), 'utf8');
    writeFileSync(
      path.join(root, name),
      withPaths(text, name, (one) => `types/${one}`),
    );
  }
  return done.status === 0;
}

if (import.meta.main) {
  await buildLibrary(root);
  await packAgents(path.join(root, 'agents'));
  process.exitCode = writeTypes() ? 0 : 1;
}
