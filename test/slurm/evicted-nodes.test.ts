import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { isThere, systemClock } from '@updraft/base';
import { readRunState } from '../../src/run/run-states.ts';
import { project, slurmHarness } from './slurm-harness.ts';

/** A training of two processes on two nodes. The first job waits, in the second one, where it is evicted: far apart. */
const script = `
import json, os, random, time
import torch
import updraft

torch.set_num_threads(1)
torch.manual_seed(1)
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()

class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, index):
        return torch.full((8,), index / 32) + 0.1 * torch.rand(8), index

def wait_at(place):
    mark = os.path.join(os.environ["MARKS"], place)
    if rank == 1 and os.environ["UPDRAFT_JOB"] == "0000" and place in ("0-3", "8-5") and not os.path.exists(mark):
        open(mark, "w").close()
        while not run._attempt.is_asked_to_leave:
            time.sleep(0.05)

layers = torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
loader = torch.utils.data.DataLoader(Samples(), batch_size=4, shuffle=True)
losses = []
with updraft.training(model, optimizer, losses=losses) as run:
    for epoch in run.epochs(12):
        for step, (images, labels) in run.enumerate(loader):
            optimizer.zero_grad()
            loss = (model(images).squeeze(1) - labels / 32).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append([labels.tolist(), loss.item()])
            wait_at(f"{epoch}-{step}")
if rank == 0:
    json.dump({"losses": losses, "weights": [one.tolist() for one in model.parameters()]}, open("model.pt", "w"))
`;

test('a training on two nodes that is evicted twice equals an undisturbed one', async (t) => {
  const files = project('exec python3 train.py', {
    resources: 'nodes = 2',
    train: 'checkpoint = "checkpoints"',
    run: 'jobs = 2',
  });
  const harness = await slurmHarness(t, files);
  if (harness === undefined) return;
  const marks = path.join(harness.folder, 'marks');
  await mkdir(marks);
  // Debian's PyTorch has no libuv.
  const env = `env = { MARKS = ${JSON.stringify(marks)}, USE_LIBUV = "0", GLOO_SOCKET_IFNAME = "lo" }\n`;
  const jobFile = files['updraft.toml']!.replace('"train.sh"]', '"train.sh", "train.py"]');
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    jobFile.replace('[resources]', `${env}[resources]`),
  );
  await writeFile(path.join(harness.folder, 'train.py'), script);
  const run = await harness.submit();
  for (const place of ['0-3', '8-5']) {
    while (!(await isThere(path.join(marks, place)))) {
      const last = (await readRunState(run)).jobs[0]?.attempts.at(-1);
      assert.ok(last?.fault === undefined || last.fault.kind === 'evicted', JSON.stringify(last));
      await systemClock.sleep(250);
    }
    await harness.pool.evict(run, '0000');
  }
  const { jobs } = await harness.finish(run);
  assert.deepEqual(
    jobs.map(({ attempts }) => attempts.map(({ ending }) => ending)),
    [['evicted', 'evicted', 'success'], ['success']],
  );
  const [first, second] = ['0000', '0001'].map((job) =>
    readFile(path.join(run, `results/${job}/model.pt`), 'utf8'),
  );
  assert.equal(await first, await second);
  const { losses } = JSON.parse(await first!) as { losses: [number[], number][] };
  assert.equal(losses.length, 96);
});
