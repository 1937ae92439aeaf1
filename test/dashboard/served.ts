import path from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import type { RunSource } from '../../src/dashboard/run-source.ts';
import { type Dashboard, serveDashboard } from '../../src/dashboard/serve-dashboard.ts';
import { followRun } from '@updraft/account/journal';

/** A local run; `stopped` and `retried` collect the jobs of these actions. */
export const folderRun = (folder: string, stopped: string[][] = [], retried: string[][] = []): RunSource => ({
  place: folder,
  folder,
  argument: path.basename(folder),
  follow: (signal) => followRun(folder, { clock: systemClock, signal }),
  stop: (jobs) => {
    stopped.push(jobs);
    return Promise.resolve();
  },
  retry: (jobs) => {
    retried.push(jobs);
    return Promise.resolve();
  },
});

/** The dashboard of a run, closed after the test. */
export async function served(t: TestContext, run: RunSource, clock = systemClock): Promise<Dashboard> {
  const dashboard = await serveDashboard({ runs: [run], clock, version: '0.0.0' });
  t.after(() => dashboard[Symbol.asyncDispose]());
  return dashboard;
}
