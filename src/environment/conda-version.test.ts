import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions, versionFits } from './pixi-lock.ts';

test('versions are ordered by their numbers, and words sort before numbers', () => {
  const ordered = ['0.9', '1.0a1', '1.0rc2', '1.0', '1.0.post1', '1.2', '1.10', '2', '12.9'];
  for (const [index, version] of ordered.entries())
    for (const later of ordered.slice(index + 1)) {
      assert.ok(compareVersions(version, later) < 0, `${version} < ${later}`);
      assert.ok(compareVersions(later, version) > 0, `${later} > ${version}`);
    }
  assert.equal(compareVersions('1.0', '1.0.0'), 0);
});

for (const [version, spec, fits] of [
  ['2.7.1', '>=2.7.1,<3', true],
  ['3.0.0', '>=2.7.1,<3', false],
  ['3.13.5', '3.13.*', true],
  ['3.1.5', '3.13.*', false],
  ['12.9', '12.9|12.9.*', true],
  ['1.5', '1.2|1.4', false],
  ['2.4.1+cu121', '>=2.4', true],
  ['1.4.5', '~=1.4.2', true],
  ['1.5.0', '~=1.4.2', false],
  ['1.4', '!=1.4', false],
  ['3.12.1', '=3.12', true],
  ['3.12.1', '==3.12', false],
  ['5', '*', true],
  ['5', '>=4 *_cuda', undefined],
] as const)
  test(`${version} ${fits === undefined ? 'may fit' : fits ? 'fits' : 'does not fit'} "${spec}"`, () => {
    assert.equal(versionFits(version, spec), fits);
  });
