import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { loadPlan } from '../../src/job/load-plan.ts';
import { readJournal } from '@updraft/account/journal';
import { renderSbatch, slurmPolicy } from '../../src/pool/slurm/render-sbatch.ts';
import { compileCache } from '../compile-cache.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { project } from './slurm-harness.ts';
import { agentMain } from '../programs.ts';

interface Ran {
  exit: number | null;
  /** What Slurm was asked to do. */
  asked: string[];
  /** The ends of attempts and of the job, from its journal. */
  ends: string[];
}

interface Step {
  /** The agent's exit code, and what it writes into its journal first. */
  exit: number;
  journal?: string;
  /** The job's state in squeue. */
  state?: string;
  env?: Record<string, string>;
}

/** A job's script with a scripted agent and Slurm; each step is one start of the job. */
async function taskHarness(
  t: TestContext,
  more: Parameters<typeof project>[1] = {},
): Promise<{ step: (step: Step) => Promise<Ran>; folder: string }> {
  const folder = await temporaryFolder(t, project('', more));
  const plan = await loadPlan(folder, { cwd: folder });
  await mkdir(path.join(folder, 'slurm/orders'), { recursive: true });
  await mkdir(path.join(folder, 'bin'));
  await writeFile(path.join(folder, 'slurm/orders/0000.json'), '');
  await writeFile(path.join(folder, 'job.sh'), renderSbatch({ plan, run: 'bench-1' }));
  await writeFile(path.join(folder, 'slurm/policy.json'), JSON.stringify(slurmPolicy(plan)));
  const agent = [
    '#!/bin/sh',
    'case $1 in',
    '  --version) exit "${FAKE_BROKEN:-0}" ;;',
    `  next) exec '${process.execPath}' '${agentMain}' "$@" ;;`,
    '  *) cat "$FAKE/journal" > "$3/jobs/0000/attempt-$4/agent.jsonl"',
    '    trap "exit 113" USR2',
    '    [ -z "${FAKE_ASKED:-}" ] || { kill -TERM "$PPID"; while :; do sleep 0.05; done; }',
    '    exit "$FAKE_EXIT" ;;',
    'esac',
    '',
  ].join('\n');
  await writeFile(path.join(folder, 'slurm/updraft-agent.gz'), gzipSync(agent));
  for (const [name, text] of Object.entries({
    squeue: 'echo "$FAKE_STATE"',
    scontrol: 'echo "$*" >> "$FAKE/asked"',
  })) {
    await writeFile(path.join(folder, 'bin', name), `#!/bin/sh\n${text}\n`);
    await chmod(path.join(folder, 'bin', name), 0o755);
  }
  const step = async ({ exit, journal = '', state = 'RUNNING', env = {} }: Step): Promise<Ran> => {
    await writeFile(path.join(folder, 'asked'), '');
    await writeFile(path.join(folder, 'journal'), journal);
    const { status } = spawnSync('sh', [path.join(folder, 'job.sh')], {
      cwd: folder,
      env: {
        PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
        TMPDIR: folder,
        NODE_COMPILE_CACHE: compileCache,
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
  const { step } = await taskHarness(t);
  assert.deepEqual(await step({ exit: 0 }), {
    exit: 0,
    asked: [],
    ends: ['attempt-ended success', 'job-ended success'],
  });
});

test('a failure is handled as the agent decides: requeued elsewhere, later, or not', async (t) => {
  const { step } = await taskHarness(t, { run: 'attempts = 3' });
  const starts: string[] = [];
  for (const [node, exit] of [
    ['n1', 115],
    ['n2', 115],
    ['n3', 3],
  ] as const) {
    const { asked } = await step({ exit, env: { SLURMD_NODENAME: node } });
    starts.push(asked.join('; '));
  }
  const again = (nodes: string): string =>
    `requeue 7_0; update JobId=7_0 ExcNodeList=${nodes}; update JobId=7_0 StartTime=now+5`;
  assert.deepEqual(starts, [again('n1'), again('n1,n2'), '']);
});

test('memory that the agent requests is requested from Slurm', async (t) => {
  const { step } = await taskHarness(t);
  const { asked } = await step({ exit: 137, env: { SLURM_MEM_PER_NODE: '954' } });
  assert.equal(asked[1], 'update JobId=7_0 MinMemoryNode=1908');
});

test('a job that Slurm itself is ending is never requeued by its script, and Slurm reports its end', async (t) => {
  const { step } = await taskHarness(t);
  for (const state of ['COMPLETING', 'CANCELLED', 'PREEMPTED']) {
    const { asked, ends } = await step({ exit: 113, state });
    assert.deepEqual([asked, ends.at(-1)], [[], 'attempt-ended evicted'], state);
  }
});

test('an agent is asked to leave where Slurm only asks the script, as with control groups', async (t) => {
  const { step } = await taskHarness(t);
  const { exit, ends } = await step({ exit: 0, state: 'COMPLETING', env: { FAKE_ASKED: '1' } });
  assert.deepEqual([exit, ends], [113, ['attempt-ended evicted']]);
});

test('setting the clock during an attempt changes no time in the journal', async (t) => {
  const { step, folder } = await taskHarness(t);
  // A day earlier from the second call on; the script may call it only once.
  const date = [
    '#!/bin/sh',
    'case $* in *-d*) exec /bin/date "$@" ;; esac',
    'echo x >> "$FAKE/dates"',
    '/bin/date -d "$([ $(wc -l < "$FAKE/dates") -gt 1 ] && echo yesterday || echo now)" "$@"',
    '',
  ].join('\n');
  await writeFile(path.join(folder, 'bin/date'), date);
  await chmod(path.join(folder, 'bin/date'), 0o755);
  await step({ exit: 0 });
  const { entries } = await readJournal(path.join(folder, 'jobs/0000/slurm.jsonl'));
  const times = entries.map((entry) => Date.parse(entry.t));
  assert.ok(times.length > 2 && Math.max(...times) - Math.min(...times) < 3_600_000, JSON.stringify(entries));
});

test('an attempt whose node was lost is recorded by the next one', async (t) => {
  const { step, folder } = await taskHarness(t);
  await mkdir(path.join(folder, 'jobs/0000/attempt-1'), { recursive: true });
  const { ends } = await step({ exit: 0 });
  assert.deepEqual(ends, ['attempt-ended lost', 'attempt-ended success', 'job-ended success']);
});

test('a node on which the agent does not run is avoided, at most twice', async (t) => {
  const { step } = await taskHarness(t);
  const env = { FAKE_BROKEN: '1' };
  const first = await step({ exit: 0, env });
  assert.equal(first.exit, 116);
  assert.deepEqual(first.asked.slice(0, 2), ['requeue 7_0', 'update JobId=7_0 ExcNodeList=n1']);
  const second = await step({ exit: 0, env });
  assert.deepEqual([second.asked, second.ends.at(-1)], [[], 'job-ended failed']);
});
