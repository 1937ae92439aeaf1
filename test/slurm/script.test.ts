import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { loadPlan } from '../../src/job/load-plan.ts';
import { readJournal } from '../../src/journal/read-journal.ts';
import { renderSbatch } from '../../src/pool/slurm/render-sbatch.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { project } from './slurm-bench.ts';

interface Told {
  exit: number | null;
  /** What Slurm was asked to do. */
  asked: string[];
  /** Of the job's journal, the ends of attempts and of the job. */
  ends: string[];
}

interface Step {
  /** What the agent ends with, and writes into its journal before. */
  exit: number;
  journal?: string;
  /** How squeue says that the job stands. */
  state?: string;
  env?: Record<string, string>;
}

/** A job's script with an agent and a Slurm that do as the test says; each step is one start of the job. */
async function taskBench(
  t: TestContext,
  more: Parameters<typeof project>[1] = {},
): Promise<{ step: (step: Step) => Promise<Told>; folder: string }> {
  const folder = await temporaryFolder(t, project('', more));
  const plan = await loadPlan(folder, { cwd: folder });
  await mkdir(path.join(folder, 'slurm/orders'), { recursive: true });
  await mkdir(path.join(folder, 'bin'));
  await writeFile(path.join(folder, 'slurm/orders/0000.json'), '');
  await writeFile(path.join(folder, 'job.sh'), renderSbatch({ plan, run: 'bench-1' }));
  const agent =
    '#!/bin/sh\n[ "$1" = --version ] || { cat "$FAKE/journal" > "$3/jobs/0000/attempt-$4/agent.jsonl"; exit "$FAKE_EXIT"; }\n';
  await writeFile(path.join(folder, 'slurm/updraft-agent.gz'), gzipSync(agent));
  for (const [name, text] of Object.entries({
    squeue: 'echo "$FAKE_STATE"',
    scontrol: 'echo "$*" >> "$FAKE/asked"',
  })) {
    await writeFile(path.join(folder, 'bin', name), `#!/bin/sh\n${text}\n`);
    await chmod(path.join(folder, 'bin', name), 0o755);
  }
  const step = async ({ exit, journal = '', state = 'RUNNING', env = {} }: Step): Promise<Told> => {
    await writeFile(path.join(folder, 'asked'), '');
    await writeFile(path.join(folder, 'journal'), journal);
    const { status } = spawnSync('sh', [path.join(folder, 'job.sh')], {
      cwd: folder,
      env: {
        PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
        TMPDIR: folder,
        FAKE: folder,
        FAKE_EXIT: String(exit),
        FAKE_STATE: state,
        SLURM_SUBMIT_DIR: folder,
        SLURM_ARRAY_JOB_ID: '7',
        SLURM_ARRAY_TASK_ID: '0',
        SLURMD_NODENAME: 'n1',
        SLURM_CPUS_PER_TASK: '1',
        ...env,
      },
    });
    const { entries, garbled } = await readJournal(path.join(folder, 'jobs/0000/slurm.jsonl'));
    assert.equal(garbled, 0);
    const asked = (await readFile(path.join(folder, 'asked'), 'utf8'))
      .split('\n')
      .filter((line) => line !== '');
    const ends = entries.flatMap((entry) =>
      entry.kind === 'attempt-ended' || entry.kind === 'job-ended' ? [`${entry.kind} ${entry.outcome}`] : [],
    );
    return { exit: status, asked, ends };
  };
  return { step, folder };
}

test('a valid result ends the job, and nothing is asked of Slurm', async (t) => {
  const { step } = await taskBench(t);
  assert.deepEqual(await step({ exit: 0 }), {
    exit: 0,
    asked: [],
    ends: ['attempt-ended success', 'job-ended success'],
  });
});

