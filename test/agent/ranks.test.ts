import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { attemptProcesses } from '../../src/agent/training/processes.ts';
import type { Train } from '../../src/job/spec.ts';
import { AgentHarness } from './agent-harness.ts';

const textOf = (harness: AgentHarness, name: string): string =>
  readFileSync(harness.at(`job/attempt-1/${name}`), 'utf8');

/** A training of three processes that runs a shell script in each. */
const ranks = (command: string, more: Partial<Train> = {}): { train: Partial<Train> } => ({
  train: { command, processes: 3, ...more },
});

const leaves = "trap 'echo saved >> $UPDRAFT_CHECKPOINT/saved.$RANK; exit 85' TERM";
const waits = 'while :; do sleep 0.05; done';

test('each process has its rank, and only what rank 0 reports is progress', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({
    resources: { cpus: 6, gpus: 0, memoryBytes: 1e9, diskBytes: 'auto' },
    train: {
      command: `
      echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR" > rank.$RANK
      echo "{\\"epoch\\": $((RANK + 1)), \\"loss\\": 1}" >> "$UPDRAFT_PROGRESS"
      printf 'epoch %d\\rport %d\\nthe end' $((RANK + 1)) "$MASTER_PORT"
      echo "threads $OMP_NUM_THREADS" >&2`,
      outputs: ['rank.0', 'rank.1', 'rank.2'],
      processes: 3,
    },
  });
  assert.equal(exit, 0, stderr);
  for (const rank of [0, 1, 2])
    assert.equal(harness.result(`rank.${rank}`), `${rank}/3 ${rank}/3 0 127.0.0.1\n`);
  const out = textOf(harness, 'out.log');
  const [port] = /(?<=\[rank 1\] port )[1-9]\d+$/m.exec(out) ?? [];
  assert.ok(out.includes(`[rank 2] port ${port ?? 'none'}\n`) && out.includes('[rank 2] the end\n'), out);
  assert.match(textOf(harness, 'err.log'), /^(?=[^]*^threads 2$)(?=[^]*^\[rank 2\] threads 2$)/m);
  const epochs = harness.entries('progress').flatMap(({ epoch }) => epoch ?? []);
  assert.deepEqual([...new Set(epochs)], [1]);
});

test('one process of those that are wanted finds its rank, too', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run(
    ranks('echo "$RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR ${MASTER_PORT:+there}" > model.pt', {
      processes: 'gpus',
    }),
  );
  assert.equal(exit, 0, stderr);
  assert.equal(harness.result('model.pt'), '0/1 0 127.0.0.1 there\n');
});

test("the attempt fails as the first rank that fails; the others are ended, and the error is that rank's", async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run(
    ranks(`
      trap 'echo asked > asked.$RANK; echo "ValueError: torn off" >&2; exit 4' TERM
      [ $RANK = 2 ] || while :; do sleep 0.05; done
      echo 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\nValueError: bad sample' >&2
      exit 3`),
  );
  assert.equal(exit, 3, stderr);
  assert.match(stderr, /failed with exit code 3 \(rank 2\) in train\.py, line 7: ValueError: bad sample/);
  const [ended] = harness.entries('training-ended');
  assert.deepEqual([ended?.status, ended?.rank], [3, 2]);
  assert.deepEqual(harness.leftovers(), []);
});

test('all ranks are asked to leave, save, and leave with 85; the next attempt resumes', async (t) => {
  const harness = await AgentHarness.open(t);
  const train = `
    [ -e $UPDRAFT_CHECKPOINT/saved.0 ] && echo 1 > model.pt && exit
    ${leaves}; echo "up $RANK"; ${waits}`;
  const agent = harness.start(await harness.order(ranks(train, { checkpoint: 'ck' })));
  await agent.until((_, out) => ['up 0', 'up 1', 'up 2'].every((one) => out.includes(one)));
  agent.child.kill('SIGTERM');
  assert.equal((await agent.finished).exit, 113);
  assert.deepEqual(Object.keys(harness.checkpoint()).sort(), ['saved.0', 'saved.1', 'saved.2']);
  assert.equal(harness.entries('training-ended')[0]?.status, 85);
  assert.equal((await harness.run({ attempt: 2, ...ranks(train, { checkpoint: 'ck' }) })).exit, 0);
});

test('ranks that leave by themselves are resumed in place, whatever the others end with after rank 0', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run(
    ranks(
      `
      n=$(cat $UPDRAFT_CHECKPOINT/n 2> /dev/null || echo 0)
      [ $n -lt 2 ] || { echo 1 > model.pt; exit 0; }
      [ $RANK = 0 ] || { ${waits}; }
      echo $((n + 1)) > $UPDRAFT_CHECKPOINT/n.part; mv $UPDRAFT_CHECKPOINT/n.part $UPDRAFT_CHECKPOINT/n
      exit 85`,
      { checkpoint: 'ck' },
    ),
  );
  assert.equal(exit, 0, stderr);
  assert.deepEqual(
    harness.entries('training-ended').map(({ status, rank }) => [status, rank]),
    [85, 85, 0].map((status) => [status, undefined]),
  );
});

