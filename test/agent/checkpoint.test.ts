import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { walkFiles } from '@updraft/base/disk';
import type { Train } from '../../src/job/spec.ts';
import { AgentHarness, defaultCommand } from './agent-harness.ts';

/** Counts in its checkpoint, reports each step, and ends at `until`; writes the checkpoint aside and renames it. */
const counting = (until: number, each = 'sleep 0.2'): Partial<Train> => ({
  checkpoint: 'ckpt',
  command: `
n=$(cat ckpt/step 2>/dev/null || echo 0)
while [ $n -lt ${until} ]; do
  n=$((n+1)); echo "step $n/${until}"; echo $n > ckpt/step.part; mv ckpt/step.part ckpt/step; ${each}
done
echo $n > model.pt`,
});

const damage = (harness: AgentHarness, change: (file: string) => void): void => {
  const store = harness.at('job/checkpoint');
  const numbers = readdirSync(store).map((name) => {
    const { number } = JSON.parse(readFileSync(path.join(store, name, 'record.json'), 'utf8')) as {
      number: number;
    };
    return { name, number };
  });
  const [latest] = numbers.sort((a, b) => b.number - a.number);
  change(path.join(store, latest?.name ?? ''));
};

const appearing = (file: string): Promise<void> =>
  new Promise((resolve) => {
    const watcher = watch(path.dirname(file), () => found());
    const found = (): void => {
      if (!existsSync(file)) return;
      watcher.close();
      resolve();
    };
    found();
  });

test('an agent killed without warning loses only what came after the last checkpoint', async (t) => {
  const harness = await AgentHarness.open(t);
  const first = harness.start(await harness.order({ train: counting(1000, 'sleep 2.5') }));
  await first.until((entries) => entries.filter(({ kind }) => kind === 'checkpoint-saved').length > 1);
  first.child.kill('SIGKILL');
  await first.finished;
  const [training] = harness.entries('training-started');
  process.kill(-(training?.pid ?? 0), 'SIGKILL');
  const saved = harness.entries('checkpoint-saved').at(-1);
  assert.ok((saved?.step ?? 0) >= 2, JSON.stringify(saved));

  const done = Number(harness.checkpoint()['step']) + 3;
  assert.equal((await harness.run({ attempt: 2, train: counting(done) })).exit, 0);
  assert.equal(harness.result('model.pt'), `${done}\n`);
  const [restored] = harness.entries('checkpoint-restored', 2);
  assert.equal(restored?.savedBy, 1);
  const reported = harness.entries('progress', 2).map(({ step }) => step);
  assert.ok((reported[0] ?? 0) > (saved?.step ?? 0), `it reported ${reported.join(' ')}`);
  assert.equal(harness.entries('resume-checked', 2)[0]?.movedOn, true);
});

test('a training that exits with 85 resumes in the same place, with nothing fetched or cleaned in between', async (t) => {
  const harness = await AgentHarness.open(t);
  const data = path.join(harness.folder, 'data.bin');
  writeFileSync(data, 'data');
  const train: Partial<Train> = {
    checkpoint: 'ckpt',
    command:
      'echo x >> starts; cat data/data.bin; echo x >> ckpt/n; [ $(wc -l < ckpt/n) -lt 3 ] && exit 85; cp starts model.pt',
  };
  const { exit, stderr } = await harness.run({ train, data: [{ url: `file://${data}`, unpack: 'none' }] });
  assert.equal(exit, 0, stderr);
  assert.equal(harness.result('model.pt'), 'x\nx\nx\n');
  assert.equal(harness.entries('fetched').length, 1);
  assert.equal(harness.entries('checkpoint-saved').length, 2);
  assert.deepEqual(
    harness.entries('training-ended').map(({ status }) => status),
    [85, 85, 0],
  );
  assert.equal(existsSync(harness.at('job/checkpoint')), false, 'a valid result needs no checkpoint');
  assert.deepEqual(harness.leftovers(), []);
});

test('a machine that is wanted back just after the training keeps the checkpoint: the result may never leave it', async (t) => {
  const harness = await AgentHarness.open(t);
  const [checking, go] = [path.join(harness.folder, 'checking'), path.join(harness.folder, 'go')];
  const train: Partial<Train> = {
    checkpoint: 'ckpt',
    command: 'echo x >> ckpt/n; [ $(wc -l < ckpt/n) -lt 2 ] && exit 85; cp ckpt/n model.pt',
    check: `touch '${checking}'; while [ ! -e '${go}' ]; do sleep 0.05; done`,
  };
  const agent = harness.start(await harness.order({ train }));
  await agent.before(appearing(checking));
  agent.child.kill('SIGTERM');
  writeFileSync(go, '');
  assert.equal((await agent.finished).exit, 0);
  assert.equal(harness.checkpoint()['n'], 'x\n');
});

