import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions } from './pixi-lock.ts';

test('versions are ordered by their numbers, and words sort before numbers', () => {
  const ordered = ['0.9', '1.0a1', '1.0rc2', '1.0', '1.0.post1', '1.2', '1.10', '2', '12.9'];
  for (const [index, version] of ordered.entries())
    for (const later of ordered.slice(index + 1)) {
      assert.ok(compareVersions(version, later) < 0, `${version} < ${later}`);
      assert.ok(compareVersions(later, version) > 0, `${later} > ${version}`);
    }
  assert.equal(compareVersions('1.0', '1.0.0'), 0);
});
