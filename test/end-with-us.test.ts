import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { isThere, systemClock } from '@updraft/base';
import { identifyProcess, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { findChromium } from './browser/chromium.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { hangMs } from './hang-limit.ts';

const modules = import.meta.dirname;

/** Runs a program that starts something, prints its process ids, and is killed then. */
async function killAfterStart(program: string, folder: string): Promise<ProcessIdentity[]> {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit').then(() => ['']);
  const [pids = ''] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited,
  ])) as string[];
  assert.notEqual(pids, '', 'it ended before it had started anything');
  const started = pids.split(' ').map((pid) => identifyProcess(Number(pid)));
  child.kill('SIGKILL');
  await exited;
  return started.filter((one) => one !== undefined);
}

async function untilGone(processes: ProcessIdentity[], isClean: () => Promise<boolean>): Promise<void> {
  assert.notEqual(processes.length, 0);
  const signal = AbortSignal.timeout(hangMs);
  while (processes.some((one) => livenessOf(one) === 'alive') || !(await isClean()))
    await systemClock.sleep(20, signal);
}

test('processes and folders of a killed test end with it', async (t) => {
  const folder = await temporaryFolder(t, { 'kept/file': '' });
  const program = `
    import { spawn } from 'node:child_process';
    import { endWithUs } from '${modules}/end-with-us.ts';
    const [group, one] = [true, false].map((detached) => spawn('sleep', ['1000'], { detached, stdio: 'ignore' }).pid);
    endWithUs({ targets: [-group, one], folders: ['${folder}/kept'] });
    console.log(group, one);
  `;
  await untilGone(await killAfterStart(program, folder), async () => !(await isThere(`${folder}/kept`)));
});

test('a server of a killed test ends with it', async (t) => {
  const folder = await temporaryFolder(t);
  const program = `
    import { startProcess } from '${modules}/servers/server-process.ts';
    const script = 'echo ready >&2; exec sleep 1000';
    console.log((await startProcess('/bin/sh', ['-c', script], { ready: /ready/ })).pid);
  `;
  await untilGone(await killAfterStart(program, folder), () => Promise.resolve(true));
});

test('the browser of a killed test ends with it and leaves no files', async (t) => {
  const chromium = await findChromium();
  if (chromium === undefined) {
    t.skip('no Chromium on this machine (Debian package: chromium)');
    return;
  }
  const folder = await temporaryFolder(t);
  const program = `
    import { readFile } from 'node:fs/promises';
    import { startChromium } from '${modules}/browser/chromium.ts';
    await startChromium('${chromium}');
    const children = await readFile(\`/proc/\${process.pid}/task/\${process.pid}/children\`, 'utf8');
    console.log(children.trim());
  `;
  const browser = await killAfterStart(program, folder);
  await untilGone(browser, async () => (await readdir(folder)).length === 0);
});