test('a checkpoint is saved while the last of very many reports are read', async (t) => {
  const harness = await AgentHarness.open(t);
  const train: Partial<Train> = {
    checkpoint: 'ckpt',
    // They appear at once, just before the end: none can be read before.
    command: `seq 300000 | sed 's/.*/{"step": &, "loss": 1}/' > all; echo 1 > ckpt/n; mv all "$UPDRAFT_PROGRESS"; exit 4`,
  };
  await harness.run({ train });
  const [saving] = harness.entries('phase').filter(({ phase }) => phase === 'saving');
  const last = harness.entries('progress').at(-1);
  assert.equal(last?.step, 300_000);
  assert.ok((saving?.seq ?? Infinity) < last.seq);
  assert.equal(harness.checkpoint()['n'], '1\n');
});

test('a training that exits with 85 without saving has failed, and is not restarted for ever', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({ train: { checkpoint: 'ckpt', command: 'exit 85' } });
  assert.equal(exit, 110);
  assert.match(stderr, /exited with 85.*nothing new in ckpt/);
});

test('a training that exits with 85 twice with the checkpoint it started with has failed, unless it moved on in between', async (t) => {
  const harness = await AgentHarness.open(t);
  const stuck = { checkpoint: 'ckpt', command: 'touch ckpt/x; exit 85' };
  const { exit, stderr } = await harness.run({ train: stuck });
  assert.equal(exit, 110);
  assert.match(stderr, /exited with 85.*what is in ckpt is the same as when it started, 2 times in a row/);
  assert.match(stderr, /exit with 0 when it is complete/);
  assert.equal(harness.entries('training-ended').length, 3);

  // Every second start moves on.
  const slow =
    'echo x >> starts; n=$(wc -l < starts); [ $n = 7 ] && cp starts model.pt && exit; echo $((n / 2)) > ckpt/n; exit 85';
  const moved = await harness.run({ attempt: 2, train: { checkpoint: 'ckpt', command: slow } });
  assert.equal(moved.exit, 0, moved.stderr);
});

test('the same in a sandbox that the pool restarts after each 85', async (t) => {
  const harness = await AgentHarness.open(t);
  const sandbox = harness.at('sandbox');
  mkdirSync(path.join(sandbox, 'files'), { recursive: true });
  const order = await harness.order({ train: { checkpoint: 'ckpt', command: 'touch ckpt/x; exit 85' } });
  const [program = '', ...args] = defaultCommand;
  const exits = Array.from(
    { length: 3 },
    () => spawnSync(program, [...args, 'sandbox', order], { cwd: sandbox, encoding: 'utf8' }).status,
  );
  assert.deepEqual(exits, [85, 85, 110]);
});

test('a training that dies of the request to save while it ends is started again, not failed', async (t) => {
  const harness = await AgentHarness.open(t);
  const sandbox = harness.at('sandbox');
  mkdirSync(path.join(sandbox, 'files'), { recursive: true });
  // Its result is there and its checkpoint saved, but it is still on its way out, and handles no signals any more.
  const command = `[ -f ckpt/n ] && exec true
echo epoch 1; echo 1 > ckpt/n; echo 1 > model.pt; exec sleep 600`;
  const order = await harness.order({ train: { checkpoint: 'ckpt', checkpointEverySeconds: 1, command } });
  const [program = '', ...args] = defaultCommand;
  const attempt = (): { status: number | null; stderr: string } =>
    spawnSync(program, [...args, 'sandbox', order], { cwd: sandbox, encoding: 'utf8' });
  const first = attempt();
  assert.equal(first.status, 85, first.stderr);
  const again = attempt();
  assert.equal(again.status, 0, again.stderr);
});

test('an output that was restored with the checkpoint is no result, and epochs count as before', async (t) => {
  const harness = await AgentHarness.open(t);
  const train = { checkpoint: 'ckpt', outputs: ['ckpt/model.pt'] };
  const command = 'echo epoch 0; echo 1 > ckpt/model.pt; exit 7';
  assert.equal((await harness.run({ train: { ...train, command } })).exit, 7);
  const { exit, stderr } = await harness.run({ attempt: 2, train: { ...train, command: 'true' } });
  assert.equal(exit, 112, stderr);
  assert.equal(harness.entries('checkpoint-restored', 2).length, 1);
  assert.equal(harness.entries('progress', 2)[0]?.firstEpoch, 0);
});

test('a damaged checkpoint is refused with the reason, and the one before it is used', async (t) => {
  const harness = await AgentHarness.open(t);
  const train = { ...counting(3), command: `${counting(3).command ?? ''}; exit 4` };
  const stopAt = (step: number): string =>
    `echo ${step} > ckpt/step.part; mv ckpt/step.part ckpt/step; echo step ${step}; exit 4`;
  for (const attempt of [1, 2, 3])
    await harness.run({ attempt, train: { ...train, command: stopAt(attempt * 10) } });
  damage(harness, (folder) => writeFileSync(path.join(folder, 'files/0000'), '99\n'));
  await harness.run({ attempt: 4, train: { ...train, command: 'cat ckpt/step; exit 4' } });
  assert.match(
    harness.entries('checkpoint-refused', 4)[0]?.reason ?? '',
    /attempt 3: step is damaged.*SHA-256/,
  );
  assert.equal(harness.entries('checkpoint-restored', 4)[0]?.savedBy, 2);
  assert.equal(readFileSync(harness.at('job/attempt-4/out.log'), 'utf8'), '20\n');

  damage(harness, (folder) => writeFileSync(path.join(folder, 'record.json'), '{"number": 3'));
  for (const name of readdirSync(harness.at('job/checkpoint')))
    writeFileSync(path.join(harness.at('job/checkpoint'), name, 'files/0000'), '');
  await harness.run({ attempt: 5, train: { ...train, command: 'ls ckpt; exit 4' } });
  const reasons = harness.entries('checkpoint-refused', 5).map(({ reason }) => reason);
  assert.equal(reasons.length, 3);
  assert.match(reasons[0] ?? '', /its record is damaged/);
  assert.match(reasons[1] ?? '', /has 0 bytes instead of 3/);
  assert.deepEqual(harness.entries('checkpoint-restored', 5), []);
  assert.equal(readFileSync(harness.at('job/attempt-5/out.log'), 'utf8'), '');
});

