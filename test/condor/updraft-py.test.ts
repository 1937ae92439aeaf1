import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Env, isThere, systemClock } from '@updraft/base';
import { documentText } from '@updraft/view/document';
import { planPage } from '../../src/cli/submit/plan-text.ts';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { AttemptState, FaultRecord } from '@updraft/account/journal';
import { startFederation } from '@updraft/mini/federation';
import { earlierInterruptions } from '../../src/run/submit-run.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { makeTarGz } from '../agent/tar.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type CondorHarness, condorHarness, onlyJob, result } from './condor-harness.ts';
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
stream = updraft.Stream("data", transform=lambda sample: int(sample["__key__"]))
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
  await interrupt(harness, run, path.join(here, '0-13'));
  await interrupt(harness, run, path.join(here, '0-30'));
  await interrupt(harness, run, path.join(here, '1-13'), '-fast');
  const ended = await harness.finish(run);
  assert.deepEqual(
    ended.jobs.map(({ outcome, attempts }) => [outcome, attempts.map((attempt) => attempt.ending)]),
    [
      ['success', ['evicted', 'evicted', 'evicted', 'success']],
      ['success', ['success']],
    ],
  );
  const plan = await loadPlan(harness.folder, { cwd: harness.folder });
  const interruptions = await earlierInterruptions(plan);
  assert.deepEqual([interruptions.interrupted, interruptions.attempts], [3, 5]);
  assert.match(
    documentText(planPage(plan, [], { interruptions }), Infinity),
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

/** Samples whose noise and losses draw from every generator. Each batch is written where the test reads it. */
const common = (packages: string, place: string): string => `
import json, os, random, sys, time
# Last, so that the worker's own torch is used.
sys.path.append("${packages}")
import numpy, torch
import updraft

torch.set_num_threads(1)
torch.manual_seed(1)
numpy.random.seed(1)
random.seed(1)
job = os.environ["UPDRAFT_JOB"]

class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, index):
        noise = random.random() + numpy.random.rand() + torch.rand(8)
        return {"index": index, "image": torch.full((8,), index / 32) + 0.1 * noise}

def network():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1))

def loss_of(network, index, image):
    return (network(image).squeeze(1) - index / 32).pow(2).mean()

def record(step, index, loss):
    with open(f"${place}/{job}.jsonl", "a") as file:
        print(json.dumps([step, index.tolist(), loss.item()]), file=file)

def wait_at(step):
    if job == "0000" and step in (3, 13) and not os.path.exists(f"${place}/{step}"):
        open(f"${place}/{step}", "w").close()
        while not saving._attempt.is_asked_to_leave:
            time.sleep(0.05)

def end(model, *modules):
    versions = {module.__name__: module.__version__ for module in (torch, *modules)}
    json.dump({"versions": versions, "weights": [one.tolist() for one in model.parameters()]}, open("end.json", "w"))
`;

const withLightning = `
import lightning
from lightning.pytorch import LightningModule, Trainer

class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.network = network()
    def training_step(self, batch, batch_idx):
        loss = loss_of(self.network, **batch)
        record(self.global_step, batch["index"], loss)
        return loss
    def on_train_batch_end(self, *_):
        wait_at(self.global_step)
    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]

saving = updraft.LightningCheckpoint()
model = Model()
trainer = Trainer(max_epochs=3, callbacks=[saving], accelerator="cpu", logger=False, enable_checkpointing=False)
loader = torch.utils.data.DataLoader(Samples(), batch_size=4, shuffle=True)
trainer.fit(model, loader, ckpt_path=saving.last)
end(model, lightning)
`;

const withTrainer = `
import accelerate, transformers
from transformers import Trainer, TrainerCallback, TrainingArguments

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = network()
    def forward(self, index, image):
        return {"loss": loss_of(self.network, index, image)}

class Recorded(Trainer):
    def compute_loss(self, model, inputs, *more, **options):
        loss = super().compute_loss(model, inputs, *more, **options)
        record(self.state.global_step, inputs["index"], loss)
        return loss

class Wait(TrainerCallback):
    def on_step_begin(self, args, state, control, **more):
        wait_at(state.global_step)

saving = updraft.TrainerCheckpoint()
model = Model()
args = TrainingArguments(
    "out", num_train_epochs=3, per_device_train_batch_size=4, learning_rate=0.01, seed=7, use_cpu=True,
    save_strategy="no", report_to=[], remove_unused_columns=False,
)
trainer = Recorded(model, args, train_dataset=Samples(), callbacks=[saving, Wait()])
trainer.train(resume_from_checkpoint=saving.last)
end(model, transformers, accelerate)
`;

const frameworkJob = `
name = "framework"
[train]
command = "python3 train.py"
files = ["train.py"]
outputs = ["end.json"]
checkpoint = "checkpoints"
[resources]
memory = "2 GB"
[run]
pool = "condor"
jobs = 2
`;

const packages = process.env['UPDRAFT_TEST_PACKAGES'];
const skip =
  packages === undefined &&
  'UPDRAFT_TEST_PACKAGES is not set: pip install --target DIR lightning transformers accelerate (CONTRIBUTING.md)';

test(
  'trainings with Lightning and the Trainer that are evicted twice equal undisturbed ones',
  { skip },
  async (t) => {
    const harness = await condorHarness(t, { 'updraft.toml': frameworkJob });
    if (harness === undefined) return;
    const there = await harness.meetingPlace();
    t.after(() => rm(there.here, { recursive: true }));
    await cp(packages!, there.here, { recursive: true });
    for (const [name, script] of Object.entries({ Lightning: withLightning, Trainer: withTrainer }))
      await t.test(name, async (t) => {
        const { here, onWorker } = await harness.meetingPlace();
        await writeFile(path.join(harness.folder, 'train.py'), common(there.onWorker, onWorker) + script);
        const run = await harness.submit();
        await interrupt(harness, run, path.join(here, '3'));
        await interrupt(harness, run, path.join(here, '13'));
        const { jobs } = await harness.finish(run);
        assert.deepEqual(
          jobs.map(({ outcome }) => outcome),
          ['success', 'success'],
        );
        const evicted = jobs[0]!.attempts.filter(({ ending }) => ending === 'evicted');
        assert.ok(evicted.length >= 2, `${evicted.length} attempts were evicted`);
        const end = await result(run, 'end.json');
        assert.equal(end, await result(run, 'end.json', '0001'));
        // As written, in order: no batch is lost, and none is trained on again.
        const lines = await readFile(path.join(here, '0000.jsonl'), 'utf8');
        assert.equal(lines, await readFile(path.join(here, '0001.jsonl'), 'utf8'));
        const batches = lines
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as [step: number, indices: number[], loss: number]);
        assert.equal(batches.length, 24);
        for (const epoch of [0, 1, 2]) {
          const samples = batches.slice(8 * epoch, 8 * epoch + 8).flatMap(([, indices]) => indices);
          assert.deepEqual(
            samples.toSorted((a, b) => a - b),
            Array.from({ length: 32 }, (_, place) => place),
          );
        }
        const { versions } = JSON.parse(end) as { versions: Record<string, string> };
        t.diagnostic(`${evicted.length} evictions, ${batches.length} batches: ${JSON.stringify(versions)}`);
      });
  },
);

