import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { isAgentEntry, readJournal } from '@updraft/account/journal';
import { condorHarness, onlyJob } from './condor-harness.ts';

/** A training with a folder of many small files besides its checkpoint. */
const files = {
  'updraft.toml': `
name = "many-files"
[train]
command = "sh train.sh"
files = ["train.sh"]
outputs = ["out.txt"]
checkpoint = "ckpt"
[run]
pool = "condor"
`,
  'train.sh': `
n=$(cat ckpt/step 2>/dev/null || echo 0)
if [ $n = 0 ]; then mkdir many; (cd many && seq 20000 | xargs touch); fi
while [ $n -lt 6 ] || { [ $n -lt 1000 ] && [ -d many ]; }; do
  n=$((n+1)); echo "step $n/1000"; echo $n > ckpt/part; mv ckpt/part ckpt/step
  sleep 0.3
done
echo $n > out.txt
`,
};

test('an eviction with many files loses neither checkpoint nor journal: the pool removes the files later', async (t) => {
  const harness = await condorHarness(t, files);
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.until(run, (state) => (onlyJob(state).attempts[0]?.agent?.training?.step ?? 0) >= 6);
  await harness.tool('condor_vacate_job', '-constraint', `UpdraftRun == "${path.basename(run)}"`);
  const ended = onlyJob(await harness.finish(run));
  assert.equal(ended.outcome, 'success', JSON.stringify(ended));
  assert.deepEqual(
    ended.attempts.map(({ ending }) => ending),
    ['evicted', 'success'],
  );
  assert.equal(ended.attempts[1]?.agent?.resumed?.savedBy, 1);
  const { entries } = await readJournal(path.join(run, 'jobs/0000/attempt-1/agent.jsonl'));
  const last = entries.filter(isAgentEntry).slice(-2);
  assert.deepEqual(
    last.map(({ kind }) => kind),
    ['agent-ended', 'cleaned'],
  );
  assert.ok(last[1]?.kind === 'cleaned' && last[1].by === 'pool' && last[1].files === 0);
});
