import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { RunState } from '@updraft/account/journal';
import { condorFiles } from '../../src/pool/condor/condor-files.ts';
import { onlyJob, result } from '../condor/condor-harness.ts';
import { type CatalogueHarness, catalogueHarness, constraint, endsOf, jobFile } from './catalogue-harness.ts';
import { starterOf } from './starter-of.ts';

interface Counting {
  harness: CatalogueHarness;
  /** An argument of its command, by which its processes are found. */
  mark: string;
  /** Lets the training end. */
  go: () => Promise<void>;
}

/**
 * A job that counts in its checkpoint, half a second each, at least to `until` and as long as it may not end; after step
 * 2 the checkpoint goes to the access point.
 */
async function counting(
  t: TestContext,
  until: number,
  { resources = '', run = '' } = {},
): Promise<Counting | undefined> {
  const mark = `mark-${randomUUID()}`;
  const train = 'files = ["train.sh"]\ncheckpoint = "ckpt"';
  const toml = jobFile(`sh train.sh ${mark}`, { train, run });
  const harness = await catalogueHarness(t, () => ({
    'updraft.toml': toml.replace('[resources]', `[resources]\n${resources}`),
  }));
  if (harness === undefined) return undefined;
  const { here, onWorker } = await harness.meetingPlace();
  const script = `
trap 'exit 85' TERM
n=$(cat ckpt/step 2>/dev/null || echo 0)
while [ $n -lt ${until} ] || [ ! -e '${onWorker}/go' ]; do
  n=$((n+1)); echo "step $n/99"; echo $n > ckpt/part; mv ckpt/part ckpt/step
  [ $n = 2 ] && exit 85
  sleep 0.5 & wait $!
done
echo $n > out
`;
  await writeFile(path.join(harness.folder, 'train.sh'), script);
  return { harness, mark, go: () => writeFile(path.join(here, 'go'), '') };
}

const isPast =
  (step: number) =>
  (state: RunState): boolean =>
    (onlyJob(state).attempts[0]?.agent?.training?.step ?? 0) >= step;

describe('machines that go away', { concurrency: 4 }, () => {
  test('F8: a job whose connection is lost for good resumes elsewhere from its checkpoint', async (t) => {
    const job = await counting(t, 4);
    if (job === undefined) return;
    const { harness, mark, go } = job;
    const run = await harness.submit();
    await harness.until(run, isPast(4));
    process.kill(await starterOf(mark), 'SIGKILL');
    await go();
    const ended = onlyJob(await harness.finish(run));
    assert.equal(ended.outcome, 'success', endsOf(ended));
    assert.ok(Number(await result(run, 'out')) >= 4);
    assert.equal(ended.attempts.at(-1)?.agent?.resumed?.savedBy, 1);
    const { because } = await harness.why(run);
    assert.match(because.join(' '), /connection to the machine was lost/);
  });

  test('F9: a job whose lease expires on a machine that hangs resumes elsewhere from its checkpoint', async (t) => {
    // No slot takes it before its lease is as short as HTCondor allows.
    const job = await counting(t, 4, { run: `requirements = 'MY.Go =?= true'` });
    if (job === undefined) return;
    const { harness, mark } = job;
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
    assert.ok(first?.ending === 'evicted' || first?.ending === 'lost', endsOf(onlyJob(state)));
    assert.equal(second?.agent?.resumed?.savedBy, 1);
    const { because } = await harness.why(run);
    assert.match(because.join(' '), /JobLeaseDuration|connection to the machine was lost/);
  });

  test('F12: a training that needs longer than the limit resumes from its checkpoint', async (t) => {
    const job = await counting(t, 16, { resources: 'time = "6s"' });
    if (job === undefined) return;
    const { harness, go } = job;
    const run = await harness.submit();
    await go();
    const ended = onlyJob(await harness.finish(run));
    assert.equal(ended.outcome, 'success', endsOf(ended));
    // Its last start may have had no step left; one that starts over never reaches the end.
    const { savedBy, movedOn } = ended.attempts[0]?.agent?.resumed ?? {};
    assert.deepEqual([savedBy, movedOn ?? true], [1, true]);
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
    const job = await counting(t, 6);
    if (job === undefined) return;
    const { harness, go } = job;
    const run = await harness.submit();
    await harness.until(run, isPast(6));
    await harness.tool('condor_vacate_job', ...constraint(run));
    // Before that, the training could end by itself.
    await harness.until(run, (state) => onlyJob(state).attempts.length > 1);
    await go();
    const ended = onlyJob(await harness.finish(run));
    assert.deepEqual(
      [ended.outcome, ...ended.attempts.map(({ ending }) => ending)],
      ['success', 'evicted', 'success'],
      endsOf(ended),
    );
    const [, second] = ended.attempts;
    const agents = JSON.stringify(ended.attempts.map(({ agent }) => agent));
    const events = await readFile(path.join(run, condorFiles.eventLog), 'utf8');
    assert.ok((second?.agent?.resumed?.step ?? 0) >= 5, `${agents}\n${events}`);
  });
});
