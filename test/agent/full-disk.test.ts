import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Train } from '../../src/job/spec.ts';
import { smallDisk } from '../small-disk.ts';
import { AgentHarness } from './agent-harness.ts';
import { makeTarGz } from './tar.ts';

test('data that does not fit ends as disk-full, with a complete journal on the same disk', async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const harness = await AgentHarness.open(t, disk);
  const source = await AgentHarness.open(t);
  await writeFile(source.at('big.tar.gz'), makeTarGz({ big: Buffer.alloc(8 << 20) }));
  const { exit, stderr } = await harness.run({
    data: [{ url: pathToFileURL(source.at('big.tar.gz')).href }],
  });
  assert.equal(exit, 107, stderr);
  assert.deepEqual(harness.lastKinds(3), ['agent-ended', 'phase', 'cleaned']);
  assert.deepEqual(harness.leftovers(), []);
});

test('a training that fills the disk and fails ends as disk-full, and the journal is still complete', async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const harness = await AgentHarness.open(t, disk);
  // It continues with a full disk, which produces entries that cannot be written.
  const command = 'cat /dev/zero > fill; for i in 1 2 3; do echo "epoch=$i"; sleep 0.6; done; exit 9';
  const { exit } = await harness.run({ train: { command } });
  assert.equal(exit, 107);
  assert.equal(harness.entries('training-ended')[0]?.status, 9);
  assert.match(harness.entries('fault')[0]?.fault.message ?? '', /filled the disk of .* \(0 B left in/);
  assert.deepEqual(harness.lastKinds(3), ['agent-ended', 'phase', 'cleaned']);
  assert.equal(harness.entries('agent-ended')[0]?.exit, 107);
  assert.deepEqual(harness.leftovers(), []);
});

test('a training whose log does not fit ends as run-folder-full, even though its last lines are lost', async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const [harness, elsewhere] = [await AgentHarness.open(t, disk), await AgentHarness.open(t)];
  // The folder of the run is full; the scratch folder is not.
  const command = `head -c 9000000 /dev/zero > ${disk}/fill; python3 -c 'print("epoch=1" * 99999)'`;
  const { exit } = await harness.run({ train: { command }, scratchParent: elsewhere.at('scratch') });
  assert.equal(exit, 120);
  assert.deepEqual(elsewhere.leftovers(), []);
});

test('results that do not fit are not returned in part, and kept', async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const harness = await AgentHarness.open(t);
  const { exit } = await harness.run({
    resultsTo: path.join(disk, '0000'),
    train: { command: 'head -c 4000000 /dev/zero > model.pt' },
  });
  assert.equal(exit, 120);
  const { message } = harness.entries('fault')[0]!.fault;
  const [, kept = ''] =
    /0000: no space left on .*small-disk\S+ \(tmpfs\) \(2\.1 MB free, 4 MB needed\); the results are kept in (\S+)$/.exec(
      message,
    ) ?? [];
  assert.equal((await stat(path.join(kept, 'model.pt'))).size, 4_000_000, message);
  const left = spawnSync('ls', ['-A', disk], { encoding: 'utf8' }).stdout;
  assert.equal(left, '');
});

test('a checkpoint that does not fit is recorded with figures, the training continues, and the previous one stays', async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const [harness, elsewhere] = [await AgentHarness.open(t, disk), await AgentHarness.open(t)];
  const fill = (bytes: number): string => `head -c ${bytes} /dev/zero > ckpt/part; mv ckpt/part ckpt/state`;
  const command = `${fill(600_000)}; echo saved > ckpt/name; exit 85`;
  const train = {
    checkpoint: 'ckpt',
    command: `[ -f ckpt/name ] && { ${fill(5_000_000)}; sleep 2; exit 4; }; ${command}`,
  };
  const { exit } = await harness.run({ train, scratchParent: elsewhere.at('scratch') });
  assert.equal(exit, 4);
  const { message } = harness.entries('fault')[0]!.fault;
  assert.match(message, /the checkpoint needs 5 MB, and the disk of .*checkpoint has [\d.]+ [kM]B free/);
  assert.equal(harness.checkpoint()['state']?.length, 600_000);
  assert.deepEqual(elsewhere.leftovers(), []);
});

/** An attempt whose scratch folder is on a small disk, and everything else elsewhere. */
async function onSmallScratch(t: TestContext, train: Partial<Train>, size?: string) {
  const disk = await smallDisk(t, size);
  if (disk === undefined) return undefined;
  const [harness, scratch] = [await AgentHarness.open(t), await AgentHarness.open(t, disk)];
  const { exit } = await harness.run({ train, scratchParent: scratch.at('scratch') });
  const { kind, message } = harness.entries('fault')[0]?.fault ?? {};
  return { exit, kind, message: message ?? '', harness };
}

const fill = 'cat /dev/zero > fill 2>/dev/null';

