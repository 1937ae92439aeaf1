import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { compileCache } from '../compile-cache.ts';
import { sources } from './sources.ts';
import { cliMain } from '../programs.ts';

interface PartJournal {
  done: { start: number; end: number }[];
  identity: { etag?: string; modified?: number };
}

/** The part's journal, which is replaced atomically; undefined if there is none. */
const read = (file: string): PartJournal | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as PartJournal) : undefined;

const own = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache };
const bytes = randomBytes(24 << 20);
const [name = ''] = Object.keys(sources).filter((each) => each.startsWith('XRootD of this machine'));

test('XRootD, which gives no validator: after a kill or a stop, the same command fetches only the rest', async (t) => {
  const source = await sources[name]?.(t);
  if (source === undefined) return;
  await writeFile(path.join(source.folder, 'data.bin'), bytes);
  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    const cwd = path.join(source.folder, '..', signal);
    await mkdir(cwd);
    const get = () =>
      spawn(process.execPath, [cliMain, 'get', '--json', `${source.url}/data.bin`], {
        cwd,
        env: { ...source.env, ...own, HOME: cwd, TMPDIR: cwd, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    await source.stallOnce(8 << 20);
    const first = get();
    const ended = once(first, 'exit');
    const journal = path.join(cwd, 'data.bin.updraft-part.json');
    // The origin's answer may come after the first bytes.
    while (read(journal)?.identity.modified === undefined) await waitForChange([cwd], 50, systemClock);
    first.kill(signal);
    await ended;
    const { done = [], identity } = read(journal) ?? {};
    assert.deepEqual([identity?.etag, typeof identity?.modified], [undefined, 'number']);
    const had = done.reduce((sum, { start, end }) => sum + end - start, 0);
    assert.ok(had > 0);
    const { verified, servers } = JSON.parse(await text(get().stdout)) as {
      verified: string;
      servers: { bytes: number }[];
    };
    assert.equal(verified, 'digest');
    assert.equal(
      servers.reduce((sum, each) => sum + each.bytes, 0),
      bytes.length - had,
    );
    assert.deepEqual(await readFile(path.join(cwd, 'data.bin')), bytes);
  }
});
