import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { identifyProcess } from '@updraft/base/processes';
import { AgentHarness, type RunningAgent } from './agent-harness.ts';
import { serveBytes } from './byte-server.ts';
import { makeTarGz } from './tar.ts';

const archive = makeTarGz({ 'a.bin': Buffer.alloc(1 << 20, 'x') });

/** Nothing is left, and the journal says how the attempt ended. */
function assertEnded(harness: AgentHarness, kind: 'evicted' | 'interrupted', exit: number | null): void {
  assert.equal(exit, kind === 'evicted' ? 113 : 5);
  assert.equal(harness.entries('fault').at(-1)?.fault.kind, kind);
  assert.deepEqual(harness.lastKinds(3), ['agent-ended', 'phase', 'cleaned'], 'ended, then cleaned up');
  assert.equal(harness.entries('agent-ended')[0]?.outcome, kind === 'evicted' ? 'evicted' : 'stopped');
  assert.equal(existsSync(harness.at('results/0000')), false);
  assert.deepEqual(harness.leftovers(), []);
}

for (const [signal, kind] of [
  ['SIGTERM', 'evicted'],
  ['SIGINT', 'interrupted'],
  ['SIGHUP', 'evicted'],
] as const) {
  const stop = async (agent: RunningAgent): Promise<number | null> => {
    agent.child.kill(signal);
    return (await agent.finished).exit;
  };

  test(`${signal} while fetching ends the attempt and leaves nothing`, async (t) => {
    const harness = await AgentHarness.open(t);
    const { url, begun } = await serveBytes(t, archive, archive.length >> 1);
    const agent = harness.start(await harness.order({ data: [{ url: `${url}/a.tar.gz` }] }));
    await agent.before(begun);
    assertEnded(harness, kind, await stop(agent));
    assert.deepEqual(harness.entries('training-started'), []);
  });

  test(`${signal} while unpacking ends the attempt and leaves nothing`, async (t) => {
    const harness = await AgentHarness.open(t);
    await writeFile(harness.at('a.tar.gz'), archive);
    const data = [{ url: pathToFileURL(harness.at('a.tar.gz')).href }];
    const agent = harness.start(await harness.order({ data, train: { command: 'sleep 1000' } }));
    await agent.untilPhase('unpacking');
    assertEnded(harness, kind, await stop(agent));
  });

  test(`${signal} while training gives the training time to save, and keeps what it saved`, async (t) => {
    const harness = await AgentHarness.open(t);
    const command =
      'trap "echo saved > ckpt/state; exit 0" TERM; echo ready; while :; do sleep 1000 & wait; done';
    const agent = harness.start(await harness.order({ train: { command, checkpoint: 'ckpt' } }));
    await agent.untilOut('ready');
    assertEnded(harness, kind, await stop(agent));
    assert.equal(harness.entries('training-ended')[0]?.status, 0);
    assert.deepEqual(harness.checkpoint(), { state: 'saved\n' });
  });
}

test('SIGTERM while results are returned: all of them arrive', async (t) => {
  const harness = await AgentHarness.open(t);
  const command = 'head -c 50000000 /dev/zero > model.pt; echo done > last';
  const agent = harness.start(await harness.order({ train: { command, outputs: ['model.pt', 'last'] } }));
  await agent.untilPhase('returning');
  agent.child.kill('SIGTERM');
  const { exit } = await agent.finished;
  // A finished result has ten seconds to be returned: it is not thrown away.
  assert.equal(exit, 0);
  assert.equal(harness.result('last'), 'done\n');
  assert.equal(harness.entries('output').length, 2);
  assert.deepEqual(harness.leftovers(), []);
});

test('a second signal ends a training that ignores the first', async (t) => {
  const harness = await AgentHarness.open(t);
  const command = 'trap "echo heard" TERM; echo ready $$; while :; do sleep 0.1; done';
  const agent = harness.start(await harness.order({ train: { command } }));
  await agent.untilOut('ready');
  agent.child.kill('SIGTERM');
  await agent.untilOut('heard');
  agent.child.kill('SIGTERM');
  const { exit } = await agent.finished;
  assertEnded(harness, 'evicted', exit);
  assert.equal(harness.entries('training-ended')[0]?.signal, 'SIGKILL');
  const [started] = harness.entries('training-started');
  assert.equal(identifyProcess(started?.pid ?? 0), undefined);
});

test('a scheduler and its script that both ask leave the training its time', async (t) => {
  const harness = await AgentHarness.open(t);
  const save = 'echo "heard" ; sleep 0.5; echo saved > ckpt/state; exit 0';
  const command = `trap '${save}' TERM; echo ready; while :; do sleep 0.1; done`;
  const agent = harness.start(await harness.order({ train: { command, checkpoint: 'ckpt' } }));
  await agent.untilOut('ready');
  agent.child.kill('SIGUSR2');
  await agent.untilOut('heard');
  agent.child.kill('SIGTERM');
  agent.child.kill('SIGUSR2');
  assertEnded(harness, 'evicted', (await agent.finished).exit);
  assert.deepEqual(harness.checkpoint(), { state: 'saved\n' });
});

test('a program within a longer shell command also has time to save', async (t) => {
  const harness = await AgentHarness.open(t);
  const program =
    'trap "sleep 0.3; echo saved > ckpt/state; exit 0" TERM; echo ready; while :; do sleep 1000 & wait; done';
  const command = `true; sh -c '${program}'; true`;
  const agent = harness.start(await harness.order({ train: { command, checkpoint: 'ckpt' } }));
  await agent.untilOut('ready');
  agent.child.kill('SIGTERM');
  assertEnded(harness, 'evicted', (await agent.finished).exit);
  assert.deepEqual(harness.checkpoint(), { state: 'saved\n' });
});
