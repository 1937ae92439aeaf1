import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { AgentBody } from '@updraft/account/journal';
import { growingRun } from '../growing-run.ts';
import { temporaryFolder } from '../temporary-folder.ts';

type Progress = Omit<Extract<AgentBody, { kind: 'progress' }>, 'kind'>;

/** A run of this job file, whose jobs all succeeded; `measured` says what the job with a number reported. */
export async function sweptRun(
  t: TestContext,
  jobFile: string,
  measured: (at: number) => Progress,
): Promise<{ cwd: string; folder: string }> {
  const cwd = await temporaryFolder(t, { 'updraft.toml': jobFile });
  const plan = await loadPlan(path.join(cwd, 'updraft.toml'));
  const ids = plan.jobs.map(({ id }) => id);
  const growing = await growingRun(t, cwd, ids, 'sweep-k3v9q1');
  await writeFile(path.join(growing.folder, runFiles.plan), JSON.stringify(plan));
  for (const [at, job] of ids.entries()) {
    await growing.agent(
      job,
      1,
      { kind: 'training-started', pid: 2, command: 't' },
      { kind: 'progress', ...measured(at) },
    );
    await growing.succeed(job);
  }
  return { cwd, folder: growing.folder };
}
