import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '../../src/base/clock.ts';
import type { Env } from '../../src/base/env.ts';
import { planText } from '../../src/cli/submit/plan-text.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { startFederation } from '../../src/mini/federation/federation.ts';
import { earlierInterruptions } from '../../src/run/earlier-interruptions.ts';
import { makeTarGz } from '../agent/tar.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { condorHarness, onlyJob, result } from './condor-harness.ts';
import { federationEnv } from './published-cifar.ts';

const jobFile = (jobs: number, more = ''): string => `
name = "evicted"
[train]
command = "python3 train.py"
files = ["train.py"]
outputs = ["lines.json"]
checkpoint = "checkpoints"
${more}
[data.set]
url = "osdf:///public/set-{0..9}.tar"
method = "on-demand"
keep = "40 kB"
into = "data"
[run]
pool = "condor"
jobs = ${jobs}
`;

/** Ten shards of five samples, of which a few fit on the disk at a time. */
async function published(t: TestContext): Promise<Env> {
  const folder = await temporaryFolder(t);
  for (let shard = 0; shard < 10; shard++) {
    const samples = [0, 1, 2, 3, 4].map((sample) => [`${5 * shard + sample}.txt`, ' '.repeat(1000)] as const);
    writeFileSync(path.join(folder, `set-${shard}.tar`), gunzipSync(makeTarGz(Object.fromEntries(samples))));
  }
  const federation = await startFederation({ namespaces: [{ prefix: '/public', folder, public: true }] });
  t.after(() => federation[Symbol.asyncDispose]());
  return federationEnv(federation);
}

/** Learns by hand, so that no framework has to be loaded. The first job waits where it is interrupted. */
const training = (place: string): string => `
import json, os, random, time
import updraft

class Model:
    weight, lines = 0.0, []
    def state_dict(self):
        return {"weight": self.weight, "lines": list(self.lines)}
    def load_state_dict(self, state):
        self.weight, self.lines = state["weight"], list(state["lines"])

def wait_at(name):
    if not os.path.exists(f"${place}/{name}"):
        open(f"${place}/{name}", "w").close()
        while not run._attempt.is_asked_to_leave:
            time.sleep(0.05)

random.seed(1)
model = Model()
stream = updraft.Stream("data", transform=lambda sample: int(sample["__key__"])).prefetch()
with updraft.training(model=model, every=0) as run:
    for epoch in run.epochs(3):
        for sample in run.batches(stream):
            error = (model.weight - 2) * sample / 50 + random.gauss(0, 0.1)
            model.weight -= 0.1 * error * sample / 50
            model.lines.append([epoch, sample, error])
            run.log(loss=error * error)
            if os.environ["UPDRAFT_JOB"] == "0000" and (epoch, run.batch) in [(0, 13), (0, 30), (1, 13)]:
                wait_at(f"{epoch}-{run.batch}")
json.dump(model.lines, open("lines.json", "w"))
`;

test('a training that is evicted twice and killed once sees the samples and losses of an undisturbed one', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': jobFile(2) }, { env: await published(t) });
  if (harness === undefined) return;
  const { here, onWorker } = await harness.meetingPlace();
  await writeFile(path.join(harness.folder, 'train.py'), training(onWorker));
  const run = await harness.submit();
  const interrupt = async (name: string, ...how: string[]): Promise<void> => {
    while (!(await isThere(path.join(here, name)))) await systemClock.sleep(50);
    const constraint = `UpdraftRun == "${path.basename(run)}" && UpdraftJob == "0000"`;
    await harness.tool('condor_vacate_job', ...how, '-constraint', constraint);
  };
  await interrupt('0-13');
  await interrupt('0-30');
  await interrupt('1-13', '-fast');
  const ended = await harness.finish(run);
  assert.deepEqual(
    ended.jobs.map(({ outcome, attempts }) => [outcome, attempts.map((attempt) => attempt.outcome)]),
    [
      ['success', ['evicted', 'evicted', 'evicted', 'success']],
      ['success', ['success']],
    ],
  );
  const plan = await loadPlan(harness.folder, { cwd: harness.folder });
  const interruptions = await earlierInterruptions(plan);
  assert.deepEqual([interruptions.interrupted, interruptions.attempts], [3, 5]);
  assert.match(
    planText(plan, [], { interruptions }),
    /interrupted once in .+ so far \(3 of 5 attempts in runs\/\)/,
  );
  const lines = await result(run, 'lines.json');
  assert.equal(lines, await result(run, 'lines.json', '0001'));
  const samples = (JSON.parse(lines) as [number, number, number][]).map(
    ([epoch, sample]) => 50 * epoch + sample,
  );
  assert.deepEqual(
    samples.toSorted((a, b) => a - b),
    Array.from({ length: 150 }, (_, place) => place),
  );
  await t.test('and so does one that `checkpoint_every` asks to leave', async () => {
    const again = await harness.meetingPlace();
    await writeFile(path.join(harness.folder, 'train.py'), training(again.onWorker));
    await writeFile(path.join(harness.folder, 'updraft.toml'), jobFile(1, 'checkpoint_every = "1s"'));
    const asked = await harness.submit();
    assert.equal(onlyJob(await harness.finish(asked)).outcome, 'success');
    assert.equal(await result(asked, 'lines.json'), lines);
  });
});

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
