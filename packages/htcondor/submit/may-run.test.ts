import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spellings } from '../../../test/adopt/spellings.ts';
import { whyNotRun } from './disk-files.ts';

const harmless = [
  'requirements = (A > 1) || (B > 2)\nqueue',
  '# use this if you include a list |\n  # include command : x\nqueue',
  'n = 3\nqueue $(n)',
  'list = in/all.txt\nqueue arguments from $(list)',
  'queue name, rate from (\n a 1\n b 2\n)',
  'queue x matching files *.dat',
  'arguments = \\\n  --a 1 \\\n  --b 2\nshould_transfer_files = IF_NEEDED\nuse_x509userproxy = true\nqueue',
];

test('HTCondor may read a file without include, use, if or pipe', () => {
  for (const text of harmless) assert.equal(whyNotRun(text), undefined, text);
});

test('every spelling of a command that HTCondor would run is refused', () => {
  const passed = Object.entries(spellings).filter(([, text]) => whyNotRun(text) === undefined);
  assert.deepEqual(
    passed.map(([name]) => name),
    // Plain text to HTCondor, as the test against the real condor_submit shows.
    [
      'include by a macro within the word',
      'queue from a list with a command in it',
      'a value that a shell would run',
      'a value that ClassAds would run',
    ],
  );
});
