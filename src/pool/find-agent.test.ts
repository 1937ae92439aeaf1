import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { Fault } from '@updraft/account/fault';
import { agentCommand, findAgent } from './find-agent.ts';

const node = '/usr/bin/node';
const name = (arch: string): string => `updraft-agent-linux-${arch}`;
const other = os.arch() === 'x64' ? 'arm64' : 'x64';

async function installed(t: TestContext, files: string[]): Promise<string> {
  const root = await temporaryFolder(t);
  for (const file of files) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), file, { mode: 0o755 });
  }
  return root;
}

/** The fault that names the architecture, the place, and a command for this kind of installation. */
const missing = (place: string, fix: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Fault);
  assert.match(error.message, new RegExp(`no agent for linux-(x64|arm64) machines: .*${place} is missing`));
  assert.match(error.fix ?? '', fix);
  return true;
};

test('a checkout sends the agent in dist/, and starts it or, without a build, the source', async (t) => {
  const root = await installed(t, ['src/agent/main.ts']);
  const self = [node, path.join(root, 'src/cli/main.ts')];
  assert.deepEqual(await agentCommand({}, self), [node, path.join(root, 'src/agent/main.ts')]);
  await assert.rejects(
    findAgent({ env: {}, self }),
    missing(name(os.arch()), /^build it: npm --prefix \S+ run build:agent/),
  );
  const built = path.join(root, 'dist', name(os.arch()));
  await mkdir(path.dirname(built));
  await writeFile(built, '', { mode: 0o755 });
  assert.deepEqual(await agentCommand({}, self), [built]);
  assert.deepEqual(await findAgent({ env: {}, self }), { arch: os.arch(), file: built, isPacked: false });
});

test('a package sends the packed agent that it has, for both architectures', async (t) => {
  const agents = ['x64', 'arm64'].map((arch) => `agents/${name(arch)}.gz`);
  const root = await installed(t, ['lib/agent/main.js', ...agents]);
  const self = [node, path.join(root, 'lib/cli/main.js')];
  assert.deepEqual(await agentCommand({}, self), [node, path.join(root, 'lib/agent/main.js')]);
  const found = await findAgent({ env: {}, self }, other);
  assert.deepEqual(found, {
    arch: other,
    file: path.join(root, 'agents', `${name(other)}.gz`),
    isPacked: true,
  });
  const empty = [node, path.join(await temporaryFolder(t), 'lib/cli/main.js')];
  const isMissing = missing(`${name('x64')}.gz`, /^install the package again/);
  await assert.rejects(findAgent({ env: {}, self: empty }, 'x64'), (error: unknown) => {
    assert.doesNotMatch((error as Fault).fix ?? '', /npm run/);
    return isMissing(error);
  });
});

test('an executable is its own agent; one for another architecture is beside it and has the right hash', async (t) => {
  const file = `updraft-agent-1.2.3-linux-${other}.gz`;
  const root = await installed(t, ['updraft']);
  const self = [path.join(root, 'updraft')];
  assert.deepEqual(await agentCommand({}, self), [...self, 'updraft-agent']);
  assert.equal((await findAgent({ env: {}, self })).file, self[0]);
  const sha256 = createHash('sha256').update('the agent').digest('hex');
  const search = { env: {}, self, build: { agents: { [file]: sha256 } } };
  await assert.rejects(
    findAgent(search, other),
    missing(file, new RegExp(`^download ${file} of the same release into ${root}`)),
  );
  await writeFile(path.join(root, file), 'another agent');
  await assert.rejects(findAgent(search, other), /is not the agent for \w+ of this version/);
  await writeFile(path.join(root, file), 'the agent');
  const found = await findAgent(search, other);
  assert.deepEqual(found, { arch: other, file: path.join(root, file), isPacked: true });
});

test('UPDRAFT_AGENT comes first and must name an executable: no other agent is used instead', async (t) => {
  const root = await installed(t, ['mine', `dist/${name(os.arch())}`]);
  const self = [node, path.join(root, 'src/cli/main.ts')];
  const mine = path.join(root, 'mine');
  assert.deepEqual(await agentCommand({ UPDRAFT_AGENT: mine }, self), [mine]);
  assert.equal((await findAgent({ env: { UPDRAFT_AGENT: mine }, self })).file, mine);
  const wrong = { UPDRAFT_AGENT: '/no/such' };
  await assert.rejects(agentCommand(wrong, self), /UPDRAFT_AGENT: \/no\/such is not executable/);
  await assert.rejects(findAgent({ env: wrong, self }), /UPDRAFT_AGENT/);
});
