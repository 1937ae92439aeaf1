import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { systemClock } from '@updraft/base';
import type { Plan } from '../job/plan.ts';
import { copyFiles, sweepDrafts, withCreationLease } from './create-run.ts';

test('the next command removes the draft of a command that was killed while it created a run', async (t) => {
  const folder = await temporaryFolder(t, { 'runs/.a-1.draft/plan.json': '{', 'runs/b-2/plan.json': '{}' });
  await sweepDrafts(path.join(folder, 'runs'), process.pid);
  const visible = async (): Promise<string[]> =>
    (await readdir(path.join(folder, 'runs'))).filter((name) => name !== '.creating');
  assert.deepEqual(await visible(), ['b-2']);
  await mkdir(path.join(folder, 'runs/.c-3.draft'));
  await withCreationLease({ folder } as Plan, { pid: process.pid, clock: systemClock }, async () => {
    assert.deepEqual(await visible(), ['b-2']);
  });
});

test('the draft of a running command stays', async (t) => {
  const folder = await temporaryFolder(t, {});
  const context = { pid: process.pid, clock: systemClock };
  await withCreationLease({ folder } as Plan, context, async () => {
    const draft = path.join(folder, 'runs/.a-1.draft');
    await mkdir(draft);
    await sweepDrafts(path.join(folder, 'runs'), process.pid);
    assert.ok((await readdir(path.join(folder, 'runs'))).includes('.a-1.draft'));
  });
});

test('a program is sent executable, whatever its mode, as HTCondor sends an executable', async (t) => {
  const texts = { 'run.sh': '#!/bin/sh\n', 'bin/train': '\u007fELF\u0002', 'notes.txt': '# !\n' };
  const folder = await temporaryFolder(t, texts);
  const files = Object.entries(texts).map(([name, text]) => ({
    path: name,
    bytes: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
  }));
  for (const { path: name } of files) await chmod(path.join(folder, name), 0o640);
  await copyFiles({ folder, files }, path.join(folder, 'sent'));
  const modes = await Promise.all(
    files.map(async ({ path: name }) => (await stat(path.join(folder, 'sent', name))).mode & 0o777),
  );
  assert.deepEqual(modes, [0o751, 0o751, 0o640]);
});
