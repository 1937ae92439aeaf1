import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { OrderedData } from '../../src/job/job.ts';
import { ObjectHarness } from '../objects/object-harness.ts';
import { AgentHarness, defaultCommand } from './agent-harness.ts';

const shards = 9;
const samples = 2 * shards;
const epochs = 2;
const shardBytes = 1_000_000;

/** Reads all samples of two epochs, saves its place when it is asked to, and writes what it saw. */
const training = `
import json, os, signal, sys, updraft
saved, asked = os.path.join(os.environ["UPDRAFT_CHECKPOINT"], "state.json"), []
signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
stream, seen, most = updraft.Stream("data", seed=3), [], 0
if os.path.exists(saved):
    state = json.load(open(saved))
    stream.load_state_dict(state["stream"])
    seen = state["seen"]
for epoch in range(stream.state_dict()["epoch"], ${epochs}):
    stream.set_epoch(epoch)
    for sample in stream:
        seen.append(sample["__key__"])
        assert sample["cls"].decode() == sample["__key__"]
        most = max(most, sum(one.stat().st_size for one in os.scandir("data") if one.name.endswith(".tar")))
        if len(sys.argv) > 1 and len(seen) == int(sys.argv[1]):
            print("here", flush=True)
            while not asked and "exit" not in sys.argv:
                signal.pause()
            with open(saved + ".new", "w") as file:
                json.dump({"seen": seen, "stream": stream.state_dict()}, file)
            os.rename(saved + ".new", saved)
            sys.exit(85)
json.dump({"seen": seen, "most": most}, open("model.pt", "w"))
`;

interface Staged {
  objects: ObjectHarness;
  agent: AgentHarness;
  /** Nine shards of one megabyte, of which three may be on disk; a sample is two files. */
  data: OrderedData;
  env: NodeJS.ProcessEnv;
}

async function staged(t: TestContext): Promise<Staged> {
  const objects = await ObjectHarness.open(t);
  await mkdir(objects.at('set'));
  for (let sample = 0; sample < samples; sample++) {
    await writeFile(objects.at(`set/${sample}.jpg`), Buffer.alloc(480_000, sample));
    await writeFile(objects.at(`set/${sample}.cls`), String(sample));
  }
  const env = await objects.tokenEnv({ namespace: '/inbox' });
  const words = ['stage', 'set', 'osdf:///inbox/sets', '--shard-size', '1MB', '--shuffle'];
  const { exit, out, err } = await objects.updraft(words, { env });
  assert.equal(exit, 0, err);
  const job = `name = "x"\n[train]\ncommand = "true"\noutputs = ["m"]\n${out}method = "on-demand"\nkeep = "3 MB"\n`;
  await writeFile(objects.at('updraft.toml'), job);
  const [data] = (await loadPlan(objects.at('updraft.toml'))).data;
  assert.ok(data !== undefined);
  const agent = await AgentHarness.open(t);
  const tokenFile = env['BEARER_TOKEN_FILE'] ?? '';
  return { objects, agent, data: { ...data, tokenFile }, env: { ...objects.env, ...env } };
}

/** Every sample came once in each epoch, from shards within the budget. */
function assertWhole(agent: AgentHarness): void {
  const { seen, most } = JSON.parse(agent.result('model.pt')) as { seen: string[]; most: number };
  const all = Array.from({ length: samples }, (_, sample) => String(sample)).sort();
  for (let epoch = 0; epoch < epochs; epoch++)
    assert.deepEqual(seen.slice(epoch * samples, (epoch + 1) * samples).sort(), all);
  assert.equal(seen.length, epochs * samples);
  assert.ok(most <= 3 * shardBytes, `${most} bytes`);
}

