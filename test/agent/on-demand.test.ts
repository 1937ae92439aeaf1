import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { OrderedData } from '../../src/job/job.ts';
import { ObjectHarness } from '../objects/object-harness.ts';
import { AgentHarness } from './agent-harness.ts';

const shards = 9;

/** A reader of two epochs that speaks with the agent as `updraft.Stream` does: blocks of one shard, one process. */
const reader = `
import json, os, sys, tarfile, time
folder, epochs = "data", int(sys.argv[1])
def write(name, value):
    with open(f"{folder}/.stream/{name}.new", "w") as file:
        json.dump(value, file)
    os.rename(f"{folder}/.stream/{name}.new", f"{folder}/.stream/{name}")
listed = json.load(open(f"{folder}/.stream/list.json"))
shards, keep = listed["shards"], listed["keep"]
orders = [sorted(range(len(shards)), key=lambda shard: (shard * 5 + epoch * 3) % 11) for epoch in range(epochs + 1)]
seen, most = [], 0
for epoch in range(epochs):
    write("wanted.json", {"format": 1, "epoch": epoch, "order": orders[epoch] + orders[epoch + 1], "block": 1})
    waited = 0
    for position, shard in enumerate(orders[epoch]):
        place = f"{folder}/{shards[shard]['name']}"
        write("at/1.json", {"epoch": epoch, "position": position, "waited": waited, "pid": os.getpid()})
        began = time.monotonic()
        while not os.path.exists(place):
            time.sleep(0.01)
        waited += time.monotonic() - began
        samples = set()
        for member in tarfile.open(place):
            if member.isfile():
                samples.add(member.name.split(".")[0])
        assert len(samples) == shards[shard]["samples"], (place, samples)
        seen += sorted(samples)
        there = [entry.stat().st_size for entry in os.scandir(folder) if entry.name.endswith(".tar")]
        most = max(most, sum(there))
    write("at/1.json", {"epoch": epoch, "position": len(shards), "waited": waited + 1, "pid": os.getpid()})
    time.sleep(0.2)
    os.remove(f"{folder}/.stream/at/1.json")
open("model.pt", "w").write(json.dumps({"seen": seen, "most": most, "keep": keep}))
`;

/** A staged data set of about 9 MB in nine shards; a sample is two files. */
async function staged(t: TestContext): Promise<{
  objects: ObjectHarness;
  agent: AgentHarness;
  data: OrderedData;
  env: NodeJS.ProcessEnv;
}> {
  const objects = await ObjectHarness.open(t);
  await mkdir(objects.at('set'));
  for (let sample = 0; sample < 2 * shards; sample++) {
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
  await writeFile(agent.at('files/reader.py'), reader);
  const tokenFile = env['BEARER_TOKEN_FILE'] ?? '';
  return { objects, agent, data: { ...data, tokenFile }, env: { ...objects.env, ...env } };
}

test('a data set three times its budget is trained on for two epochs', async (t) => {
  const { agent, data, env } = await staged(t);
  const command = 'python3 reader.py 2';
  const { exit, stderr } = await agent.run(
    { data: [data], train: { command, files: ['reader.py'] } },
    undefined,
    env,
  );
  assert.equal(exit, 0, stderr);
  const { seen, most, keep } = JSON.parse(agent.result('model.pt')) as {
    seen: string[];
    most: number;
    keep: number;
  };
  const all = Array.from({ length: 2 * shards }, (_, sample) => String(sample)).sort();
  assert.deepEqual(seen.slice(0, 2 * shards).sort(), all);
  assert.deepEqual(seen.slice(2 * shards).sort(), all);
  assert.ok(most <= keep, `${most} bytes of ${keep}`);
  const [fetched] = agent.entries('fetched');
  assert.ok(fetched?.verified === 'manifest');
  assert.ok(fetched.bytes >= (data.expect.bytes ?? 0));
  assert.deepEqual(agent.leftovers(), []);
});
