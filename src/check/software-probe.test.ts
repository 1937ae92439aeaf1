import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Uses } from './code/uses.ts';
import { choosePython, probeScript, readProbe } from './software-probe.ts';

const use = (name: string) => ({ name, place: { file: 'x', line: 1 }, isCertain: true });
const uses = (tools: string[], modules: string[]): Uses => ({
  tools: tools.map(use),
  modules: modules.map(use),
  pythons: ['python3'],
});

/** Really runs the script, as an image would. */
function probe(script: string) {
  const { stdout } = spawnSync('/bin/sh', ['-s'], { input: script, encoding: 'utf8' });
  return readProbe(`a greeting of the image\n${stdout}`);
}

test('a real shell tells what it has, and names that look like options or code do no harm', () => {
  const answer = probe(probeScript(uses(['cat', 'no-such-tool', '-v', '$(exit 1)'], []), false));
  assert.deepEqual([...(answer?.tools ?? [])], ['cat']);
  assert.deepEqual(answer?.pythons, []);
});

test('a real Python tells which modules it has', (t) => {
  const answer = probe(probeScript(uses([], ['json', 'no_such_module_here']), false));
  if (answer?.pythons[0] === undefined) {
    t.skip('no Python on this machine');
    return;
  }
  assert.deepEqual([...answer.pythons[0].has], ['json']);
});

test('an answer that breaks off is none', () => {
  assert.equal(readProbe('updraft-probe tool cat\nFATAL: no such image\n'), undefined);
});

test('the interpreter that has the declared modules is the one that counts', () => {
  const pythons = [
    { path: '/a/python3', has: new Set(['json']) },
    { path: '/b/python3', has: new Set(['json', 'torch']) },
  ];
  const choose = (declared: string[]) => choosePython({ tools: new Set(), pythons }, declared)?.path;
  assert.deepEqual(
    [choose(['torch.nn']), choose([]), choose(['nowhere'])],
    ['/b/python3', '/a/python3', '/a/python3'],
  );
});
