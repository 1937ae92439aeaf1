import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { waitForChange } from '../../src/base/wait-for-change.ts';
import { meetingPlace, testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A user at the access point of the shared pool, or of `own`; undefined, and the test skipped, where there is none. */
export async function accessPoint(t: TestContext, own?: { bin: string; home: string }) {
  const pool = own ?? (await testPool(t));
  if (pool === undefined) return undefined;
  const folder = await temporaryFolder(t);
  const at = (name: string): string => path.join(folder, name);
  const tool = async (name: string, ...args: string[]): Promise<string> =>
    (await promisify(execFile)(path.join(pool.bin, name), args, { cwd: folder })).stdout.trim();
  const events = (log: string, code: string): number =>
    existsSync(at(log)) ? readFileSync(at(log), 'utf8').split(`\n${code} (`).length - 1 : 0;
  return {
    folder,
    at,
    tool,
    meet: () => meetingPlace(pool.home),
    /** Submits jobs, and returns their cluster. */
    async submit(name: string, lines: readonly string[]): Promise<string> {
      await writeFile(at(`${name}.sub`), [...lines, ''].join('\n'));
      const [cluster = ''] = (await tool('condor_submit', '-terse', `${name}.sub`)).split('.');
      t.after(() => tool('condor_rm', cluster).catch(() => undefined));
      return cluster;
    },
    /** Waits until the log has this number of holds. */
    async held(log: string, times: number): Promise<void> {
      const signal = AbortSignal.timeout(240_000);
      while (events(log, '012') < times) await waitForChange([at(log)], 500, systemClock, signal);
    },
    /** Waits until no job of the log is left. */
    ended: (log: string): Promise<string> => tool('condor_wait', '-wait', '240', log),
    attempts: (log: string): number => events(log, '001'),
    hasEnded: (log: string): boolean => events(log, '005') > 0,
  };
}

/** The first lines of a job's submit file. */
export const job = (executable: string, log: string): string[] => [
  `executable = ${executable}`,
  'transfer_executable = false',
  'should_transfer_files = YES',
  `log = ${log}`,
];
