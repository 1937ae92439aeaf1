import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import process from 'node:process';
import { test } from 'node:test';
import { identifyProcess, livenessOf } from './process-identity.ts';

test('a process is alive while it runs, even if its name contains brackets and spaces', async () => {
  const child = spawn(
    process.execPath,
    ['-e', 'process.title = "a) (b"; process.stdout.write("up"); process.stdin.resume()'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  await once(child.stdout, 'data');
  const identity = identifyProcess(child.pid!);
  assert.ok(identity);
  assert.equal(livenessOf(identity), 'alive');
  child.stdin.end();
  await once(child, 'exit');
  assert.equal(livenessOf(identity), 'dead');
});

test('an earlier process with the same ID is dead', () => {
  const self = identifyProcess(process.pid)!;
  const earlier = self.start.replace(/\d+$/, '1');
  assert.equal(livenessOf({ ...self, start: earlier }), 'dead');
});

test('a process of an earlier boot is dead, and one on another machine is elsewhere', () => {
  const self = identifyProcess(process.pid)!;
  assert.equal(livenessOf({ ...self, start: `another-boot/1/${self.start.split('/')[2]!}` }), 'dead');
  assert.equal(livenessOf({ pid: 1, start: 'another-boot/1/1', host: `not-${os.hostname()}` }), 'elsewhere');
});

test('a machine whose host name changes still recognizes its processes', () => {
  assert.equal(livenessOf({ ...identifyProcess(process.pid)!, host: 'laptop.elsewhere.example' }), 'alive');
});

test('there is no process 2^22 + 1', () => {
  assert.equal(identifyProcess(2 ** 22 + 1), undefined);
});
