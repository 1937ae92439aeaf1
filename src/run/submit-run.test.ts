import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../job/plan.ts';
import { whatChanged } from './submit-run.ts';

const plan = (spec: object, files: Record<string, string>, fingerprint = ''): Plan =>
  ({
    spec,
    data: [{ name: 'd', url: 'file:///x/images', here: { fingerprint } }],
    files: Object.entries(files).map(([path, sha256]) => ({ path, bytes: 1, sha256 })),
  }) as Plan;

test('changed sections and changed, new and missing files are named', () => {
  const before = plan(
    { train: { a: 1 }, run: { jobs: 1 } },
    { 'main.py': 'x', 'old.py': 'x', 'same.py': 'x' },
  );
  const after = plan(
    { train: { a: 1 }, run: { jobs: 2 } },
    { 'main.py': 'y', 'new.py': 'x', 'same.py': 'x' },
    'other',
  );
  assert.deepEqual(whatChanged(before, after), ['[run]', 'images', 'main.py', 'new.py', 'old.py']);
  assert.deepEqual(whatChanged(before, before), []);
});
