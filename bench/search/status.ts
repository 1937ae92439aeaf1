import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { AgentBody } from '@updraft/account/journal';
import { bundlePrograms } from '../../scripts/bundle-programs.ts';
import type { Job } from '../../src/job/job.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { writePlan } from '../../src/run/create-run.ts';
import { judge } from '../../src/search/rungs.ts';
import { WrittenRun } from '../../test/dashboard/imagenet-run.ts';
import { median } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';
import { useOf } from '../use-of.ts';
import { epochs, randomNumbers, ranges, train } from './curves.ts';

/** `node bench/search/status.ts [TRIALS [REPORTS]]`: what a search, with this number of reports an epoch, costs the commands. */
const [trials = 1000, reports = 10] = process.argv.slice(2).map(Number);
const rounds = 3;
const sha256 = 'f'.repeat(64);
const sums = { attempts: 0, stopped: 0, entries: 0 };
const commands = [['status'], ['results'], ['results', '--csv'], ['why']];

const folder = scratchFolder('memory');
const list = Object.entries(ranges).map(([name, range]) => `${name} = ${toml(range)}`);
await writeFile(
  path.join(folder, 'updraft.toml'),
  `name = "search"
[train]
command = "python3 train.py ${Object.keys(ranges)
    .map((name) => `--${name} {${name}}`)
    .join(' ')}"
outputs = ["model.pt"]
checkpoint = "checkpoints"
[search]
trials = ${trials}
metric = "val_accuracy"
epochs = [1, 3, 9, ${epochs}]
[search.ranges]
${list.join('\n')}
`,
);
function toml(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(':', '=')
    .replaceAll('"log"', 'log')
    .replaceAll('"int"', 'int')
    .replaceAll('"uniform"', 'uniform');
}

await bundlePrograms();
const run = await writeSearch(path.join(folder, 'runs', 'search-20260101T000000_abcd'));
const rows = commands.map((command) => {
  const uses = Array.from({ length: rounds }, () => useOf([...command, run]));
  return [
    command.join(' '),
    median(uses.map(({ cpu }) => cpu)).toFixed(2),
    median(uses.map(({ peak }) => peak)).toFixed(0),
  ];
});
console.log(markdownTable(['', 'CPU, s', 'MB'], rows));

/** The journals of the search: trainings that really ran, judged as agents judge; a third of all attempts was evicted. */
async function writeSearch(runFolder: string): Promise<string> {
  const plan = await loadPlan(folder);
  await mkdir(runFolder, { recursive: true });
  await writePlan(runFolder, plan);
  const run = new WrittenRun(runFolder, Date.now() - 86_400_000);
  const { jobs, planHash } = plan;
  const ids = jobs.map(({ id }) => id);
  const [name, pool, version] = ['search', 'local', '1'];
  run.add(0, {
    kind: 'run-created',
    run: path.basename(runFolder),
    name,
    pool,
    planHash,
    version,
    jobs: ids,
  });
  const random = randomNumbers(1);
  const tables: number[][] = jobs[0]?.rungs?.budgets.map(() => []) ?? [];
  for (const [index, job] of jobs.entries()) await writeTrial(run, job, index, tables, random);
  await run.write();
  const { attempts, stopped, entries } = sums;
  console.log(
    `${trials} trials, ${attempts} attempts, ${stopped} stopped early, ${entries} entries of agents\n`,
  );
  return runFolder;
}

async function writeTrial(
  run: WrittenRun,
  { id: job, rungs, parameters }: Job,
  index: number,
  tables: number[][],
  random: () => number,
): Promise<void> {
  const curve = train(parameters, index);
  let [attempt, epoch, second, isStopped] = [0, 0, 60 + index * 60, false];
  for (; epoch < epochs && !isStopped;) {
    attempt += 1;
    const entries: [number, AgentBody][] = [];
    const say = (body: AgentBody): void => void entries.push([(second += 1), body]);
    run.add(second, {
      kind: 'attempt-started',
      job,
      attempt,
      why: attempt === 1 ? 'first attempt' : 'evicted',
    });
    begin(say, index, attempt);
    const lasts = random() < 1 / 3 ? epoch + Math.floor(random() * 6) : epochs;
    for (; epoch < epochs && epoch < lasts && !isStopped; epoch++) {
      const value = curve[epoch] ?? 0;
      sayEpoch(say, epoch, value);
      const rung = rungs?.budgets.indexOf(epoch + 1) ?? -1;
      const table = tables[rung];
      if (rungs === undefined || table === undefined) continue;
      const verdict = judge(value, table, rungs);
      table.push(value);
      isStopped = !verdict.goesOn && epoch + 1 < epochs;
      const { metric, unit } = rungs;
      say({
        kind: 'rung',
        metric,
        unit,
        rung: rung + 1,
        at: epoch + 1,
        value,
        ...verdict,
        goesOn: !isStopped,
      });
    }
    const outcome = isStopped || epoch === epochs ? 'success' : 'evicted';
    end(say, isStopped, outcome);
    run.add(second, { kind: 'attempt-ended', job, attempt, outcome, exit: 0 });
    await run.agent(job, attempt, entries);
    sums.entries += entries.length;
  }
  run.add(second + 1, { kind: 'job-ended', job, outcome: 'success' });
  sums.attempts += attempt;
  sums.stopped += Number(isStopped);
}

function sayEpoch(say: (body: AgentBody) => void, epoch: number, value: number): void {
  for (let at = 1; at <= reports; at++)
    say({
      ...{ kind: 'progress', epoch: epoch + at / reports, epochs, loss: 1 - value + at / 100 },
      ...(at === reports && { metrics: { val_accuracy: value } }),
    });
  say({ kind: 'heartbeat', memoryBytes: 1e9, quietSeconds: 1 });
  say({ kind: 'checkpoint-saved', files: 1, bytes: 65_536, sha256, seconds: 0.1, epoch });
}

function begin(say: (body: AgentBody) => void, index: number, attempt: number): void {
  say({
    kind: 'agent-started',
    version: '1',
    host: `gpu${index % 97}.example`,
    pid: 1,
    site: `S${index % 20}`,
    gpus: ['A100'],
  });
  say({ kind: 'gpus-found', gpus: ['NVIDIA A100-SXM4-40GB'], driver: '550.1' });
  say({ kind: 'self-test', checks: [{ name: 'disk', ok: true, said: '20 GB are free' }] });
  if (attempt > 1) say({ kind: 'checkpoint-restored', savedBy: attempt - 1 });
  say({ kind: 'phase', phase: 'training' });
  say({ kind: 'training-started', pid: 2, command: 'python3 train.py --lr 0.1' });
}

function end(say: (body: AgentBody) => void, stoppedEarly: boolean, outcome: 'success' | 'evicted'): void {
  say({ kind: 'training-ended', status: outcome === 'success' && !stoppedEarly ? 0 : 85 });
  if (outcome === 'success' && !stoppedEarly)
    say({ kind: 'output', path: 'model.pt', bytes: 65_536, sha256 });
  say({ kind: 'agent-ended', outcome, exit: 0, ...(stoppedEarly && { stoppedEarly }) });
  say({ kind: 'cleaned', bytes: 1e6 });
}
