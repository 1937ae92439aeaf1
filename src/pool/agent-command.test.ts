import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { agentCommand } from './agent-command.ts';

async function checkout(t: TestContext): Promise<{ root: string; self: string[] }> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'agent-command-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const folder of ['dist', 'src/agent', 'src/cli'])
    await mkdir(path.join(root, folder), { recursive: true });
  return { root, self: ['/usr/bin/node', path.join(root, 'src/cli/main.ts')] };
}

test('the agent is the named one, or the built one, or the source', async (t) => {
  const { root, self } = await checkout(t);
  await assert.rejects(agentCommand({}, self), /no agent for this machine/);
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

test('a named agent that cannot be executed is told, not passed over', async (t) => {
  const { self } = await checkout(t);
  await assert.rejects(agentCommand({ UPDRAFT_AGENT: '/no/such' }, self), /UPDRAFT_AGENT names \/no\/such/);
});
