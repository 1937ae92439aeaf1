import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { type AgentEntry, isAgentEntry, readJournal } from '@updraft/account/journal';
import { condorHarness, onlyJob, result } from './condor-harness.ts';

/** Data on a web server that counts its requests. */
async function served(t: TestContext): Promise<{ url: string; asked: () => number }> {
  let asked = 0;
  const server = http
    .createServer(({ method }, response) => {
      if (method === 'GET') asked += 1;
      response.end('data');
    })
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/data.bin`, asked: () => asked };
}

/** Counts to `until` in its checkpoint, with the command `each` after every step. */
const job = (url: string, until: number, each: string, train = '', more = ''): Record<string, string> => ({
  'updraft.toml': `
name = "checkpointed"
[train]
command = "sh train.sh"
files = ["train.sh"]
outputs = ["out.txt"]
checkpoint = "ckpt"
${train}
[data.d]
url = "${url}"
unpack = "none"
method = "stream"
${more}
[run]
pool = "condor"
`,
  'train.sh': `
trap 'echo asked at $n; exit 1' TERM
cat data/data.bin
n=$(cat ckpt/step 2>/dev/null || echo 0)
while [ $n -lt ${until} ]; do
  n=$((n+1)); echo "step $n/${until}"; echo $n > ckpt/part; mv ckpt/part ckpt/step
  ${each}
done
echo $n > out.txt
`,
});

/** The training counts to 12, and on until it may end: whatever a test does to it happens in time. */
async function countingUntilGo(t: TestContext, url: string, each: string) {
  const harness = await condorHarness(t, {});
  if (harness === undefined) return undefined;
  const { here, onWorker } = await harness.meetingPlace();
  const step = `${each}; [ $n -ge 12 ] && [ -e '${onWorker}/go' ] && break; sleep 0.5 & wait $!`;
  for (const [name, text] of Object.entries(job(url, 1000, step)))
    await writeFile(path.join(harness.folder, name), text);
  return { harness, go: () => writeFile(path.join(here, 'go'), '') };
}

async function entriesOf(run: string, attempt: number): Promise<AgentEntry[]> {
  const { entries } = await readJournal(path.join(run, `jobs/0000/attempt-${attempt}/agent.jsonl`));
  return entries.filter(isAgentEntry);
}

const kinds = (entries: AgentEntry[], kind: AgentEntry['kind']): number =>
  entries.filter((entry) => entry.kind === kind).length;

test('a training that exits with 85 has its checkpoint stored and resumes in its sandbox, with its data fetched once', async (t) => {
  const { url, asked } = await served(t);
  const harness = await condorHarness(t, job(url, 3, 'exit 85'));
  if (harness === undefined) return;
  const run = await harness.submit();
  const ended = onlyJob(await harness.finish(run));
  assert.equal(ended.outcome, 'success', JSON.stringify(ended));
  assert.equal(await result(run, 'out.txt'), '3\n');
  assert.equal(ended.attempts.length, 1);
  const entries = await entriesOf(run, 1);
  assert.deepEqual([kinds(entries, 'fetched'), asked()], [1, 1]);
  assert.deepEqual([kinds(entries, 'agent-started'), kinds(entries, 'agent-paused')], [4, 3]);
  assert.equal(ended.attempts[0]?.agent?.resumed?.savedBy, 1);
});

test('checkpoint_every asks the training to save, and it resumes from there', async (t) => {
  const { url, asked } = await served(t);
  const harness = await condorHarness(t, job(url, 12, 'sleep 0.5 & wait $!', 'checkpoint_every = "3s"'));
  if (harness === undefined) return;
  const run = await harness.submit();
  const ended = onlyJob(await harness.finish(run));
  assert.equal(ended.outcome, 'success', JSON.stringify(ended));
  assert.equal(asked(), 1);
  const entries = await entriesOf(run, 1);
  assert.ok(kinds(entries, 'agent-paused') >= 1);
  assert.ok(entries.some((entry) => entry.kind === 'resume-checked' && entry.movedOn));
});

test('checkpoint_every also asks a silent training that saves only when it is asked', async (t) => {
  const { url } = await served(t);
  const harness = await condorHarness(t, {
    ...job(url, 1, '', 'checkpoint_every = "2s"'),
    'train.sh': `exec python3 -c '
import os, signal, sys
file = os.environ["UPDRAFT_CHECKPOINT"] + "/step"
step = int(open(file).read()) if os.path.exists(file) else 0
def save(*_):
    open(file + ".part", "w").write(str(step + 1))
    os.replace(file + ".part", file)
    sys.exit(85)
signal.signal(signal.SIGTERM, save)
while step < 2:
    signal.pause()
open("out.txt", "w").write(str(step))
'`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  const ended = onlyJob(await harness.finish(run));
  assert.equal(ended.outcome, 'success', JSON.stringify(ended));
  assert.equal(await result(run, 'out.txt'), '2');
  assert.deepEqual([ended.attempts.length, kinds(await entriesOf(run, 1), 'agent-paused')], [1, 2]);
});

test('an attempt that is evicted after such a checkpoint resumes on another slot from what it saved last', async (t) => {
  const { url } = await served(t);
  const waiting = await countingUntilGo(t, url, '[ $n = 2 ] && exit 85');
  if (waiting === undefined) return;
  const { harness, go } = waiting;
  const run = await harness.submit();
  await harness.until(run, (state) => (onlyJob(state).attempts[0]?.agent?.training?.step ?? 0) >= 4);
  await harness.tool('condor_vacate_job', '-constraint', `UpdraftRun == "${path.basename(run)}"`);
  await go();
  const ended = onlyJob(await harness.finish(run));
  assert.equal(ended.outcome, 'success', JSON.stringify(ended));
  assert.deepEqual(
    ended.attempts.map(({ ending }) => ending),
    ['evicted', 'success'],
  );
  const [, second] = ended.attempts;
  assert.equal(second?.agent?.resumed?.savedBy, 1);
  assert.ok((second.agent.resumed.step ?? 0) >= 4, JSON.stringify(second.agent.resumed));
  assert.equal(second.agent.resumed.movedOn, true);
});

test('an attempt whose machine vanishes resumes from the last checkpoint that was transferred', async (t) => {
  const { url } = await served(t);
  const waiting = await countingUntilGo(t, url, '[ $n = 3 ] && exit 85');
  if (waiting === undefined) return;
  const { harness, go } = waiting;
  const run = await harness.submit();
  await harness.until(run, (state) => (onlyJob(state).attempts[0]?.agent?.training?.step ?? 0) >= 4);
  await harness.tool('condor_vacate_job', '-fast', '-constraint', `UpdraftRun == "${path.basename(run)}"`);
  await go();
  const ended = onlyJob(await harness.finish(run));
  assert.equal(ended.outcome, 'success', JSON.stringify(ended));
  // The saved step is known from the log, which is read from time to time.
  assert.match(String(ended.attempts[1]?.agent?.resumed?.step), /^[23]$/);
});

test('at a time limit the training saves its state and resumes in the same place, with its data', async (t) => {
  const { url, asked } = await served(t);
  const harness = await condorHarness(t, job(url, 16, 'sleep 0.5 & wait $!', '', '[resources]\ntime = "6s"'));
  if (harness === undefined) return;
  const run = await harness.submit();
  const ended = onlyJob(await harness.finish(run));
  assert.equal(ended.outcome, 'success', JSON.stringify(ended));
  assert.deepEqual([ended.attempts.length, asked()], [1, 1]);
  assert.ok(kinds(await entriesOf(run, 1), 'agent-paused') >= 1);
});
