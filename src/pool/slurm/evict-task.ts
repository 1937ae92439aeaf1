import type { Clock } from '../../base/clock.ts';
import type { SlurmTools } from './slurm-tools.ts';

const lookEveryMs = 500;

/** Takes a job's node away: Slurm ends it and queues it again. */
export async function evictTask(tools: SlurmTools, name: string, clock: Clock): Promise<void> {
  await tools.ask('scontrol', ['requeue', name]);
  const deadline = clock.monotonic() + tools.patienceMs;
  while ((await tools.ask('squeue', ['-h', '-r', '-j', name, '-o', '%T'])).trim() !== 'PENDING') {
    if (clock.monotonic() > deadline) return;
    await clock.sleep(lookEveryMs);
  }
  // Slurm's own wait of two minutes is for nodes in trouble.
  await tools.ask('scontrol', ['update', `JobId=${name}`, 'StartTime=now']);
}
