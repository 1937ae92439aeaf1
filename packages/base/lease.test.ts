import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { acquireLease, leaseHolder } from './lease.ts';
import { identifyProcess, livenessOf, type ProcessIdentity } from './process-identity.ts';

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'lease-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function self(): ProcessIdentity {
  const identity = identifyProcess(process.pid);
  assert.ok(identity);
  return identity;
}

/** The identity of a process that has ended. */
async function deadProcess(): Promise<ProcessIdentity> {
  const child = spawn('/bin/sh', ['-c', 'read line'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const identity = identifyProcess(child.pid!);
  assert.ok(identity);
  child.stdin.end();
  await once(child, 'exit');
  return identity;
}

test('a lease is held by one process, can be released, and can be taken again', async (t) => {
  const folder = await folderFor(t);
  const lease = await acquireLease(folder, self());
  assert.ok(lease);
  assert.deepEqual(await leaseHolder(folder), self());
  assert.equal(await acquireLease(folder, self()), undefined);
  await lease.release();
  assert.equal(await leaseHolder(folder), undefined);
  assert.ok(await acquireLease(folder, self()));
});

test('the death of the holder frees the lease', async (t) => {
  const folder = await folderFor(t);
  const dead = await deadProcess();
  assert.ok(await acquireLease(folder, dead));
  assert.equal(livenessOf(dead), 'dead');
  assert.ok(await acquireLease(folder, self()));
});

test('a process that slept while others held the lease and left does not get it', async (t) => {
  const folder = await folderFor(t);
  const holder = (number: number): string => path.join(folder, `${number}.json`);
  // Reading a pipe takes until the test has written to it: the sleep.
  execFileSync('mkfifo', [holder(1)]);
  const acquired = acquireLease(folder, self());
  const pipe = await open(holder(1), 'w');
  await writeFile(holder(9), JSON.stringify({ holder: self() }));
  await pipe.writeFile('{}');
  await pipe.close();
  assert.equal(await acquired, undefined);
  assert.deepEqual(await leaseHolder(folder), self());
  assert.deepEqual((await readdir(folder)).sort(), ['1.json', '9.json']);
});

test('a process id that is used again does not keep a lease', async (t) => {
  const folder = await folderFor(t);
  await acquireLease(folder, { ...self(), start: 'an earlier boot/1' });
  assert.ok(await acquireLease(folder, self()));
});

test('a holder on another machine is never overruled', async (t) => {
  const folder = await folderFor(t);
  await acquireLease(folder, { pid: 1, start: 'x/1', host: 'another.machine.example' });
  assert.equal(await acquireLease(folder, self()), undefined);
});

test('old generations are removed', async (t) => {
  const folder = await folderFor(t);
  for (let i = 0; i < 30; i++) await (await acquireLease(folder, self()))!.release();
  assert.ok((await readdir(folder)).length < 12);
});

test('processes that increment a counter under the lease lose no step, even if some are killed', async (t) => {
  const folder = await folderFor(t);
  const counter = path.join(folder, 'counter');
  await writeFile(counter, '0');
  const source = `
    import { readFileSync, writeFileSync } from 'node:fs';
    import { withLease } from ${JSON.stringify(path.join(import.meta.dirname, 'lease.ts'))};
    import { identifyProcess } from ${JSON.stringify(path.join(import.meta.dirname, 'process-identity.ts'))};
    import { systemClock } from ${JSON.stringify(path.join(import.meta.dirname, 'clock.ts'))};
    for (let i = 0; i < 20; i++)
      await withLease(${JSON.stringify(path.join(folder, 'lease'))}, identifyProcess(process.pid), systemClock, async () => {
        const next = Number(readFileSync(${JSON.stringify(counter)}, 'utf8')) + 1;
        await new Promise((resolve) => setImmediate(resolve));
        writeFileSync(${JSON.stringify(counter)}, String(next));
        if (i === 9 && process.argv[1] === 'die') process.kill(process.pid, 'SIGKILL');
      });`;
  const run = async (...words: string[]): Promise<void> => {
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', source, ...words], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await once(child, 'exit');
  };
  await Promise.all([run(), run(), run('die')]);
  assert.equal(await readFile(counter, 'utf8'), '50');
});

test('the draft of a process killed while taking the lease is removed by the next', async (t) => {
  const folder = await folderFor(t);
  await writeFile(path.join(folder, '1.json.00ff.draft'), '{');
  const lease = await acquireLease(folder, self());
  assert.ok(lease);
  await lease.release();
  assert.deepEqual((await readdir(folder)).sort(), ['1.json', '2.json']);
});
