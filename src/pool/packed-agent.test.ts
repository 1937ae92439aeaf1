import assert from 'node:assert/strict';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { placePackedAgent } from './find-agent.ts';

test('an agent is packed once and shared; the cache keeps the last few versions, and runs keep theirs', async (t) => {
  const folder = await temporaryFolder(t);
  const env = { XDG_CACHE_HOME: path.join(folder, 'cache') };
  const cache = path.join(env.XDG_CACHE_HOME, 'updraft');
  const place = async (version: number): Promise<string> => {
    const executable = path.join(folder, `agent-${version}`);
    await writeFile(executable, `agent ${version}`);
    const target = path.join(folder, `run-${version}.gz`);
    await placePackedAgent({ arch: 'x64', file: executable, isPacked: false }, target, env);
    // Pretend that an hour passes between versions.
    for (const name of await readdir(cache)) {
      const at = (await readFile(path.join(cache, name))).equals(await readFile(target))
        ? version
        : undefined;
      if (at !== undefined) await utimes(path.join(cache, name), 3600 * at, 3600 * at);
    }
    return target;
  };
  const targets = [];
  for (const version of [1, 2, 3, 4, 5]) targets.push(await place(version));
  assert.equal((await readdir(cache)).length, 3);
  const unpacked = await Promise.all(
    targets.map(async (file) => gunzipSync(await readFile(file)).toString()),
  );
  assert.deepEqual(unpacked, ['agent 1', 'agent 2', 'agent 3', 'agent 4', 'agent 5']);
});
