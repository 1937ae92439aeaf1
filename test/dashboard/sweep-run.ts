import { defined, mapLimited } from '@updraft/base';
import type { RunSource } from '../../src/dashboard/run-source.ts';
import { jobNames } from '@updraft/account/parameters';
import { jobId } from '@updraft/account/run-folder';
import type { AgentBody } from '@updraft/account/journal';
import { WrittenRun } from './imagenet-run.ts';
import { folderRun } from './served.ts';

interface SweepSize {
  /** Repetitions of the 30 combinations. */
  seeds: number;
  /** Reports of each job. */
  points: number;
}

/** A finished sweep with curves as trainings have them; its source also knows the parameters of its jobs. */
export async function sweepRun(folder: string, created: number, size: SweepSize): Promise<RunSource> {
  const cells = [1e-4, 1e-3, 1e-2, 0.1, 1].flatMap((lr) =>
    [32, 128, 512].flatMap((batch) =>
      ['sgd', 'adam'].flatMap((optimizer) =>
        Array.from({ length: size.seeds }, (_, seed) => ({ lr, batch, optimizer, seed: seed + 1 })),
      ),
    ),
  );
  const run = new WrittenRun(folder, created);
  const jobs = cells.map((_, index) => jobId(index));
  const [name, pool, planHash, version] = ['sweep', 'condor', '', '1'];
  run.add(0, { kind: 'run-created', run: 'sweep-k3v9q1', name, pool, jobs, planHash, version });
  await mapLimited([...cells.entries()], 32, async ([index, cell]) => {
    const job = jobId(index);
    const end = 3000 + index * 7;
    run.add(60, { kind: 'attempt-started', job, attempt: 1, why: 'first attempt' });
    await run.agent(job, 1, [
      [
        62,
        {
          kind: 'agent-started',
          version: '1',
          host: `gpu${index % 9}.example`,
          pid: 1,
          site: 'CHTC',
          gpus: ['A100'],
        },
      ],
      [70, { kind: 'training-started', pid: 2, command: 'python3 train.py' }],
      ...curveOf(cell, size.points, index).map((metrics, at): [number, AgentBody] => [
        70 + ((end - 80) * at) / size.points,
        { kind: 'progress', epoch: ((at + 1) / size.points) * 30, epochs: 30, ...metrics },
      ]),
      [end - 2, { kind: 'agent-ended', outcome: 'success', exit: 0 }],
    ]);
    run.add(end, { kind: 'attempt-ended', job, attempt: 1, outcome: 'success', exit: 0 });
    run.add(end, { kind: 'job-ended', job, outcome: 'success' });
  });
  run.add(3000 + cells.length * 7 + 1, { kind: 'run-ended', succeeded: cells.length, failed: 0 });
  await run.write();
  const source = folderRun(folder);
  return {
    ...source,
    async *follow(signal) {
      for await (const state of source.follow(signal)) {
        const jobs = state.jobs.map((job, index) => ({ ...job, parameters: cells[index] ?? {} }));
        const names = jobNames(jobs);
        yield { ...state, jobs: jobs.map((job) => ({ ...job, ...defined({ name: names.get(job.id) }) })) };
      }
    },
  };
}

/** A learning rate has a best place for each optimizer; small batches learn a little more. */
function curveOf(
  { lr, batch, optimizer }: { lr: number; batch: number; optimizer: string },
  points: number,
  seed: number,
) {
  const off = Math.log10(lr) + (optimizer === 'adam' ? 2.7 : 1.2);
  const speed = 0.45 * Math.exp((-off * off) / 1.6) + 0.015;
  const ceiling = Math.max(0.12, 0.94 - 0.035 * off * off - batch / 17_000);
  return Array.from({ length: points }, (_, at) => {
    const epoch = ((at + 1) / points) * 30;
    const noise = 0.012 * Math.sin(seed * 7.3 + at * 2.1) + 0.008 * Math.sin(seed * 3.7 + at * 5.3);
    const accuracy = 0.1 + (ceiling - 0.1) * (1 - Math.exp(-speed * epoch)) + noise;
    const loss = 2.3 * Math.exp(-speed * epoch) + 1.15 * (0.97 - ceiling) + noise / 2 + 0.04;
    return { loss, accuracy, metrics: { val_accuracy: accuracy - 0.02 - 0.0008 * epoch } };
  });
}
