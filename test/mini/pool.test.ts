import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { livenessOf } from '@updraft/base/processes';
import type { MiniPoolState } from '@updraft/mini/pool';
import { testPool } from '../pool.ts';
import { compileCache } from '../compile-cache.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { cliMain } from '../programs.ts';
import { hangMs } from '../hang-limit.ts';

const run = promisify(execFile);
const description = 'shell = echo hello\nlog = a.log\noutput = a.out\nshould_transfer_files = YES\nqueue\n';

/** A user with an odd home and no HTCondor on the PATH. Skips the test and returns undefined if there can be no pool. */
async function newUser(t: TestContext) {
  const root = (await testPool(t))?.root;
  if (root === undefined) return undefined;
  const home = path.join(await temporaryFolder(t, { 'ho me $(x)/job.sub': description }), 'ho me $(x)');
  const env = {
    PATH: '/usr/bin:/bin:/usr/sbin:/sbin',
    HOME: home,
    XDG_CACHE_HOME: path.resolve(root, '../..'),
    NODE_COMPILE_CACHE: compileCache,
  };
  const updraft = async (...words: string[]): Promise<string> =>
    (await run(process.execPath, [cliMain, ...words], { cwd: home, env })).stdout;
  const pool = async (word: string): Promise<MiniPoolState & { running?: boolean; stopped?: boolean }> =>
    JSON.parse(await updraft('mini', 'pool', word, '--json')) as MiniPoolState;
  return { home, env, updraft, pool, [Symbol.asyncDispose]: () => pool('down').then(() => undefined) };
}

test('a mini pool starts once, works with every command, can be restarted after a kill, and leaves nothing running', async (t) => {
  await using user = await newUser(t);
  if (user === undefined) return;
  const { home, env, updraft, pool } = user;
  assert.match(await updraft('mini', 'pool', 'status'), /^no pool is running/);
  const [state, same] = await Promise.all([pool('up'), pool('up')]);
  assert.deepEqual(state, same);
  assert.deepEqual(state.sites, ['CHTC-Spark-CE1', 'PDX-Coeus-CE1', 'GP-ARGO-ksu-backfill']);

  const addresses = await listening(state.keeper.pid);
  assert.ok(addresses.length > 0);
  assert.deepEqual(new Set(addresses), new Set(['127.0.0.1']));

  // The output of `up` is for a shell; Updraft's own commands do not need it.
  const line = await updraft('mini', 'pool', 'up');
  await run('sh', ['-c', `${line} condor_submit job.sub && condor_wait -wait ${hangMs / 1000} a.log`], {
    cwd: home,
    env,
  });
  assert.equal(await readFile(path.join(home, 'a.out'), 'utf8'), 'hello\n');
  assert.match(await updraft('adopt', 'job.sub'), /^HTCondor \d+\.\d+\.\d+ accepts the file$/m);

  process.kill(state.keeper.pid, 'SIGKILL');
  while (livenessOf(state.keeper) === 'alive') await new Promise(setImmediate);
  assert.equal((await pool('status')).running, false);
  const again = await pool('up');
  assert.notDeepEqual(again.keeper, state.keeper);
  assert.deepEqual([(await pool('down')).stopped, (await pool('down')).stopped], [true, false]);
  assert.equal(livenessOf(again.keeper), 'dead');
  assert.match(
    await updraft('adopt', 'job.sub'),
    /^HTCondor was not asked: condor_submit is not on the PATH$/m,
  );
});

/** Addresses on which a process and its descendants listen, from /proc. */
async function listening(root: number): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const parents = new Map<string, string | undefined>();
  for (const pid of pids)
    parents.set(
      pid,
      /^PPid:\s*(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))?.[1],
    );
  const isBelow = (pid: string | undefined): boolean =>
    pid !== undefined && (pid === String(root) || isBelow(parents.get(pid)));
  const sockets = new Set<string>();
  for (const pid of pids.filter(isBelow))
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => []))
      sockets.add(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''));
  const [tcp, tcp6] = await Promise.all(['tcp', 'tcp6'].map((kind) => readFile(`/proc/net/${kind}`, 'utf8')));
  const rows = `${tcp}\n${tcp6}`.split('\n').map((line) => line.trim().split(/\s+/));
  return rows
    .filter((row) => row[3] === '0A' && sockets.has(`socket:[${row[9]}]`))
    .map(([, local = '']) => {
      const hex = local.split(':')[0] ?? '';
      return hex.length === 8 ? [...Buffer.from(hex, 'hex')].reverse().join('.') : hex;
    });
}
