import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Uses } from './code/read-code.ts';
import { choosePython, probeScript, readProbe } from './software-probe.ts';

const use = (name: string) => ({ name, place: { file: 'x', line: 1 }, isCertain: true });
const uses = (tools: string[], modules: string[]): Uses => ({
  tools: tools.map(use),
  modules: modules.map(use),
  pythons: ['python3'],
});

/** Runs the script, as an image would. */
function probe(script: string) {
  const { stdout } = spawnSync('/bin/sh', ['-s'], { input: script, encoding: 'utf8' });
  return readProbe(`a greeting of the image\n${stdout}`);
}

test('a real shell reports its tools, and names that look like options or code are harmless', () => {
  const answer = probe(probeScript(uses(['cat', 'no-such-tool', '-v', '$(exit 1)'], []), false));
  assert.deepEqual([...(answer?.tools ?? [])], ['cat']);
  assert.ok(answer?.pythons.every(({ has }) => has.size === 0));
});

test('a real Python reports its modules', (t) => {
  const answer = probe(probeScript(uses([], ['json', 'no_such_module_here']), false));
  if (answer?.pythons[0] === undefined) {
    t.skip('no Python on this machine');
    return;
  }
  assert.deepEqual([...answer.pythons[0].has], ['json']);
});

test('a Python reports its version and those of packages, however they are called', () => {
  const answer = readProbe(
    ['python /a', 'package python-3.11.2.dist-info', 'package Torch_Vision-0.15+cpu-py3.11.egg-info']
      .concat(['package torch_vision-0.1.dist-info', 'package x.egg-info', 'end'])
      .map((line) => `updraft-probe ${line}\n`)
      .join(''),
  );
  assert.deepEqual(
    [...(answer?.pythons[0]?.versions ?? [])],
    [
      ['python', '3.11.2'],
      ['torch-vision', '0.15+cpu'],
    ],
  );
});

test('a truncated answer is ignored', () => {
  assert.equal(readProbe('updraft-probe tool cat\nFATAL: no such image\n'), undefined);
});

test('the interpreter with the declared modules is chosen', () => {
  const pythons = [
    { path: '/a/python3', has: new Set(['json']), versions: new Map<string, string>() },
    { path: '/b/python3', has: new Set(['json', 'torch']), versions: new Map<string, string>() },
  ];
  const choose = (declared: string[]) => choosePython({ tools: new Set(), pythons }, declared)?.path;
  assert.deepEqual(
    [choose(['torch.nn']), choose([]), choose(['nowhere'])],
    ['/b/python3', '/a/python3', '/a/python3'],
  );
});
