import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { OrderedData } from '../../src/job/job.ts';
import { ObjectHarness } from '../objects/object-harness.ts';
import { AgentHarness } from './agent-harness.ts';

/** Two classes of larger and odd files, so that both are spread over several shards. */
const files: Record<string, string> = { 'dog/ü\n1.jpg': 'odd', 'cat/empty': '' };
for (const folder of ['cat', 'dog'])
  for (const name of ['1', '2', '3', '4']) files[`${folder}/${name}.bin`] = `${folder}${name}`.repeat(90_000);

const list = `find data -type f -print0 | sort -z | xargs -0 sha256sum -z | tr '\\0' '\\n' > model.pt; test -d data/nothing`;

/** A staged data set, and the only table that `stage` prints for it, as the agent gets it. */
async function staged(
  t: TestContext,
  ...more: string[]
): Promise<{ objects: ObjectHarness; agent: AgentHarness; data: OrderedData; env: NodeJS.ProcessEnv }> {
  const objects = await ObjectHarness.open(t);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(objects.at(`set/${name}`)), { recursive: true });
    await writeFile(objects.at(`set/${name}`), content);
  }
  await mkdir(objects.at('set/nothing'));
  const env = await objects.tokenEnv({ namespace: '/inbox' });
  const words = ['stage', 'set', 'osdf:///inbox/sets', '--shard-size', '1MB', ...more];
  const { exit, out, err } = await objects.updraft(words, { env });
  assert.equal(exit, 0, err);
  const job = `name = "x"\n[train]\ncommand = "true"\noutputs = ["m"]\n${out}`;
  await writeFile(objects.at('updraft.toml'), job);
  const { data } = await loadPlan(objects.at('updraft.toml'));
  const [only, ...others] = data;
  assert.ok(only !== undefined && others.length === 0, out);
  const tokenFile = env['BEARER_TOKEN_FILE'] ?? '';
  const agent = await AgentHarness.open(t);
  return {
    objects,
    agent,
    data: { ...only, tokenFile },
    env: { ...objects.env, ...env },
  };
}

/** What the same command finds in the folder that was staged. */
const source = ({ cwd }: ObjectHarness): string => {
  const found = spawnSync(
    'sh',
    ['-c', `ln -sfn set data; ${list.replace('find data', 'find data/')}; cat model.pt`],
    {
      cwd,
      encoding: 'utf8',
    },
  );
  return found.stdout.replaceAll('data//', 'data/');
};

test('a staged data set is one table, and its shards become one folder', async (t) => {
  const { objects, agent, data, env } = await staged(t);
  const run = (attempt: number, changes: Partial<OrderedData> = {}, command = list) =>
    agent.run({ attempt, data: [{ ...data, ...changes }], train: { command } }, undefined, env);
  const expected = source(objects);

  await t.test('like the source, which the journal sees as one object', async () => {
    const { exit, stderr } = await run(1);
    assert.equal(exit, 0, stderr);
    assert.equal(agent.result('model.pt'), expected);
    const [fetched, ...others] = agent.entries('fetched');
    assert.equal(others.length, 0);
    assert.deepEqual([fetched?.bytes, fetched?.verified], [data.expect.bytes, 'manifest']);
    assert.equal(agent.entries('unpacked')[0]?.files, Object.keys(files).length);
    assert.deepEqual(agent.leftovers(), []);
  });

  await t.test('in which files appear while the training runs', async () => {
    const command = `while test -e data/.arriving; do sleep 0.05; done; ${list}`;
    const { exit, stderr } = await run(2, { arriving: true }, command);
    assert.equal(exit, 0, stderr);
    assert.equal(agent.result('model.pt'), expected);
  });

  await t.test('unless they have other files than expected', async () => {
    const { exit } = await run(3, { expect: { files: 3 } });
    assert.equal(exit, 89);
    assert.match(agent.entries('fault', 3)[0]?.fault.message ?? '', /its shards have 10 files/);
    assert.equal(agent.entries('fetched', 3).length, 0);
  });

  await t.test('of which an agent that is killed while it unpacks leaves nothing', async () => {
    await objects.trouble('cache-1: stall after 300kB on *.tar', 'cache-2: stall after 300kB on *.tar');
    const order = await agent.order({ attempt: 4, data: [data], train: { command: list } });
    const running = agent.start(order, undefined, env);
    await running.until((entries) => entries.some(({ kind }) => kind === 'fetch-progress'));
    running.child.kill('SIGKILL');
    await running.finished;
    const work = readdirSync(agent.at('scratch')).map((name) =>
      agent.at(path.join('scratch', name, 'work', 'data')),
    );
    assert.deepEqual(work.filter(existsSync), [], 'no part of it is where the training would look');
    await objects.federation.trouble.clear();
    const { exit, stderr } = await run(5);
    assert.equal(exit, 0, stderr);
    assert.equal(agent.result('model.pt'), expected);
  });

  await t.test('and a damaged copy of one is named, and fetched from another cache', async () => {
    await objects.trouble('cache-1: corrupt on *-0001-*.tar');
    const { exit, stderr } = await run(6, {
      caches: [new URL(objects.federation.caches[0]?.url ?? '').host],
    });
    assert.equal(exit, 0, stderr);
    const setbacks = agent.entries('fetch-setback', 6).map(({ fault }) => fault.about ?? '');
    assert.ok(setbacks.length > 0 && setbacks.every((about) => about.includes('set-0001-')), setbacks.join());
  });
});

test('a shard that is damaged everywhere is named, and nothing of the data appears', async (t) => {
  const { objects, agent, data, env } = await staged(t, '--manifests', 'proofs');
  const names = readdirSync(objects.published('inbox/sets'));
  const [, damaged = ''] = names.filter((name) => name.endsWith('.tar'));
  const file = objects.published(`inbox/sets/${damaged}`);
  const bytes = await readFile(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await writeFile(file, bytes);
  await mkdir(agent.at('files/proofs'), { recursive: true });
  await writeFile(agent.at(`files/${data.manifest ?? ''}`), await readFile(objects.at(data.manifest ?? '')));
  const { exit } = await agent.run({ data: [data], train: { command: list } }, undefined, env);
  assert.equal(exit, 89);
  const [fault] = agent.entries('fault');
  assert.ok(fault?.fault.message.includes(damaged), fault?.fault.message);
  assert.ok(!existsSync(agent.at('results/0000')));
  assert.deepEqual(agent.leftovers(), []);
});
