import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { cacheFolder, stateFolder } from './user-folders.ts';

test("a user's folders are where the XDG variables say, else in the home folder", () => {
  assert.equal(cacheFolder({ HOME: '/home/ada', XDG_CACHE_HOME: '/scratch/ada' }), '/scratch/ada/updraft');
  assert.equal(cacheFolder({ HOME: '/home/ada' }), '/home/ada/.cache/updraft');
  assert.equal(stateFolder({ HOME: '/home/ada', XDG_STATE_HOME: '' }), '/home/ada/.local/state/updraft');
});

test("a relative folder is ignored, and without HOME the account's home is used", () => {
  assert.equal(cacheFolder({ HOME: '/home/ada', XDG_CACHE_HOME: 'cache' }), '/home/ada/.cache/updraft');
  assert.equal(cacheFolder({ HOME: '' }), path.join(os.homedir(), '.cache/updraft'));
});
