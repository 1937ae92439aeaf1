import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { RunState } from '../../src/journal/state.ts';
import { onlyJob, result } from '../condor/condor-harness.ts';
import { catalogueHarness, constraint, endsOf, jobFile } from './catalogue-harness.ts';
import { starterOf } from './starter-of.ts';

/**
 * Counts to `until` in its checkpoint, half a second each; after step 2 the checkpoint goes to the access point. The
 * mark is an argument of its command, by which its processes are found.
 */
function counting(until: number, run = ''): { mark: string; files: () => Record<string, string> } {
  const mark = `mark-${randomUUID()}`;
  const script = `
trap 'exit 85' TERM
n=$(cat ckpt/step 2>/dev/null || echo 0)
while [ $n -lt ${until} ]; do
  n=$((n+1)); echo "step $n/${until}"; echo $n > ckpt/part; mv ckpt/part ckpt/step
  [ $n = 2 ] && exit 85
  sleep 0.5 & wait $!
done
echo $n > out
`;
  const train = 'files = ["train.sh"]\ncheckpoint = "ckpt"';
  const toml = jobFile(`sh train.sh ${mark}`, { train, run });
  return { mark, files: () => ({ 'updraft.toml': toml, 'train.sh': script }) };
}

const isPast =
  (step: number) =>
  (state: RunState): boolean =>
    (onlyJob(state).attempts[0]?.agent?.training?.step ?? 0) >= step;

describe('machines that go away', { concurrency: 4 }, () => {
  test('F8: a job whose connection is lost for good resumes elsewhere from its checkpoint', async (t) => {
    const { mark, files } = counting(14);
    const harness = await catalogueHarness(t, files);
    if (harness === undefined) return;
    const run = await harness.submit();
    await harness.until(run, isPast(4));
    process.kill(await starterOf(mark), 'SIGKILL');
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'success', endsOf(job));
    assert.equal(await result(run, 'out'), '14\n');
    assert.equal(job.attempts.at(-1)?.agent?.resumed?.savedBy, 1);
    const { because } = await harness.why(run);
    assert.match(because.join(' '), /connection to the machine was lost/);
  });

  test('F9: a job whose lease expires on a machine that hangs resumes elsewhere from its checkpoint', async (t) => {
    // No slot takes it before its lease is as short as HTCondor allows.
    const { mark, files } = counting(60, `requirements = 'MY.Go =?= true'`);
    const harness = await catalogueHarness(t, files);
    if (harness === undefined) return;
    const run = await harness.submit();
    await harness.tool('condor_qedit', ...constraint(run), 'JobLeaseDuration', '20');
    await harness.tool('condor_qedit', ...constraint(run), 'Go', 'true');
    await harness.until(run, isPast(4));
    const starter = await starterOf(mark);
    t.after(() => {
      try {
        process.kill(starter, 'SIGKILL');
      } catch {
        // HTCondor has ended it
      }
    });
    process.kill(starter, 'SIGSTOP');
    const state = await harness.until(run, (seen) => onlyJob(seen).attempts[1]?.agent?.resumed !== undefined);
    const [first, second] = onlyJob(state).attempts;
    assert.ok(first?.outcome === 'evicted' || first?.outcome === 'lost', endsOf(onlyJob(state)));
    assert.equal(second?.agent?.resumed?.savedBy, 1);
    const { because } = await harness.why(run);
    assert.match(because.join(' '), /JobLeaseDuration|connection to the machine was lost/);
  });

  test('F12: a training that needs longer than the limit resumes from its checkpoint', async (t) => {
    const { files } = counting(16);
    const harness = await catalogueHarness(t, () => {
      const { 'updraft.toml': toml = '', ...sent } = files();
      return { 'updraft.toml': toml.replace('[resources]', '[resources]\ntime = "6s"'), ...sent };
    });
    if (harness === undefined) return;
    const run = await harness.submit();
    const job = onlyJob(await harness.finish(run));
    assert.equal(job.outcome, 'success', endsOf(job));
    assert.equal(job.attempts[0]?.agent?.resumed?.movedOn, true);
  });

  test('F12: without a checkpoint a job longer than the pool allows is refused in advance', async (t) => {
    const harness = await catalogueHarness(t, () => ({
      'updraft.toml': jobFile('sleep 1; echo 1 > out')
        .replace('[resources]', '[resources]\ntime = "50h"')
        .replace('[run]', '[run]\nprofile = "ospool"'),
    }));
    if (harness === undefined) return;
    const { exit, findings } = await harness.check('--quick');
    assert.equal(exit, 3);
    assert.match(
      findings.find(({ rule }) => rule === 'duration')?.message ?? '',
      /"2d2h" is longer than the limit of 20h on the OSPool/,
    );
  });

  test('F17: an eviction during the training loses only what came after the last checkpoint', async (t) => {
    const { files } = counting(14);
    const harness = await catalogueHarness(t, files);
    if (harness === undefined) return;
    const run = await harness.submit();
    await harness.until(run, isPast(6));
    await harness.tool('condor_vacate_job', ...constraint(run));
    const job = onlyJob(await harness.finish(run));
    assert.deepEqual(
      [job.outcome, ...job.attempts.map(({ outcome }) => outcome)],
      ['success', 'evicted', 'success'],
      endsOf(job),
    );
    assert.ok((job.attempts[1]?.agent?.resumed?.step ?? 0) >= 5, JSON.stringify(job.attempts[1]?.agent));
  });
});
