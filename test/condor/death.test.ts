import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { condorHarness, onlyJob } from './condor-harness.ts';

/** Runs one job with the real agent; returns its state and what each attempt requested. */
async function died(t: TestContext, command: string) {
  const job = `name = "dies"
[train]
command = '''
${command}
echo done > o'''
outputs = ["o"]
[resources]
memory = "128 MB"
disk = "20 MB"
[run]
pool = "condor"
[recovery]
disk_max = "1 GB"
`;
  const harness = await condorHarness(t, { 'updraft.toml': job });
  if (harness === undefined) return undefined;
  const run = await harness.submit();
  const state = onlyJob(await harness.finish(run));
  const mine = `UpdraftRun == "${path.basename(run)}"`;
  // HTCondor writes an attempt into its history before the job leaves the queue, but after the log says that it ended.
  await harness.untilQueue('', mine, 'ClusterId');
  const asked = await harness.tool(
    'condor_history',
    '-epochs',
    '-constraint',
    mine,
    '-af',
    'RequestMemory',
    'RequestDisk',
  );
  const requests = asked.split('\n').reverse();
  return { state, requests: requests.map((line) => line.split(' ').map(Number)) };
}

describe('a training that dies on a real pool', { concurrency: 3 }, () => {
  test('of memory is retried with twice as much each time', async (t) => {
    const seen = await died(t, '[ $UPDRAFT_ATTEMPT -gt 2 ] || exec python3 -c "raise MemoryError"');
    if (seen === undefined) return;
    const { state, requests } = seen;
    assert.equal(state.outcome, 'success', JSON.stringify(state));
    assert.deepEqual(
      state.attempts.map(({ exit, fault }) => [exit, fault?.kind]),
      [
        [86, 'memory-exceeded'],
        [86, 'memory-exceeded'],
        [0, undefined],
      ],
    );
    assert.deepEqual(
      requests.map(([memory]) => memory),
      [123, 246, 489],
    );
  });

  test('of a full disk is retried elsewhere with more disk', async (t) => {
    const seen = await died(t, '[ $UPDRAFT_ATTEMPT -gt 2 ] || exec python3 -c "raise OSError(28, chr(78))"');
    if (seen === undefined) return;
    const { state, requests } = seen;
    const exits = state.attempts.map(({ exit }) => exit);
    // A start that a busy pool did not bring to the agent is one attempt less here.
    assert.deepEqual([[...new Set(exits)], state.outcome], [[107, 0], 'success'], JSON.stringify(state));
    const disks = requests.map(([, disk = 0]) => disk);
    assert.deepEqual(
      disks.slice(1).map((disk, at) => disk / (disks[at] ?? 0)),
      exits.slice(1).map(() => 2),
    );
    assert.equal(new Set(state.attempts.map(({ site }) => site)).size, exits.length);
  });

  test('with an empty output on a full disk is retried elsewhere with more disk', async (t) => {
    const full = "echo 'tee: o: No space left on device' >&2; : > o; exit 0";
    const seen = await died(t, `if [ $UPDRAFT_ATTEMPT = 1 ]; then ${full}; fi`);
    if (seen === undefined) return;
    const { state, requests } = seen;
    assert.deepEqual(
      state.attempts.map(({ exit, fault }) => [exit, fault?.kind]),
      [
        [107, 'disk-full'],
        [0, undefined],
      ],
      JSON.stringify(state),
    );
    const [first = 0, second = 0] = requests.map(([, disk]) => disk);
    assert.equal(second / first, 2);
  });

  test('of an unknown signal is retried elsewhere', async (t) => {
    const seen = await died(t, '[ $UPDRAFT_ATTEMPT -gt 1 ] || exec kill -9 $$');
    if (seen === undefined) return;
    const { state } = seen;
    assert.deepEqual(
      state.attempts.map(({ exit }) => exit),
      [87, 0],
      JSON.stringify(state),
    );
    assert.equal(new Set(state.attempts.map(({ site }) => site)).size, 2);
  });
});
