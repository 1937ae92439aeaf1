import assert from 'node:assert/strict';
import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { planText } from '../../src/cli/submit/plan-text.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { earlierInterruptions } from '../../src/run/earlier-interruptions.ts';
import { condorHarness, result } from './condor-harness.ts';

const jobFile = `
name = "evicted"
[train]
command = "python3 train.py"
files = ["train.py"]
outputs = ["lines.json"]
checkpoint = "checkpoints"
[run]
pool = "condor"
jobs = 2
`;

/** Learns by hand, so that no framework has to be loaded. The first job waits where the test interrupts it. */
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
with updraft.training(model=model, every=0) as run:
    for epoch in run.epochs(3):
        for sample in run.batches(random.sample(range(50), 50)):
            error = (model.weight - 2) * sample / 50 + random.gauss(0, 0.1)
            model.weight -= 0.1 * error * sample / 50
            model.lines.append([epoch, sample, error])
            run.log(loss=error * error)
            if os.environ["UPDRAFT_JOB"] == "0000" and (epoch, run.batch) in [(0, 13), (0, 30), (1, 13)]:
                wait_at(f"{epoch}-{run.batch}")
json.dump(model.lines, open("lines.json", "w"))
`;

test('a training that is evicted twice and killed once sees the samples and losses of an undisturbed one', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': jobFile });
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
});

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