test('a data set three times its budget is trained on', async (t) => {
  const { objects, agent, data, env } = await staged(t);
  const change = (attempt: number, changes: Partial<OrderedData> = {}, stopAt = '') => ({
    attempt,
    files: { 'train.py': training },
    train: { command: `python3 train.py ${stopAt}`, checkpoint: `checkpoint-${changes.name ?? ''}` },
    data: [{ ...data, ...changes }],
  });

  await t.test('although one cache damages a shard and stalls at another', async () => {
    await objects.trouble('cache-1: corrupt on *-0001-*.tar', 'cache-1: stall after 300kB on *-0002-*.tar');
    const [first] = objects.federation.caches;
    const preferred = { caches: [new URL(first?.url ?? '').host] };
    const { exit, stderr } = await agent.run(change(1, preferred), undefined, {
      ...env,
      UPDRAFT_STALL_SECONDS: '3',
    });
    await objects.federation.trouble.clear();
    assert.equal(exit, 0, stderr);
    assertWhole(agent);
    const [fetched, ...others] = agent.entries('fetched');
    assert.ok(fetched !== undefined && others.length === 0, 'the journal sees one object');
    assert.equal(fetched.verified, 'manifest');
    const setbacks = agent.entries('fetch-setback').map(({ fault }) => fault.kind);
    assert.deepEqual([...new Set(setbacks)].sort(), ['data-corrupt', 'transfer-stalled']);
    assert.ok(
      (agent.entries('progress').at(-1)?.waited ?? 0) > 0,
      'its wait for the stalled shard is recorded',
    );
    assert.deepEqual(agent.leftovers(), []);
  });

  await t.test(
    'by an attempt that is evicted, and one that resumes elsewhere at the next sample',
    async () => {
      const running = agent.start(await agent.order(change(2, {}, '23')), undefined, env);
      await running.untilOut('here');
      running.child.kill('SIGTERM');
      assert.equal((await running.finished).exit, 113);
      const { exit, stderr } = await agent.run(change(3), undefined, env);
      assert.equal(exit, 0, stderr);
      assertWhole(agent);
    },
  );

  await t.test('a training that must end keeps only the shards it uses', async () => {
    const waiting = `
import os, signal, sys, time, updraft
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
stream = updraft.Stream("data", seed=3, block=1)
for count, sample in enumerate(stream):
    if count == 5:
        print("here", flush=True)
        while not asked or len([name for name in os.listdir("data") if name.endswith(".tar")]) > 2:
            time.sleep(0.01)
        sys.exit("removed")
`;
    const job = { ...change(8, { name: 'ending', keepBytes: 20e6 }), files: { 'train.py': waiting } };
    const running = agent.start(await agent.order(job), undefined, env);
    await running.untilOut('here');
    running.child.kill('SIGTERM');
    assert.equal((await running.finished).exit, 113);
    assert.match(await readFile(agent.at('job/attempt-8/err.log'), 'utf8'), /removed/);
  });

  await t.test('in a sandbox that keeps its shards while the pool takes the checkpoint', async () => {
    const sandbox = agent.at('sandbox');
    await mkdir(`${sandbox}/files`, { recursive: true });
    await writeFile(`${sandbox}/files/train.py`, training);
    const order = await agent.order(change(7, { name: 'paused' }, '5 exit'));
    const start = (): Promise<number | null> => {
      const [program = '', ...args] = defaultCommand;
      const child = spawn(program, [...args, 'sandbox', order], {
        cwd: sandbox,
        env: { ...process.env, ...env },
      });
      return new Promise((resolve) => child.on('close', resolve));
    };
    assert.equal(await start(), 85);
    assert.equal(await start(), 0);
    const { seen } = JSON.parse(await readFile(`${sandbox}/results/0000/model.pt`, 'utf8')) as {
      seen: string[];
    };
    assert.equal(seen.length, epochs * samples);
    assert.equal(new Set(seen).size, samples);
  });

  await t.test('of numbered tars without a list, too', async () => {
    const published = readdirSync(objects.published('inbox/sets')).filter((name) => name.endsWith('.tar'));
    for (const [index, name] of published.sort().entries())
      await copyFile(objects.published(`inbox/sets/${name}`), objects.published(`inbox/sets/n-${index}.tar`));
    const url = `osdf:///inbox/sets/n-{0..${shards - 1}}.tar`;
    const { sha256, ...unlisted } = data;
    assert.ok(sha256 !== undefined);
    const range = { ...unlisted, url, expect: {} };
    const { exit, stderr } = await agent.run(
      { ...change(4, { name: 'numbered' }), data: [range] },
      undefined,
      env,
    );
    assert.equal(exit, 0, stderr);
    assertWhole(agent);
    const rules = async (last: number, keep: string): Promise<string[]> => {
      const lines = ['method = "on-demand"', `keep = "${keep}"`, `token_file = "${data.tokenFile ?? ''}"`];
      const table = `[data.d]\nurl = "osdf:///inbox/sets/n-{0..${last}}.tar"\n${lines.join('\n')}\n`;
      await writeFile(
        objects.at('updraft.toml'),
        `name = "x"\n[train]\ncommand = "true"\noutputs = ["m"]\n${table}`,
      );
      const { out } = await objects.updraft(['check', '--json'], { env: { ...objects.env, ...env } });
      return (JSON.parse(out) as { findings: { rule: string }[] }).findings.map(({ rule }) => rule);
    };
    const about = ['object-unusable', 'keep-too-small', 'unproven', 'object-missing'];
    const named = async (last: number, keep: string): Promise<string[]> =>
      (await rules(last, keep)).filter((rule) => about.includes(rule)).sort();
    assert.deepEqual(await named(shards - 1, '3 MB'), []);
    assert.deepEqual(await named(shards, '1.5 MB'), ['keep-too-small', 'object-unusable']);
  });

  await t.test('unless a shard is missing, or the budget does not hold two', async () => {
    await objects.trouble('all: 404 on *-0004-*.tar');
    assert.equal((await agent.run(change(5, { name: 'missing' }), undefined, env)).exit, 96);
    assert.match(agent.entries('fault', 5)[0]?.fault.message ?? '', /set-0004-/);
    await objects.federation.trouble.clear();
    assert.equal((await agent.run(change(6, { keepBytes: 1_500_000 }), undefined, env)).exit, 89);
    assert.match(agent.entries('fault', 6)[0]?.fault.message ?? '', /keep = "1.5 MB" is too small/);
  });
});