test('trouble of a node is tried on others at once, then after waits, until the attempts are used up', async (t) => {
  const { step } = await taskBench(t, { run: 'attempts = 4' });
  const starts: string[] = [];
  for (const node of ['n1', 'n2', 'n3', 'n4']) {
    const { asked } = await step({ exit: 115, env: { SLURMD_NODENAME: node } });
    starts.push(asked.join('; '));
  }
  const again = (nodes: string, wait: number): string =>
    `requeue 7_0; update JobId=7_0 ExcNodeList=${nodes}; update JobId=7_0 StartTime=now+${wait}`;
  assert.deepEqual(starts, [again('n1', 5), again('n1,n2', 5), again('n1,n2,n3', 1205), '']);
});

test('trouble that passes waits longer each time; what would end the same way is not tried again', async (t) => {
  const { step } = await taskBench(t);
  const object = await step({ exit: 96 });
  assert.deepEqual(object.asked, ['requeue 7_0', 'update JobId=7_0 StartTime=now+305']);
  assert.deepEqual((await step({ exit: 96 })).asked.at(-1), 'update JobId=7_0 StartTime=now+605');
  const failed = await step({ exit: 3 });
  assert.deepEqual([failed.exit, failed.asked, failed.ends.at(-1)], [3, [], 'job-ended failed']);
});

test('a training that is killed gets twice the memory, up to what the job file allows', async (t) => {
  const { step } = await taskBench(t);
  const memory = (asked: string[]): string | undefined => asked.find((line) => line.includes('MinMemory'));
  const grown = async (has: number) =>
    memory((await step({ exit: 137, env: { SLURM_MEM_PER_NODE: `${has}` } })).asked);
  assert.equal(await grown(954), 'update JobId=7_0 MinMemoryNode=1908');
  assert.equal(await grown(1908), 'update JobId=7_0 MinMemoryNode=3815');
  const { asked, ends } = await step({ exit: 137, env: { SLURM_MEM_PER_NODE: '3815' } });
  assert.deepEqual([asked, ends.at(-1)], [[], 'job-ended failed']);
});

test('a time limit with a checkpoint that moved on is tried again any number of times, without one once', async (t) => {
  const { step } = await taskBench(t);
  const entry = (body: object): string =>
    `${JSON.stringify({ v: 1, t: '2026-01-01T00:00:00.000Z', seq: 0, job: '0000', attempt: 1, ...body })}\n`;
  const saved = entry({ kind: 'checkpoint-saved', files: 1, bytes: 1, sha256: '' });
  const restored = entry({ kind: 'checkpoint-restored', savedBy: 1 });
  const moved = entry({ kind: 'resume-checked', movedOn: true });
  const isAgain = async (journal: string) => (await step({ exit: 114, journal })).asked[0] === 'requeue 7_0';
  for (let time = 0; time < 6; time++) assert.ok(await isAgain(saved + restored + moved));
  assert.ok(await isAgain(saved));
  assert.ok(await isAgain(saved + restored), 'the first failure');
  assert.ok(!(await isAgain(saved + restored)), 'the second failure');
});

test('a job that Slurm itself is ending is never queued again by its script, and its end is left to Slurm to tell', async (t) => {
  const { step } = await taskBench(t);
  for (const state of ['COMPLETING', 'CANCELLED', 'PREEMPTED']) {
    const { asked, ends } = await step({ exit: 113, state });
    assert.deepEqual([asked, ends.at(-1)], [[], 'attempt-ended evicted'], state);
  }
});

test('no attempt is begun later than the job file allows', async (t) => {
  const { step, folder } = await taskBench(t, { run: '[recovery]\ngive_up_after = "1h"' });
  assert.notDeepEqual((await step({ exit: 115 })).asked, []);
  const longAgo = Date.now() / 1000 - 7200;
  await utimes(path.join(folder, 'slurm/orders/0000.json'), longAgo, longAgo);
  const late = await step({ exit: 115 });
  assert.deepEqual([late.asked, late.ends.at(-1)], [[], 'job-ended failed']);
});

test('an attempt whose node was lost is told by the next one', async (t) => {
  const { step, folder } = await taskBench(t);
  await mkdir(path.join(folder, 'jobs/0000/attempt-1'), { recursive: true });
  const { ends } = await step({ exit: 0 });
  assert.deepEqual(ends, ['attempt-ended lost', 'attempt-ended success', 'job-ended success']);
});
