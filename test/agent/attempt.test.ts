import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { identifyProcess } from '@updraft/base/processes';
import { AgentHarness } from './agent-harness.ts';

const weights = 'echo weights > model.pt';

test('a valid result is returned with its hash, and nothing is left', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({
    files: { 'train.sh': `echo "epoch=1 loss=0.5"; ${weights}` },
    train: { command: 'sh train.sh', files: ['train.sh'], check: 'grep -q weights model.pt' },
  });
  assert.equal(stderr, '');
  assert.equal(exit, 0);
  assert.equal(harness.result('model.pt'), 'weights\n');
  assert.deepEqual(
    harness.entries('phase').map(({ phase }) => phase),
    ['preparing', 'training', 'returning', 'cleaning'],
  );
  assert.deepEqual(
    harness.journal().map(({ seq }) => seq),
    harness.journal().map((_, index) => index),
  );
  const [output] = harness.entries('output');
  assert.equal(output?.path, 'model.pt');
  assert.equal(output.bytes, 8);
  assert.equal(output.sha256, '1b465fa6b6bcbc06a3199e3d2d8aec35d37494a712f888b6d5536684dd89d0f0');
  assert.equal(harness.entries('progress').at(-1)?.loss, 0.5);
  assert.deepEqual(harness.leftovers(), []);
});

test('a training that exits with 0 without its output has failed, and the message lists what is there', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({ train: { command: 'echo weights > model.pth' } });
  assert.equal(exit, 112);
  assert.match(stderr, /model\.pt is missing/);
  assert.match(stderr, /the folder now has model\.pth/);
  assert.equal(harness.entries('training-ended')[0]?.status, 0);
  assert.equal(harness.entries('agent-ended')[0]?.outcome, 'wrong-output');
  assert.equal(existsSync(harness.at('results/0000')), false);
  assert.deepEqual(harness.leftovers(), []);
});

for (const [what, command, problem] of [
  ['is empty', ': > model.pt', /model\.pt is empty/],
  [
    'is older than the training',
    `${weights}; touch -d 2001-01-01 model.pt`,
    /model\.pt is older than the start/,
  ],
  ['was sent along and not written', 'true', /model\.pt (is older than the start|was there before)/],
  [
    'is a link out of the work folder',
    'ln -sf /etc/passwd model.pt',
    /model\.pt is a link to \/etc\/passwd, outside/,
  ],
  ['is a folder of empty files', 'rm model.pt; mkdir model.pt; : > model.pt/a', /model\.pt is empty/],
] as const)
  test(`an output that ${what} is not a result`, async (t) => {
    const harness = await AgentHarness.open(t);
    const { exit, stderr } = await harness.run({ files: { 'model.pt': 'of last week' }, train: { command } });
    assert.equal(exit, 112);
    assert.match(stderr, problem);
    assert.deepEqual(harness.leftovers(), []);
  });

test('a result that the check refuses is not returned', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({
    train: { command: weights, check: 'echo "accuracy too low" >&2; exit 3' },
  });
  assert.equal(exit, 112);
  assert.match(stderr, /exited with code 3: accuracy too low/);
  assert.equal(existsSync(harness.at('results/0000')), false);
});

for (const [status, exit] of [
  ['exit 1', 1],
  ['exit 85', 85],
  ['exit 84', 84],
  ['exit 86', 110],
  ['exit 119', 110],
  ['exit 121', 121],
  ['exit 255', 255],
  ['kill -9 $$', 87],
  ['kill -SEGV $$', 139],
] as const)
  test(`a training that ends by \`${status}\` makes the agent exit ${exit}`, async (t) => {
    const harness = await AgentHarness.open(t);
    const finished = await harness.run({ train: { command: `${weights}; ${status}` } });
    assert.equal(finished.exit, exit);
    const [ended] = harness.entries('training-ended');
    assert.equal(ended?.status, status.startsWith('exit') ? Number(status.slice(5)) : null);
    const kind = exit === 87 ? 'training-killed' : 'training-failed';
    assert.equal(harness.entries('fault').at(-1)?.fault.kind, kind);
    assert.equal(existsSync(harness.at('results/0000')), false);
    assert.deepEqual(harness.leftovers(), []);
  });

for (const [command, word] of [
  ['EPOCHS=3 trainer --epochs 3', 'trainer'],
  ['./train.sh', './train.sh'],
] as const)
  test(`a command that cannot be started (${command}) is named`, async (t) => {
    const harness = await AgentHarness.open(t);
    const { exit, stderr } = await harness.run({ files: { 'train.sh': 'true' }, train: { command } });
    assert.equal(exit, 109);
    assert.ok(stderr.includes(`\`${word}\``), stderr);
  });

test('a training that shows no sign of life is stopped', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({
    train: { command: 'echo begun; sleep 1000', quietLimitSeconds: 0.5 },
  });
  assert.equal(exit, 111);
  assert.match(stderr, /printed nothing and reported no progress/);
  assert.equal(harness.entries('training-ended')[0]?.signal, 'SIGTERM');
  assert.deepEqual(harness.leftovers(), []);
});

test('a training that reports progress only in its file is alive', async (t) => {
  const harness = await AgentHarness.open(t);
  const record = 'echo "{\\"epoch\\":$i,\\"loss\\":NaN}" >> $UPDRAFT_PROGRESS; sleep 0.7';
  const { exit } = await harness.run({
    train: { command: `for i in 1 2 3 4 5 6 7 8; do ${record}; done; ${weights}`, quietLimitSeconds: 4 },
  });
  assert.equal(exit, 0);
  const last = harness.entries('progress').at(-1);
  assert.equal(last?.epoch, 8);
  assert.ok(Number.isNaN(last.loss));
});

