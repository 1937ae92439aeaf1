import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { enterRootScript } from '@updraft/mini/testing';
import { rootFolder } from '@updraft/mini/pool';

/** The start of a command line that runs inside a Debian root folder with HTCondor, which is created if none is given. */
export async function inPoolRoot(scratch: string, given?: string): Promise<string[]> {
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  const root =
    given ??
    (await rootFolder({
      cacheFolder: path.join(cache, 'updraft'),
      say: (line) => process.stderr.write(`${line}\n`),
      signal: new AbortController().signal,
    }));
  const home = path.join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  const enter = path.join(scratch, 'enter.sh');
  writeFileSync(enter, enterRootScript);
  const namespaces = ['unshare', '--user', '--map-root-user', '--mount', '--pid', '--fork'];
  const clean = ['env', '-i', 'PATH=/usr/sbin:/usr/bin', 'LC_ALL=C.UTF-8'];
  return [...namespaces, 'sh', enter, root, home, ...clean];
}
