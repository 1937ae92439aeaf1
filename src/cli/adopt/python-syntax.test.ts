import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { findProgram } from '@updraft/base';
import * as adopt from '../commands/adopt.ts';

test('what Python 2 reads is an error only for jobs that name Python 3', async (t) => {
  if ((await findProgram(['python3'], process.env)) === undefined) {
    t.skip('there is no python3 on this machine');
    return;
  }
  const scripts: Record<string, [first: string, line: string]> = {
    two: ['#!/usr/bin/env python2', 'print "a"'],
    old: ['#!/usr/bin/python2.7', 'raise E, "a"'],
    any: ['#!/usr/bin/env python', 'print "a"'],
    tabs: ['#!/usr/bin/python', 'if 1:\n        a\n\tb'],
    three: ['#!/usr/bin/env python3', 'print "a"'],
    never: ['#!/usr/bin/env python', 'def f(:'],
  };
  const names = Object.keys(scripts);
  const cwd = await temporaryFolder(t, {
    ...Object.fromEntries(names.map((name) => [`${name}.py`, `${scripts[name]?.join('\n')}\n`])),
    ...Object.fromEntries(names.map((name) => [`${name}.sub`, `executable = ${name}.py\nlog = l\nqueue\n`])),
  });
  const said = await Promise.all(
    names.map(async (name) => {
      let printed = '';
      const out = (text: string): void => void (printed += text);
      await runCommand(adopt, [`${name}.sub`], { cwd, env: process.env, out }).catch(() => undefined);
      const rule = /^(\w+)s:(?:(?!^\w+s:)[^])*python-syntax$/m.exec(printed)?.[1];
      assert.equal(
        printed.split('| print "a"').length - 1,
        rule !== undefined && /any|three/.test(name) ? 1 : 0,
      );
      return rule;
    }),
  );
  assert.deepEqual(said, [undefined, undefined, 'warning', 'warning', 'error', 'error']);
});