test("a launcher's own exit code counts as 85 if rank 0 left its mark, which is not part of the checkpoint", async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({
    train: {
      checkpoint: 'ck',
      command: `
        [ -e $UPDRAFT_CHECKPOINT/.left ] && exit 5
        [ -e ck/n ] && cp ck/n model.pt && exit
        echo 1 > ck/n; echo '{"asked": false}' > $UPDRAFT_CHECKPOINT/.left; exit 1`,
    },
  });
  assert.equal(exit, 0, stderr);
  assert.deepEqual(
    harness.entries('training-ended').map(({ status }) => status),
    [85, 0],
  );
  assert.equal(harness.entries('checkpoint-saved')[0]?.files, 1);
  const failing = await AgentHarness.open(t);
  const failed = await failing.run({ train: { checkpoint: 'ck', command: 'echo 1 > ck/n; exit 1' } });
  assert.equal(failed.exit, 1);
});

test("torchrun has at least the grace to save, and marks its processes' lines, unless the user says otherwise", async (t) => {
  const said = async (env: Record<string, string>): Promise<string> => {
    const harness = await AgentHarness.open(t);
    const command = 'echo "$TORCH_ELASTIC_SHUTDOWN_TIMEOUT $PET_TEE" > model.pt';
    assert.equal((await harness.run({ train: { command, env } })).exit, 0);
    return harness.result('model.pt');
  };
  assert.equal(await said({}), '30 3\n');
  assert.equal(await said({ TORCH_ELASTIC_SHUTDOWN_TIMEOUT: '90', PET_TEE: '0' }), '90 0\n');
});

/** PyTorch 1.13's does not start under Python 3.11. */
const hasTorchrun =
  spawnSync('python3', ['-c', 'import sys, torch; sys.exit(torch.__version__ < "2")']).status === 0;
const needsTorchrun = hasTorchrun ? {} : { skip: 'the first python3 on the PATH has no PyTorch 2' };

/** A script for torchrun's processes, without PyTorch: each is in a session of its own. */
const worker = (body: string): Record<string, string> => ({
  'train.py': [
    'import os, signal, sys, time',
    'rank, folder = int(os.environ["RANK"]), os.environ["UPDRAFT_CHECKPOINT"]',
    'def leave(*_):',
    '    if rank == 0:',
    '        open(folder + "/state", "w").write("1")',
    '        open(folder + "/.left", "w").write(\'{"asked": true}\')',
    '    sys.exit(85)',
    'signal.signal(signal.SIGTERM, leave)',
    body,
    '',
  ].join('\n'),
});

const launched = (body: string): { train: Partial<Train>; files: Record<string, string> } => ({
  train: {
    command: 'python3 -m torch.distributed.run --standalone --nproc_per_node=2 train.py',
    checkpoint: 'ck',
  },
  files: worker(body),
});

test(
  'a real torchrun: rank 0 saves when it is asked to, and no process of its sessions survives',
  needsTorchrun,
  async (t) => {
    const harness = await AgentHarness.open(t);
    const changes = launched(
      'if os.path.exists(folder + "/state"): open("model.pt", "w").write("1"); sys.exit()\n' +
        'print("up", rank)\nwhile True: time.sleep(0.05)',
    );
    const agent = harness.start(await harness.order(changes));
    await agent.until((_, out) => out.includes('up 0') && out.includes('up 1'));
    const scratch = harness.at(`scratch/${readdirSync(harness.at('scratch'))[0] ?? ''}`);
    assert.ok(attemptProcesses(scratch).length >= 3);
    agent.child.kill('SIGTERM');
    assert.equal((await agent.finished).exit, 113);
    assert.deepEqual(attemptProcesses(scratch), []);
    assert.deepEqual(harness.checkpoint(), { state: '1' });
    assert.equal(harness.entries('training-ended')[0]?.status, 85);
    assert.equal((await harness.run({ ...changes, attempt: 2 })).exit, 0);
  },
);

test(
  "a real torchrun: progress is rank 0's, and the failing rank's error is the cause",
  needsTorchrun,
  async (t) => {
    const harness = await AgentHarness.open(t);
    const { exit, stderr } = await harness.run(
      launched(
        'print(f"epoch {rank * 7 + 1} loss {rank}", flush=True)\n' +
          'if rank == 1: time.sleep(0.5); raise ValueError("bad sample")\nwhile True: time.sleep(0.05)',
      ),
    );
    assert.equal(exit, 1, stderr);
    assert.match(stderr, /failed with exit code 1 in train\.py, line 10: ValueError: bad sample/);
    const epochs = harness.entries('progress').flatMap(({ epoch }) => epoch ?? []);
    assert.deepEqual(epochs, [1]);
  },
);
