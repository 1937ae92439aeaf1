import assert from 'node:assert/strict';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { isThere, systemClock } from '@updraft/base';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import { readRunState } from '../../src/run/run-states.ts';
import { lossesOf, twoProcesses } from '../two-processes.ts';
import { type CondorHarness, condorHarness, result } from './condor-harness.ts';

/** Launchers of the user's own, on real workers. What they end with is theirs; rank 0's mark says that it has saved. */
interface Launcher {
  command: string;
  /** What the script does at last. */
  starts: string;
}

/** Debian's PyTorch lacks the libuv that its launchers ask for. */
const store = `
import sys
import torch.distributed

class Store(torch.distributed.TCPStore):
    def __init__(self, *some, **options):
        super().__init__(*some, **{**options, "use_libuv": False})

torch.distributed.TCPStore = sys.modules["torch.distributed.rendezvous"].TCPStore = Store
`;
const launch = `
import runpy, sys
import store

sys.argv.pop(0)
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
`;

const onWorkers: Record<string, Launcher> = {
  torchrun: {
    command: 'python3 launch.py torch.distributed.run --standalone --nproc_per_node=2 train.py',
    starts: 'import store\ntrain()',
  },
  'mp.spawn': {
    command: 'python3 train.py',
    starts: `
if __name__ == "__main__":
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(spawned, (port,), nprocs=2)
`,
  },
};

const lightning = `
import lightning
from lightning.pytorch import LightningModule, Trainer

class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.network, self.losses = network(), []
    def training_step(self, batch, batch_idx):
        images, labels = batch
        loss = (self.network(images).squeeze(1) - labels / 32).pow(2).mean()
        self.losses.append([labels.tolist(), loss.item()])
        return loss
    def on_train_batch_end(self, outputs, batch, batch_idx):
        if self.trainer.global_rank == 1:
            wait_at(saving._attempt, f"{self.trainer.current_epoch}-{batch_idx}")
    def on_save_checkpoint(self, checkpoint):
        checkpoint["losses"] = list(self.losses)
    def on_load_checkpoint(self, checkpoint):
        self.losses = checkpoint["losses"]
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01)

torch.set_num_threads(1)
torch.manual_seed(1)
saving = updraft.LightningCheckpoint()
model = Model()
trainer = Trainer(
    max_epochs=12, callbacks=[saving], accelerator="cpu", devices=2, strategy="ddp", logger=False,
    enable_checkpointing=False, enable_progress_bar=False,
)
trainer.fit(model, torch.utils.data.DataLoader(Samples(), batch_size=2, shuffle=True), ckpt_path=saving.last)
if trainer.global_rank == 0:
    json.dump({"losses": model.losses, "weights": [one.tolist() for one in model.parameters()]}, open("model.pt", "w"))
`;

const packages = process.env['UPDRAFT_TEST_PACKAGES'];
const fromPackages: Record<string, Launcher> = {
  'accelerate launch': {
    command:
      'python3 launch.py accelerate.commands.launch --multi_gpu --num_processes 2 --main_process_port 0 train.py',
    // Debian's PyTorch has MPI, which accelerate would prefer.
    starts: `
import store
from accelerate import Accelerator, InitProcessGroupKwargs
train(Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")]))
`,
  },
  'Lightning DDP': { command: 'python3 train.py', starts: lightning },
};

const jobFile = (command: string, marks: string, python = ''): string => `
name = "launched"
[train]
command = "${command}"
files = ["train.py", "launch.py", "store.py"]
outputs = ["model.pt"]
checkpoint = "checkpoints"
env = { MARKS = "${marks}", PYTHONPATH = "${python}", USE_LIBUV = "0", GLOO_SOCKET_IFNAME = "lo" }
[resources]
memory = "2 GB"
[run]
pool = "condor"
jobs = 2
`;

async function follow(t: TestContext, { command, starts }: Launcher, needs?: string): Promise<void> {
  const harness = await condorHarness(t, {});
  if (harness === undefined) return;
  const [{ here, onWorker }, modules] = [await harness.meetingPlace(), await harness.meetingPlace()];
  t.after(() => rm(modules.here, { recursive: true, force: true }));
  if (needs !== undefined) await cp(needs, modules.here, { recursive: true });
  const text = jobFile(command, onWorker, needs === undefined ? '' : modules.onWorker);
  await writeFile(path.join(harness.folder, 'updraft.toml'), text);
  await writeFile(path.join(harness.folder, 'train.py'), `${twoProcesses}\n${starts}\n`);
  await writeFile(path.join(harness.folder, 'launch.py'), launch);
  await writeFile(path.join(harness.folder, 'store.py'), store);
  const run = await harness.submit();
  for (const place of ['0-3', '8-5']) await evictAt(harness, run, path.join(here, place));
  const { jobs } = await harness.finish(run);
  assert.deepEqual(
    jobs.map(({ attempts }) => attempts.map(({ ending }) => ending)),
    [['evicted', 'evicted', 'success'], ['success']],
    await printed(run),
  );
  const [first, second] = await Promise.all(['0000', '0001'].map((job) => result(run, 'model.pt', job)));
  assert.equal(first, second);
  assert.equal(lossesOf(first!).length, 96);
  // It is the first process's. An attempt that ends at once may report nothing.
  assert.equal(jobs[1]?.attempts[0]?.agent?.training?.epoch, 12, await printed(run));
}

async function evictAt(harness: CondorHarness, run: string, mark: string): Promise<void> {
  while (!(await isThere(mark))) {
    const last = (await readRunState(run)).jobs[0]?.attempts.at(-1);
    const isLost = last?.fault !== undefined && last.fault.kind !== 'evicted';
    assert.ok(!isLost, `${JSON.stringify(last?.fault)}\n${await printed(run)}`);
    await systemClock.sleep(250);
  }
  const constraint = `UpdraftRun == "${path.basename(run)}" && UpdraftJob == "0000"`;
  await harness.tool('condor_vacate_job', '-constraint', constraint);
}

async function printed(run: string): Promise<string> {
  const attempts = (await readRunState(run)).jobs[0]?.attempts ?? [];
  const names = [attemptFiles.log, attemptFiles.out, attemptFiles.err];
  const files = attempts.flatMap(({ number }) =>
    names.map((name) => path.join(attemptFolder(run, '0000', number), name)),
  );
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return texts.map((text) => text.slice(-3000)).join('\n');
}

for (const [name, launcher] of Object.entries(onWorkers))
  test(`a training started by ${name} that is evicted twice equals an undisturbed one`, (t) =>
    follow(t, launcher));

for (const [name, launcher] of Object.entries(fromPackages))
  test(
    `a training started by ${name} that is evicted twice equals an undisturbed one`,
    { skip: packages === undefined && 'UPDRAFT_TEST_PACKAGES is not set (CONTRIBUTING.md)' },
    (t) => follow(t, launcher, packages),
  );
