import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { failingImport, findPython } from './find-python.ts';

test('an interpreter that lacks a module is skipped for one that has it', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-python-'));
  t.after(() => rm(folder, { recursive: true }));
  const poor = path.join(folder, 'python3');
  await writeFile(poor, '#!/bin/sh\necho "torch (No module named torch)" >&2\nexit 1\n');
  await chmod(poor, 0o755);
  const search = await findPython(['json'], { PATH: `${folder}:/usr/bin:/bin` });
  if (search.found === undefined) {
    t.skip('this machine has no python3');
    return;
  }
  assert.notEqual(search.found, poor);
  assert.deepEqual(search.tried[0], { path: poor, lacks: 'torch (No module named torch)' });
});

test('when no interpreter has the module, each one tried is named with what it lacks', async () => {
  const search = await findPython(['no_such_module_anywhere'], { PATH: '/usr/bin:/bin' });
  assert.equal(search.found, undefined);
  for (const { path: python, lacks } of search.tried)
    assert.match(`${python} ${lacks}`, /python3? no_such_module_anywhere/);
});

test('a quick search imports nothing and skips interpreters that were already tried', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-python-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(path.join(folder, 'breaks_on_import.py'), 'raise OSError("built for another machine")\n');
  const env = { PATH: '/usr/bin:/bin', PYTHONPATH: folder };
  const { found } = await findPython(['breaks_on_import.part', 'json'], env, { isQuick: true });
  if (found === undefined) {
    t.skip('this machine has no python3');
    return;
  }
  const lacks = await failingImport(found, ['json', 'breaks_on_import'], env);
  assert.equal(lacks, 'breaks_on_import (built for another machine)');
  const others = await findPython(['json'], env, { isQuick: true, except: [{ path: found, lacks }] });
  assert.notEqual(others.found, found);
});

test('an interpreter killed by a signal is reported with the signal', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-python-'));
  t.after(() => rm(folder, { recursive: true }));
  const python = path.join(folder, 'python3');
  await writeFile(python, '#!/bin/sh\nkill -ILL $$\n', { mode: 0o755 });
  assert.equal(await failingImport(python, ['torch'], {}), 'torch (killed by SIGILL)');
});
