import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { runBun } from './agent-bundle.ts';
import { dist, makeOnce, root } from './compile.ts';
import { bundlePage } from './page-bundle.ts';

/**
 * Bundles command line and agent for Node into `dist/cli` and `dist/agent`, where they find the checkout as the sources
 * do. Tests start them hundreds of times, and a start loads a few files instead of some hundred: half the time.
 */
export async function bundlePrograms(): Promise<void> {
  const sources = globSync(['{src,packages}/**/*.ts', 'packages/*/package.json', 'src/**/*.css'], {
    cwd: root,
    exclude: ['**/*.test.ts'],
  }).sort();
  const texts = [...sources, 'package-lock.json'].map((name) => [
    name,
    readFileSync(path.join(root, name), 'utf8'),
  ]);
  for (const program of ['cli', 'agent']) await makeOnce(program, texts, () => bundle(program));
  await makeOnce('dashboard', texts, placePage);
}

/** Where the bundled command line looks for it, as the installed package does. */
async function placePage(): Promise<void> {
  const folder = path.join(dist, 'dashboard', 'page');
  mkdirSync(folder, { recursive: true });
  copyFileSync(path.join(root, 'src/dashboard/page/page.css'), path.join(folder, 'page.css'));
  await bundlePage(path.join(folder, 'page.js'));
}

async function bundle(program: string): Promise<void> {
  const draft = mkdtempSync(path.join(dist, '.bundling-'));
  const target = path.join(dist, program);
  try {
    await runBun([
      `src/${program}/main.ts`,
      '--target=node',
      // Each command stays a chunk that is loaded when it is used.
      '--splitting',
      // The name says that this is a checkout, not an installed package.
      '--entry-naming=[name].ts',
      `--outdir=${draft}`,
    ]);
    rmSync(target, { recursive: true, force: true });
    renameSync(draft, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
