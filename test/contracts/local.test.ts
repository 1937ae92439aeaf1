import process from 'node:process';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { openPool } from '../../src/pool/open-pool.ts';
import { RunHarness } from '../run/run-harness.ts';
import { poolContract } from './pool.ts';
import { writeFile } from 'node:fs/promises';
import { cliMain } from '../programs.ts';

poolContract('local', async (t, files) => {
  const { folder, env } = await RunHarness.make(t);
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  const self = [process.execPath, cliMain];
  const kill = (pid: number, signal: NodeJS.Signals): void => void process.kill(pid, signal);
  return { folder, pool: openPool('local', { self, env, clock: systemClock, pid: process.pid, kill }) };
});
