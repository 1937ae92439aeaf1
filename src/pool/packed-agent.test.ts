import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { agentCommand, placePackedAgent } from './packed-agent.ts';

test('an agent is packed once and shared; the cache keeps the last few versions, and runs keep theirs', async (t) => {
  const folder = await temporaryFolder(t);
  const env = { XDG_CACHE_HOME: path.join(folder, 'cache') };
  const cache = path.join(env.XDG_CACHE_HOME, 'updraft');
  const place = async (version: number): Promise<string> => {
    const executable = path.join(folder, `agent-${version}`);
    await writeFile(executable, `agent ${version}`);
    const target = path.join(folder, `run-${version}.gz`);
    await placePackedAgent(executable, target, env);
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

async function checkout(t: TestContext): Promise<{ root: string; self: string[] }> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'agent-command-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const folder of ['dist', 'src/agent', 'src/cli'])
    await mkdir(path.join(root, folder), { recursive: true });
  return { root, self: ['/usr/bin/node', path.join(root, 'src/cli/main.ts')] };
}

test('the agent is the one in UPDRAFT_AGENT, else the built one, else the source', async (t) => {
  const { root, self } = await checkout(t);
  await assert.rejects(agentCommand({}, self), /found no agent for this machine/);
  const source = path.join(root, 'src/agent/main.ts');
  await writeFile(source, '');
  assert.deepEqual(await agentCommand({}, self), ['/usr/bin/node', source]);
  const built = path.join(root, 'dist', `updraft-agent-linux-${os.arch()}`);
  await writeFile(built, '', { mode: 0o755 });
  assert.deepEqual(await agentCommand({}, self), [built]);
  const named = path.join(root, 'mine');
  await writeFile(named, '', { mode: 0o755 });
  assert.deepEqual(await agentCommand({ UPDRAFT_AGENT: named }, self), [named]);
});

test('UPDRAFT_AGENT must name an executable: no other agent is used instead', async (t) => {
  const { self } = await checkout(t);
  await assert.rejects(
    agentCommand({ UPDRAFT_AGENT: '/no/such' }, self),
    /UPDRAFT_AGENT: \/no\/such is not executable/,
  );
});
