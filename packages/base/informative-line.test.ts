import assert from 'node:assert/strict';
import { test } from 'node:test';
import { informativeLine } from './printable.ts';

for (const [what, said, line] of [
  ['its last line', 'reading\nno such luck\n\n', 'no such luck'],
  [
    'the line that begins with an error, not the trace after it',
    'Error: could not read the lock\n\nStack backtrace:\n   0: main\n  24: _start\n',
    'Error: could not read the lock',
  ],
  [
    'the error with its last cause',
    'Error: could not unpack\n\nCaused by:\n    0: writing\n    1: No space left\n',
    'Error: could not unpack: No space left',
  ],
  [
    'a fatal line',
    'INFO: Build\nFATAL:   While building: no such file\nbye\n',
    'FATAL:   While building: no such file',
  ],
  [
    'a boxed error with its last cause, on one line',
    " WARN old\n 12 │ ╭─▶ [x]\n    ╰────\n\nError:   × cannot solve 'cpu'\n  ├─▶   × no solution\n  │\n  ╰─▶ No candidates were found for scipy\n      *.\n\n",
    "cannot solve 'cpu': No candidates were found for scipy *.",
  ],
  [
    'a boxed error without a cause',
    'Error:   × lock file is\n  │ old\n  help: lock it\n',
    'lock file is old',
  ],
  ['nothing, if nothing was printed,', ' \n', ''],
] as const)
  test(`of a failed program's output, ${what} is shown`, () => {
    assert.equal(informativeLine(said), line);
  });
