import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { bundlePage } from './page-bundle.ts';

/**
 * Builds what `npm pack` ships. Node does not run TypeScript below `node_modules`, so the sources become JavaScript:
 * `lib/` is `src/` without types, at the same depth; `types/` is for users of the library.
 */
const root = path.dirname(import.meta.dirname);
/** They run in a browser, bundled into one script. */
const pageSources = 'src/dashboard/page/*.ts';

for (const folder of ['lib', 'types']) rmSync(path.join(root, folder), { recursive: true, force: true });

for (const name of globSync('src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts', pageSources] })) {
  const target = path.join(root, name.replace(/^src/, 'lib').replace(/\.ts$/, '.js'));
  const code = stripTypeScriptTypes(readFileSync(path.join(root, name), 'utf8'));
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, code.replace(/((?:from|import)\s*\(?\s*'\.{1,2}\/[^']*)\.ts'/g, "$1.js'"));
}

for (const name of globSync('src/**/*.css', { cwd: root })) {
  const target = path.join(root, name.replace(/^src/, 'lib'));
  mkdirSync(path.dirname(target), { recursive: true });
  copyFileSync(path.join(root, name), target);
}

await bundlePage(path.join(root, 'lib/dashboard/page/page.js'));

const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
const flags = [
  '--noEmit',
  'false',
  '--emitDeclarationOnly',
  '--declaration',
  '--incremental',
  'false',
  '--outDir',
  'types',
  '--rootDir',
  '.',
];
const done = spawnSync(process.execPath, [tsc, '-p', '.', ...flags], { cwd: root, stdio: 'inherit' });
process.exitCode = done.status ?? 1;
