import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { tar } from '../archives/make-tar.ts';
import { AgentHarness } from './agent-harness.ts';

/** Two classes, each a tar in the tar, like ImageNet. */
const inner = (text: string): Buffer => tar({ name: '1.jpg', data: text }, { name: '2.jpg', data: text });
const archive = tar({ name: 'n01.tar', data: inner('one') }, { name: 'n02.tar', data: inner('two') });
const firstClass = 512 + inner('one').length;

/** Waits for the second class as a training would, and records what it saw first and last. */
const command = `
test -e data/.arriving || exit 3
ls data > model.pt; echo started
while test -e data/.arriving; do sleep 0.05; done
ls data >> model.pt`;
const data = { name: 'train', unpack: 'nested', arriving: true, expect: { files: 4 } } as const;

test('a training starts when the first part is there, and the rest appears while it runs', async (t) => {
  const harness = await AgentHarness.open(t);
  const server = await heldBack(t);
  const agent = harness.start(
    await harness.order({ data: [{ ...data, url: server.url }], train: { command } }),
  );
  await agent.untilOut('started');
  server.release(archive.subarray(firstClass));
  const { exit, stderr } = await agent.finished;
  assert.equal(stderr, '');
  assert.equal(exit, 0);
  assert.equal(harness.result('model.pt'), 'n01\nn01\nn02\n');
  const reported = harness.journal().map((entry) => (entry.kind === 'phase' ? entry.phase : entry.kind));
  assert.ok(reported.indexOf('training-started') < reported.indexOf('fetched'), reported.join());
  assert.deepEqual(
    harness.entries('phase').map(({ phase }) => phase),
    ['preparing', 'fetching', 'training', 'returning', 'cleaning'],
  );
  assert.deepEqual(harness.leftovers(), []);
});

test('a result is returned only when all its data is verified, even if the training needed less', async (t) => {
  const harness = await AgentHarness.open(t);
  const server = await heldBack(t);
  const train = { command: 'ls data > model.pt; echo started' };
  const agent = harness.start(await harness.order({ data: [{ ...data, url: server.url }], train }));
  await agent.until((entries) => entries.some(({ kind }) => kind === 'training-ended'));
  server.release(archive.subarray(firstClass));
  assert.equal((await agent.finished).exit, 0);
  assert.deepEqual(
    harness.entries('phase').map(({ phase }) => phase),
    ['preparing', 'fetching', 'training', 'fetching', 'returning', 'cleaning'],
  );
});

for (const [what, changes, exit, words] of [
  ['be fewer files than expected', { expect: { files: 5 } }, 106, /4 files/],
  ['have another hash', { sha256: '0'.repeat(64) }, 101, /sha-?256|hash|digest/i],
] as const)
  test(`data that turns out to ${what} ends the training that uses it`, async (t) => {
    const harness = await AgentHarness.open(t);
    const server = await heldBack(t);
    const train = { command: `${command}; sleep 60` };
    const order = await harness.order({ data: [{ ...data, ...changes, url: server.url }], train });
    const agent = harness.start(order);
    await agent.untilOut('started');
    server.release(archive.subarray(firstClass));
    const ended = await agent.finished;
    assert.equal(ended.exit, exit, ended.stderr);
    assert.match(ended.stderr, words);
    assert.equal(harness.entries('training-ended').length, 1);
    assert.deepEqual(harness.leftovers(), []);
  });

test('a training that fails ends the fetching too', async (t) => {
  const harness = await AgentHarness.open(t);
  const server = await heldBack(t);
  const train = { command: 'exit 3' };
  const { exit } = await harness.run({ data: [{ ...data, url: server.url }], train });
  assert.equal(exit, 3);
  assert.deepEqual(harness.leftovers(), []);
});

test('an object that is not an archive counts as one part', async (t) => {
  const harness = await AgentHarness.open(t);
  const server = await heldBack(t);
  const agent = harness.start(
    await harness.order({
      data: [{ name: 'train', url: server.url.replace('.tar', '.bin'), arriving: true }],
      train: { command: 'cp data/all.bin model.pt; test ! -e data/.arriving' },
    }),
  );
  await agent.untilPhase('fetching');
  server.release(archive.subarray(firstClass));
  assert.equal((await agent.finished).exit, 0);
});

/** Serves the archive up to the end of its first class, and the rest on `release`. */
async function heldBack(t: TestContext): Promise<{ url: string; release: (rest: Buffer) => void }> {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = http.createServer((request, response) => {
    response.writeHead(200, { 'Content-Length': archive.length, ETag: '"1"' });
    if (request.method === 'HEAD') return void response.end();
    response.write(archive.subarray(0, firstClass), () => asked.resolve(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/all.tar`,
    release: (rest) => void asked.promise.then((response) => response.end(rest)),
  };
}
