import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { defineLibrary } from './agent-bundle.ts';

const compare = `
import ast, sys
dump = lambda text: ast.dump(ast.parse(text), include_attributes=True)
sys.exit(0 if dump(sys.stdin.read()) == dump(open(sys.argv[1]).read()) else 1)
`;

test('the agent carries the code of updraft.py, on the same lines', (t) => {
  const packed = JSON.parse(defineLibrary().replace(/^[^"]*/, '')) as string;
  const input = brotliDecompressSync(Buffer.from(packed, 'base64'));
  const file = path.join(import.meta.dirname, '..', 'python', 'updraft.py');
  const done = spawnSync('python3', ['-c', compare, file], { input, encoding: 'utf8' });
  if (done.error !== undefined) t.skip(`no python3: ${done.error.message}`);
  else assert.equal(done.status, 0, done.stderr);
});