test('a checkpoint of another version of the code is used, and the journal says so', async (t) => {
  const harness = await AgentHarness.open(t);
  const train: Partial<Train> = { checkpoint: 'ckpt', command: 'sh train.sh' };
  await harness.run({ train, files: { 'train.sh': 'echo 1 > ckpt/n; exit 3' } });
  await harness.run({ attempt: 2, train, files: { 'train.sh': 'echo 1 > ckpt/n; exit 3' } });
  assert.equal(harness.entries('checkpoint-restored', 2)[0]?.otherCode, undefined);
  await harness.run({ attempt: 3, train, files: { 'train.sh': 'cp ckpt/n model.pt' } });
  assert.equal(harness.entries('checkpoint-restored', 3)[0]?.otherCode, true);
  assert.equal(harness.result('model.pt'), '1\n');
});

test('a training that ignores its checkpoint is noticed', async (t) => {
  const harness = await AgentHarness.open(t);
  const ignoring = (until: number): Partial<Train> => ({
    checkpoint: 'ckpt',
    command: `for n in $(seq ${until}); do echo "step $n/20"; echo $n > ckpt/part; mv ckpt/part ckpt/step; sleep 0.25; done; exit 4`,
  });
  await harness.run({ train: ignoring(9) });
  await harness.run({ attempt: 2, train: ignoring(9) });
  assert.equal(harness.entries('resume-checked', 2)[0]?.movedOn, false);
});

test('the last few checkpoints are kept, and an unchanged file is stored once', async (t) => {
  const harness = await AgentHarness.open(t);
  const train: Partial<Train> = {
    checkpoint: 'ckpt',
    checkpointKeep: 2,
    command: `
n=$(cat ckpt/n 2>/dev/null || echo 0)
[ $n = 4 ] && [ $UPDRAFT_ATTEMPT = 2 ] && { cmp ckpt/big ckpt/same/big && readlink ckpt/latest > model.pt; exit 0; }
[ $n = 4 ] && exit 4
[ $n = 0 ] && { head -c 3000000 /dev/urandom > ckpt/big; mkdir ckpt/same; cp ckpt/big ckpt/same; ln -s n ckpt/latest; }
echo $((n+1)) > ckpt/n; exit 85`,
  };
  await harness.run({ train });
  assert.equal(harness.entries('checkpoint-saved').length, 4);
  const store = harness.at('job/checkpoint');
  assert.equal(readdirSync(store).length, 2);
  assert.equal(harness.checkpoint()['n'], '4\n');
  const files = (await walkFiles(store))
    .map((name) => statSync(path.join(store, name)))
    .filter(({ size }) => size === 3_000_000);
  assert.deepEqual([files.length, new Set(files.map(({ ino }) => ino)).size], [4, 2]);
  assert.equal((await harness.run({ attempt: 2, train })).exit, 0);
  assert.equal(harness.result('model.pt'), 'n\n');
});

test('a time limit leaves the training time to save, and the next attempt resumes', async (t) => {
  const harness = await AgentHarness.open(t);
  const command = `trap 'echo asked > ckpt/state; exit 1' TERM
[ -f ckpt/state ] && { cp ckpt/state model.pt; exit 0; }
while :; do sleep 0.1; done`;
  const resources = { cpus: 1, gpus: 0, memoryBytes: 1e9, diskBytes: 'auto' as const, timeSeconds: 12 };
  const train = { checkpoint: 'ckpt', command };
  const { exit, stderr } = await harness.run({ train, resources });
  assert.equal(exit, 114);
  assert.match(stderr, /time limit of 12s/);
  assert.equal((await harness.run({ attempt: 2, train, resources })).exit, 0);
  assert.equal(harness.result('model.pt'), 'asked\n');
});

test('a link out of the checkpoint folder is recorded, and does not end the training', async (t) => {
  const harness = await AgentHarness.open(t);
  const command = 'ln -s /etc/passwd ckpt/x; echo 1 > ckpt/n; sleep 2; exit 4';
  assert.equal((await harness.run({ train: { checkpoint: 'ckpt', command } })).exit, 4);
  const said = harness.entries('fault').map(({ fault }) => fault.message);
  assert.ok(said.some((message) => /x in the checkpoint folder is a link to \/etc\/passwd/.test(message)));
});
