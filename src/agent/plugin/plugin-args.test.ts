import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPluginCall, parseArgs } from './plugin-args.ts';

test('the agent recognizes a plugin call by its name or its arguments', () => {
  assert.ok(isPluginCall('./updraft-agent', ['-infile', 'a', '-outfile', 'b']));
  assert.ok(isPluginCall('updraft_plugin', []));
  assert.ok(isPluginCall('/usr/libexec/osdf_plugin.x64', ['-v']));
  assert.ok(!isPluginCall('updraft-agent', ['run', 'order.json']));
});

test('-upload is recognized at any position', () => {
  const files = { kind: 'transfer', infile: 'i', outfile: 'o' };
  assert.deepEqual(parseArgs(['-upload', '-outfile', 'o', '-infile', 'i']), {
    ...files,
    direction: 'upload',
  });
  assert.deepEqual(parseArgs(['-infile', 'i', '-outfile', 'o', '-d']), { ...files, direction: 'download' });
});

test('unknown arguments are named', () => {
  assert.throws(() => parseArgs(['-inflie', 'i']), { kind: 'usage', message: /unknown argument "-inflie"/ });
  assert.throws(() => parseArgs(['-outfile', 'o']), { message: /-infile FILE is missing/ });
  assert.throws(() => parseArgs(['-infile', 'i', '-outfile']), { message: /-outfile FILE is missing/ });
});