/** Evicts the first job when a file says that it waits for that; throws its output if it ends before. */
async function interrupt(harness: CondorHarness, run: string, file: string, ...how: string[]): Promise<void> {
  while (!(await isThere(file))) {
    const { attempts, held } = onlyJob(await readRunState(run));
    const ended = attempts.find(({ ending }) => ending !== 'running' && ending !== 'evicted');
    if (ended !== undefined || held !== undefined)
      assert.fail(`${file} is not there: ${await whatHappened(run, attempts.at(-1), held)}`);
    await systemClock.sleep(250);
  }
  const constraint = `UpdraftRun == "${path.basename(run)}" && UpdraftJob == "0000"`;
  await harness.tool('condor_vacate_job', ...how, '-constraint', constraint);
}

/** The faults of a job that ended early, and the end of its output. */
async function whatHappened(
  run: string,
  last: AttemptState | undefined,
  held?: FaultRecord,
): Promise<string> {
  const folder = attemptFolder(run, '0000', last?.number ?? 1);
  const output = [attemptFiles.log, attemptFiles.out, attemptFiles.err].map((name) =>
    readFile(path.join(folder, name), 'utf8').catch(() => ''),
  );
  const said = (await Promise.all(output)).map((text) => text.slice(-4000)).join('');
  return `${last?.ending ?? 'held'} ${JSON.stringify(last?.fault ?? held ?? {})}\n${said}`;
}