test('a training that exits with 0 and an empty output on a full disk ends as disk-full', async (t) => {
  const ended = await onSmallScratch(t, { command: `${fill}; echo '{}' > model.pt || true` });
  if (ended === undefined) return;
  assert.deepEqual([ended.exit, ended.kind], [107, 'disk-full'], ended.message);
  assert.match(ended.message, /model\.pt is (?:empty|missing).*disk of .*scratch.* is full \(0 B left in/);
});

test('a disk that was full while the training ran, and has room again, is still the cause', async (t) => {
  // It waits for a report in the journal: by then the agent has seen the full disk.
  const seen = 'until grep -q \'"epoch":1\' "$UPDRAFT_TEST_JOURNAL"; do sleep 0.05; done';
  const command = `${fill}; : > model.pt; echo epoch=1; ${seen}; rm fill`;
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const [harness, scratch] = [await AgentHarness.open(t), await AgentHarness.open(t, disk)];
  const env = { UPDRAFT_TEST_JOURNAL: harness.at('job/attempt-1/agent.jsonl') };
  const { exit } = await harness.run(
    { train: { command }, scratchParent: scratch.at('scratch') },
    undefined,
    env,
  );
  const { message = '' } = harness.entries('fault')[0]?.fault ?? {};
  assert.equal(exit, 107, message);
  assert.match(
    message,
    /model\.pt is empty.*was full during the training \([\d.]+ MB left in \S+, 0 B at the lowest,/,
  );
});

test('a disk that takes no more files is full', async (t) => {
  const command = 'i=0; while touch f$i 2>/dev/null; do i=$((i + 1)); done; true';
  const ended = await onSmallScratch(t, { command }, '2m,nr_inodes=80');
  if (ended === undefined) return;
  assert.deepEqual([ended.exit, ended.kind], [107, 'disk-full'], ended.message);
  assert.match(ended.message, /model\.pt is missing.*no more files/);
});

test('an output that the full disk cut short is not published, even if the training exits with 0', async (t) => {
  const ended = await onSmallScratch(t, { command: 'head -c 9000000 /dev/zero > model.pt || true' });
  if (ended === undefined) return;
  assert.deepEqual([ended.exit, ended.kind], [107, 'disk-full'], ended.message);
  assert.deepEqual(ended.harness.leftovers(), []);
});

test('an output is not published either if the training only prints that NumPy could not write it', async (t) => {
  const said = 'could not save: 784000 requested and 595968 written';
  const ended = await onSmallScratch(t, { command: `${fill}; mv fill model.pt; echo '${said}'` });
  if (ended === undefined) return;
  assert.deepEqual([ended.exit, ended.kind], [107, 'disk-full'], ended.message);
  assert.match(ended.message, /may be cut short.*595968 written/);
});

test('half of what torch.save writes is no result, even if nobody says that the disk is full', async (t) => {
  const save = (bytes: number): string =>
    `{ printf 'PK\\003\\004'; head -c ${bytes} /dev/zero; } > model.pt 2>/dev/null || true`;
  const ended = await onSmallScratch(t, { command: save(9_000_000) });
  if (ended === undefined) return;
  assert.deepEqual([ended.exit, ended.kind], [107, 'disk-full'], ended.message);
  assert.match(ended.message, /model\.pt is cut short: .* and has no end, and the disk of .* is full/);
  const harness = await AgentHarness.open(t);
  assert.equal((await harness.run({ train: { command: save(900) } })).exit, 112);
});

test('half of a checkpoint does not replace the whole one before it', async (t) => {
  const harness = await AgentHarness.open(t);
  const saved = 'until grep -q \':"checkpoint-saved"\' "$UPDRAFT_TEST_JOURNAL"; do sleep 0.05; done';
  const command = `echo whole > ckpt/state; ${saved}; printf 'PK\\003\\004half' > ckpt/state; exit 4`;
  const env = { UPDRAFT_TEST_JOURNAL: harness.at('job/attempt-1/agent.jsonl') };
  const { exit } = await harness.run({ train: { checkpoint: 'ckpt', command } }, undefined, env);
  assert.equal(exit, 4);
  assert.equal(harness.checkpoint()['state']?.toString(), 'whole\n');
  assert.match(harness.entries('checkpoint-refused')[0]?.reason ?? '', /state is cut short/);
});

test('a full home that all attempts share ends the job, as a full run folder does', async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const harness = await AgentHarness.open(t);
  const command = 'cat /dev/zero > "$HOME/cache" 2>/dev/null; true';
  const { exit } = await harness.run({ train: { command } }, undefined, { HOME: disk });
  const { kind, message = '' } = harness.entries('fault')[0]?.fault ?? {};
  assert.deepEqual([exit, kind], [120, 'run-folder-full'], message);
  assert.match(message, /model\.pt is missing, and the disk of \S+ is full/);
});

test('a check that fails on a full disk is the disk, and not a wrong result', async (t) => {
  const ended = await onSmallScratch(t, {
    command: `echo 1 > model.pt; ${fill}; true`,
    check: 'cp model.pt copy',
  });
  if (ended === undefined) return;
  assert.deepEqual([ended.exit, ended.kind], [107, 'disk-full'], ended.message);
  assert.match(ended.message, /the check `cp model\.pt copy` exited with code 1/);
});

test('a training that exits with 85 is not blamed where its checkpoint found no room', async (t) => {
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const [harness, elsewhere] = [await AgentHarness.open(t, disk), await AgentHarness.open(t)];
  const train = { checkpoint: 'ckpt', command: 'head -c 5000000 /dev/zero > ckpt/state; exit 85' };
  const { exit } = await harness.run({ train, scratchParent: elsewhere.at('scratch') });
  const { message = '' } = harness.entries('fault').at(-1)?.fault ?? {};
  assert.equal(exit, 107, message);
  assert.match(message, /the checkpoint needs 5 MB/);
});

test('a file-size limit of the machine is no error of the program', async (t) => {
  const harness = await AgentHarness.open(t);
  const command = `ulimit -f 64; python3 -c 'open("model.pt", "wb").write(b"x" * 10**6)'`;
  const { exit } = await harness.run({ train: { command } });
  const { message = '' } = harness.entries('fault')[0]?.fault ?? {};
  assert.equal(exit, 107, message);
  assert.match(message, /file-size limit.*Errno 27/);
});

test('an empty output on a disk with room is a wrong output', async (t) => {
  const harness = await AgentHarness.open(t);
  assert.equal((await harness.run({ train: { command: ': > model.pt' } })).exit, 112);
});
