import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { identifyProcess } from '../../src/base/process-identity.ts';
import { AgentBench, type RunningAgent } from './agent-bench.ts';
import { serveBytes } from './byte-server.ts';
import { makeTarGz } from './tar.ts';

const archive = makeTarGz({ 'a.bin': Buffer.alloc(1 << 20, 'x') });

/** Nothing is left, and the journal says how it ended. */
function assertEnded(bench: AgentBench, kind: 'evicted' | 'interrupted', exit: number | null): void {
  assert.equal(exit, kind === 'evicted' ? 113 : 5);
  assert.equal(bench.entries('fault').at(-1)?.fault.kind, kind);
  assert.deepEqual(bench.lastKinds(3), ['agent-ended', 'phase', 'cleaned'], 'handed over, then cleaned up');
  assert.equal(bench.entries('agent-ended')[0]?.outcome, kind === 'evicted' ? 'evicted' : 'stopped');
  assert.equal(existsSync(bench.at('results/0000')), false);
  assert.deepEqual(bench.leftovers(), []);
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
    const bench = await AgentBench.open(t);
    const { url, begun } = await serveBytes(t, archive, archive.length >> 1);
    const agent = bench.start(await bench.order({ data: [{ url: `${url}/a.tar.gz` }] }));
    await agent.before(begun);
    assertEnded(bench, kind, await stop(agent));
    assert.deepEqual(bench.entries('training-started'), []);
  });

  test(`${signal} while unpacking ends the attempt and leaves nothing`, async (t) => {
    const bench = await AgentBench.open(t);
    await writeFile(bench.at('a.tar.gz'), archive);
    const data = [{ url: pathToFileURL(bench.at('a.tar.gz')).href }];
    const agent = bench.start(await bench.order({ data, train: { command: 'sleep 1000' } }));
    await agent.untilPhase('unpacking');
    assertEnded(bench, kind, await stop(agent));
  });

  test(`${signal} while training gives the training time to save, and keeps what it saved`, async (t) => {
    const bench = await AgentBench.open(t);
    const command =
      'trap "echo saved > ckpt/state; exit 0" TERM; echo ready; while :; do sleep 1000 & wait; done';
    const agent = bench.start(await bench.order({ train: { command, checkpoint: 'ckpt' } }));
    await agent.untilOut('ready');
    assertEnded(bench, kind, await stop(agent));
    assert.equal(bench.entries('training-ended')[0]?.status, 0);
    assert.deepEqual(bench.checkpoint(), { state: 'saved\n' });
  });
}

test('SIGTERM while results are handed back: either all of them are there or none', async (t) => {
  const bench = await AgentBench.open(t);
  const command = 'head -c 50000000 /dev/zero > model.pt; echo done > last';
  const agent = bench.start(await bench.order({ train: { command, outputs: ['model.pt', 'last'] } }));
  await agent.untilPhase('returning');
  agent.child.kill('SIGTERM');
  const { exit } = await agent.finished;
  // A result that is ready has ten seconds to get home: it is not thrown away.
  assert.equal(exit, 0);
  assert.equal(bench.result('last'), 'done\n');
  assert.equal(bench.entries('output').length, 2);
  assert.deepEqual(bench.leftovers(), []);
});

test('a second signal ends a training that heeds none', async (t) => {
  const bench = await AgentBench.open(t);
  const command = 'trap "echo heard" TERM; echo ready $$; while :; do sleep 0.1; done';
  const agent = bench.start(await bench.order({ train: { command } }));
  await agent.untilOut('ready');
  agent.child.kill('SIGTERM');
  await agent.untilOut('heard');
  agent.child.kill('SIGTERM');
  const { exit } = await agent.finished;
  assertEnded(bench, 'evicted', exit);
  assert.equal(bench.entries('training-ended')[0]?.signal, 'SIGKILL');
  const [started] = bench.entries('training-started');
  assert.equal(identifyProcess(started?.pid ?? 0), undefined);
});

test('a program in a longer shell command, too, has the time to save', async (t) => {
  const bench = await AgentBench.open(t);
  const program =
    'trap "sleep 0.3; echo saved > ckpt/state; exit 0" TERM; echo ready; while :; do sleep 1000 & wait; done';
  const command = `true; sh -c '${program}'; true`;
  const agent = bench.start(await bench.order({ train: { command, checkpoint: 'ckpt' } }));
  await agent.untilOut('ready');
  agent.child.kill('SIGTERM');
  assertEnded(bench, 'evicted', (await agent.finished).exit);
  assert.deepEqual(bench.checkpoint(), { state: 'saved\n' });
});
