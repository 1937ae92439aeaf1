import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { asFault, Fault } from '@updraft/account/fault';
import { reportStyle } from '@updraft/view/html';
import { type Metafile, runBun } from './agent-bundle.ts';
import { dist, root } from './compile.ts';
import { limitsAt } from '../src/pool/htcondor.ts';
import { osgLog } from './osg-log.ts';

const folder = path.join('packages', 'page');
const maxBytes = 1_000_000;

/** What the page knows of pools. */
const poolLimits = JSON.stringify({
  htcondor: await limitsAt('htcondor'),
  ospool: await limitsAt('ospool'),
  chtc: await limitsAt('chtc'),
}).replaceAll('<', String.raw`\u003c`);

/** Pure, and part of every bundler. */
const replaced = new Set(['node:path']);

/** Builds `dist/updraft.html`. */
export async function buildPage(): Promise<string> {
  const file = path.join(dist, 'updraft.html');
  mkdirSync(dist, { recursive: true });
  writeFileSync(file, await renderPage());
  return file;
}

/** One file that reads logs and submit files in a browser, and connects to nothing. */
export async function renderPage(): Promise<string> {
  const [main, worker] = await Promise.all([bundled('main.ts'), bundled('worker.ts')]);
  const style = reportStyle + read('page.css');
  const sample = gzipSync(osgLog(), { level: 9 }).toString('base64');
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const parts: Record<string, string> = {
    version,
    policy: policyFor(style, main),
    style: `<style>${style}</style>`,
    scripts: [
      `<script type="application/json" id="limits">${poolLimits}</script>`,
      `<script type="text/plain" id="sample-log">${sample}</script>`,
      `<script type="text/plain" id="worker">${worker}</script>`,
      `<script>${main}</script>`,
    ].join('\n'),
  };
  // A function: `$&` in a bundle is not a pattern.
  const page = read('page.html').replaceAll(/<!-- (\w+) -->/g, (_, name: string) => parts[name] ?? '');
  if (Buffer.byteLength(page) > maxBytes)
    throw new Fault('internal', `the page has ${Buffer.byteLength(page)} bytes, more than ${maxBytes}`);
  return page;
}

const read = (name: string): string => readFileSync(path.join(root, folder, name), 'utf8');

/** Scripts and styles by their hashes, the worker from the page itself, and nothing from anywhere else. */
const policyFor = (style: string, script: string): string =>
  [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'worker-src blob:',
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** One script that needs nothing of Node, and cannot end its element. */
async function bundled(main: string): Promise<string> {
  const draft = mkdtempSync(path.join(root, 'node_modules', '.page-'));
  try {
    const [bundle, metafile] = [path.join(draft, 'page.js'), path.join(draft, 'meta.json')];
    await runBun([
      path.join(folder, main),
      ...['--target=browser', '--format=iife', '--minify'],
      ...[`--outfile=${bundle}`, `--metafile=${metafile}`],
    ]);
    refuseNode(JSON.parse(readFileSync(metafile, 'utf8')) as Metafile);
    return readFileSync(bundle, 'utf8')
      .trim()
      .replaceAll(/<(?=\/script|!--)/gi, String.raw`\x3c`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function refuseNode({ inputs }: Metafile): void {
  for (const [file, { imports }] of Object.entries(inputs)) {
    if (file.includes('node_modules/'))
      throw new Fault('internal', `${file} would be in the page, and LICENSES.txt says that no package is`);
    for (const { path: name } of imports)
      if (isBuiltin(name) && !replaced.has(name))
        throw new Fault('internal', `${file} imports ${name}, which no browser has`, {
          fix: 'pass in what it needs, or move it out of what packages/page imports',
        });
  }
}

if (import.meta.main)
  try {
    const file = await buildPage();
    console.log(`${path.relative(process.cwd(), file)} ${(readFileSync(file).length / 1e3).toFixed(0)} kB`);
  } catch (thrown) {
    const { message, fix } = asFault(thrown);
    console.error(`build:page: ${message}${fix === undefined ? '' : `\n  fix: ${fix}`}`);
    process.exitCode = 1;
  }
