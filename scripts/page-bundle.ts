import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { asFault, Fault } from '@updraft/account/fault';
import { runBun } from './agent-bundle.ts';
import { bunVersion } from './bun.ts';

const root = path.dirname(import.meta.dirname);
const main = path.join(root, 'src', 'dashboard', 'page', 'main.ts');
const cache = path.join(root, 'node_modules', '.cache', 'updraft-page');

/** Bundles the dashboard's page into one script with the pinned Bun. */
export async function bundlePage(outfile: string): Promise<void> {
  try {
    await runBun([main, '--target=browser', '--format=iife', `--outfile=${outfile}`]);
  } catch (thrown) {
    const { kind, message, fix } = asFault(thrown);
    const text = `the dashboard's page could not be bundled: ${message}`;
    throw new Fault(kind, text, fix === undefined ? {} : { fix });
  }
}

/** The page's script in a checkout: bundled again only if its sources change. */
export async function cachedPage(): Promise<string> {
  const file = path.join(cache, `${sourcesKey()}.js`);
  if (!existsSync(file)) {
    mkdirSync(cache, { recursive: true });
    const draft = `${file}.${process.pid}.js`;
    await bundlePage(draft);
    renameSync(draft, file);
  }
  return readFileSync(file, 'utf8');
}

/** A hash of all sources of the bundle. */
function sourcesKey(): string {
  const hash = createHash('sha256').update(bunVersion);
  const files = new Set([main]);
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    hash.update(text);
    for (const [, name = ''] of text.matchAll(/ from '((?:\.|@updraft\/)[^']+)';$/gm))
      files.add(
        name.startsWith('.')
          ? path.resolve(path.dirname(file), name)
          : fileURLToPath(import.meta.resolve(name)),
      );
  }
  return hash.digest('hex').slice(0, 16);
}