test('an attempt ends at its time limit', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit } = await harness.run({
    train: { command: 'while :; do echo working; sleep 0.1; done' },
    resources: { cpus: 1, gpus: 0, memoryBytes: 1e9, diskBytes: 'auto', timeSeconds: 0.5 },
  });
  assert.equal(exit, 114);
  assert.equal(harness.entries('agent-ended')[0]?.outcome, 'failed');
  assert.deepEqual(harness.leftovers(), []);
});

test('processes that a training leaves behind are ended, even outside of its session', async (t) => {
  const harness = await AgentHarness.open(t);
  const command = [
    'sleep 1000 & echo $! > pids',
    '(cd / && setsid sleep 1000 & echo $! >> pids)',
    // This one has neither the environment nor the folder of the attempt, only its session.
    '(cd / && exec env -i /bin/sh -c "sleep 1000" & echo $! >> pids)',
    'cp pids model.pt',
  ].join('\n');
  const { exit } = await harness.run({ train: { command } });
  assert.equal(exit, 0);
  const pids = harness.result('model.pt').trim().split('\n').map(Number);
  assert.equal(pids.length, 3);
  for (const pid of pids) assert.equal(identifyProcess(pid), undefined, `process ${pid} lives`);
  assert.deepEqual(harness.leftovers(), []);
});

test('a second agent on a claimed attempt ends at once and changes nothing', async (t) => {
  const harness = await AgentHarness.open(t);
  const order = await harness.order({ train: { command: `${weights}; echo x >> ${harness.at('ran')}` } });
  assert.equal((await harness.start(order).finished).exit, 0);
  const before = harness.journal();
  const second = await harness.start(order).finished;
  assert.equal(second.exit, 117);
  assert.match(second.stderr, /already claimed/);
  assert.deepEqual(harness.journal(), before);
  assert.equal(await readFile(harness.at('ran'), 'utf8'), 'x\n');
});

test('a later attempt replaces the results of an earlier one', async (t) => {
  const harness = await AgentHarness.open(t);
  assert.equal((await harness.run({ train: { command: 'echo first > model.pt' } })).exit, 0);
  assert.equal((await harness.run({ attempt: 2, train: { command: 'echo second > model.pt' } })).exit, 0);
  assert.equal(harness.result('model.pt'), 'second\n');
  assert.deepEqual(harness.leftovers(), []);
});

test('the results of another job or the files of a user are never replaced', async (t) => {
  const harness = await AgentHarness.open(t);
  await mkdir(harness.at('results/0000'), { recursive: true });
  await writeFile(harness.at('results/0000/model.pt'), 'precious');
  const { exit, stderr } = await harness.run({
    train: { command: `${weights}; echo x > ${harness.at('ran')}` },
  });
  assert.equal(exit, 117);
  assert.match(stderr, /already holds something else/);
  assert.equal(harness.result('model.pt'), 'precious');
  assert.equal(existsSync(harness.at('ran')), false, 'the training must not run');
  await writeFile(harness.at('results/0000/.updraft.json'), '{"run":"test-run","job":"0001","attempt":1}');
  const other = await harness.run({ attempt: 2, train: { command: weights } });
  assert.match(other.stderr, /already holds the results of job 0001 of run test-run/);
});

test('a checkpoint survives a failed attempt and is there for the next one', async (t) => {
  const harness = await AgentHarness.open(t);
  const train = {
    checkpoint: 'ckpt',
    command: 'echo x >> ckpt/epochs; [ $(wc -l < ckpt/epochs) = 2 ] || exit 4; cp ckpt/epochs model.pt',
  };
  assert.equal((await harness.run({ train })).exit, 4);
  assert.ok(harness.entries('phase').some(({ phase }) => phase === 'saving'));
  assert.equal((await harness.run({ attempt: 2, train })).exit, 0);
  assert.equal(harness.result('model.pt'), 'x\nx\n');
});

test('the training finds its parameters, its data folder and its own settings in its environment', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit } = await harness.run({
    train: {
      command:
        'echo "$UPDRAFT_RUN $UPDRAFT_JOB $UPDRAFT_ATTEMPT $MINE" > model.pt; [ "$PWD" = "$UPDRAFT_WORK" ]',
      env: { MINE: 'it\'s "mine"' },
    },
  });
  assert.equal(exit, 0);
  assert.equal(harness.result('model.pt'), 'test-run 0000 1 it\'s "mine"\n');
});

test('an unreadable or damaged order is refused, with its name', async (t) => {
  const harness = await AgentHarness.open(t);
  const missing = await harness.start(harness.at('nowhere.json')).finished;
  assert.equal(missing.exit, 117);
  assert.match(missing.stderr, /nowhere\.json cannot be read/);
  writeFileSync(harness.at('cut.json'), '{"version":1,"run":');
  const cut = await harness.start(harness.at('cut.json')).finished;
  assert.equal(cut.exit, 117);
  assert.match(cut.stderr, /the work order .*cut\.json is damaged/);
});

test('a scratch folder that cannot be created is named', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({ scratchParent: harness.at('nowhere') });
  assert.equal(exit, 108);
  assert.ok(stderr.includes(harness.at('nowhere')), stderr);
  assert.equal(harness.entries('agent-ended')[0]?.exit, 108);
});
