import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec } from './read-spec.ts';

const problemsOf = (train: string, tables = ''): string[] => {
  const reading = checkSpec(
    `name = "x"\n[train]\ncommand = "t"\noutputs = ["o"]\n${train}\n${tables}`,
    'updraft.toml',
  );
  return 'problems' in reading
    ? reading.problems.map(({ line, key, message }) => `${line}: ${key}: ${message}`)
    : [];
};

for (const [what, train, tables, problem] of [
  [
    'how often to save, without a folder',
    'checkpoint_every = "1h"',
    '',
    /^5: train\.checkpoint_every: has no effect without/,
  ],
  [
    'how many to keep, without a folder',
    'checkpoint_keep = 2',
    '',
    /^5: train\.checkpoint_keep: has no effect without/,
  ],
  [
    'a checkpoint interval longer than an attempt',
    'checkpoint = "c"\ncheckpoint_every = "3h"',
    '[resources]\ntime = "1h"',
    /^6: train\.checkpoint_every: "3h" is never reached: an attempt has time = "1h"/,
  ],
  [
    'a quiet limit longer than an attempt',
    'quiet_limit = "2h"',
    '[resources]\ntime = "2h"',
    /^5: train\.quiet_limit: "2h" is never reached/,
  ],
] as const)
  test(`${what} is refused with its line and what to do`, () => {
    const problems = problemsOf(train, tables);
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', problem);
  });

test('settings that fit together are accepted', () => {
  const train = 'checkpoint = "c"\ncheckpoint_keep = 2\ncheckpoint_every = "1h"\nquiet_limit = "30m"';
  assert.deepEqual(problemsOf(train, '[resources]\ntime = "2h"'), []);
});
