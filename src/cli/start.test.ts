import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** Prints every loaded module when the process ends. */
const listing = `
  import { registerHooks } from 'node:module';
  const seen = [];
  registerHooks({ load: (url, context, next) => { seen.push(url); return next(url, context); } });
  process.on('exit', () => console.log(JSON.stringify(seen)));`;

async function loadedBy(...words: string[]): Promise<string[]> {
  const preload = `data:text/javascript,${encodeURIComponent(listing)}`;
  const main = path.join(import.meta.dirname, 'main.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', preload, main, ...words]);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as string[];
}

test('a command loads only what it needs, so that it starts fast', async () => {
  const commands = ['stat', 'get', 'check'].map((name) => loadedBy(name, '--help'));
  const [stat = [], get = [], check = []] = await Promise.all(commands);
  const others = /\/(?:yaml|zod|toml-eslint-parser)\/|\/src\/(?:pool|run|unpack|why|diagnosis|environment)\//;
  for (const loaded of [stat, get])
    assert.deepEqual(
      loaded.filter((url) => others.test(url)),
      [],
    );
  assert.ok(stat.some((url) => url.endsWith('/commands/stat.ts')));
  // Loaded after the first request is sent, and only if there is something to fetch.
  const later = /\/yaml\/|\/src\/(?:transfer\/engine|pool|run|unpack)\/|\/check-submit-file\.ts/;
  for (const loaded of [stat, get, check])
    assert.deepEqual(
      loaded.filter((url) => later.test(url)),
      [],
    );
});

test('the compile cache is enabled before the first command is loaded', async () => {
  const loaded = await loadedBy('--version');
  const files = loaded.filter((url) => url.startsWith('file:')).map((url) => path.basename(url));
  // Only the first two are loaded, and their types stripped, without the cache.
  assert.deepEqual(files.slice(0, 3), ['main.ts', 'user-folders.ts', 'command-line.ts']);
});
