import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import type { MiniPoolState } from '@updraft/mini/pool';
import { meetingPlace, testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { hangMs } from '../hang-limit.ts';

export type AccessPoint = NonNullable<Awaited<ReturnType<typeof accessPoint>>>;

interface Submission {
  cwd?: string;
  /** Of the shell in which it is done. */
  variables?: Record<string, string>;
  /** Lines that are not in the file. */
  more?: string[];
}

/** A user at the access point of a pool, the shared one if none is given; undefined, and the test skipped, where there is none. */
export async function accessPoint(t: TestContext, own?: MiniPoolState) {
  const pool = own ?? (await testPool(t));
  if (pool === undefined) return undefined;
  const run = async (program: string, args: string[], cwd: string): Promise<string> =>
    (await promisify(execFile)(program, args, { cwd })).stdout.trim();
  const clusters: string[] = [];
  t.after(async () => {
    if (clusters.length > 0)
      await run(path.join(pool.bin, 'condor_rm'), clusters, '/').catch(() => undefined);
  });
  const folder = await temporaryFolder(t);
  const at = (name: string): string => path.join(folder, name);
  // The pool's tools run the program of their own name, without this machine's environment.
  await symlink(path.join(pool.bin, 'condor_submit'), at('env'));
  const tool = (name: string, ...args: string[]): Promise<string> =>
    run(path.join(pool.bin, name), args, folder);
  const events = (log: string, code: string): number =>
    existsSync(at(log)) ? readFileSync(at(log), 'utf8').split(`\n${code} (`).length - 1 : 0;
  return {
    pool,
    folder,
    at,
    tool,
    meet: () => meetingPlace(pool.home),
    /** Submits jobs, and returns their cluster. */
    async submit(
      name: string,
      lines: readonly string[],
      { cwd = folder, variables = {}, more = [] }: Submission = {},
    ): Promise<string> {
      await writeFile(path.join(cwd, `${name}.sub`), [...lines, ''].join('\n'));
      const words = Object.entries(variables).map((pair) => pair.join('='));
      const args = [
        ...words,
        'condor_submit',
        '-terse',
        `${name}.sub`,
        ...more.flatMap((line) => ['-a', line]),
      ];
      const [cluster = ''] = (await run(at('env'), args, cwd)).split('.');
      clusters.push(cluster);
      return cluster;
    },
    /** Waits until the log has this number of holds. */
    async held(log: string, times: number): Promise<void> {
      const signal = AbortSignal.timeout(hangMs);
      while (events(log, '012') < times) await waitForChange([at(log)], 500, systemClock, signal);
    },
    /** Waits until no job of the log is left. */
    ended: (log: string): Promise<string> => tool('condor_wait', '-wait', String(hangMs / 1000), log),
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
