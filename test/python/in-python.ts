import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { pythonPackages } from '../../scripts/python-packages.ts';
import { findPython } from '../../src/environment/find-python.ts';
import { hangMs } from '../hang-limit.ts';

export const run = promisify(execFile);
const cwd = path.resolve(import.meta.dirname, '../../python');

/** With what the set-up has installed from PyPI. */
export const env = { ...process.env, PYTHONPATH: pythonPackages };

/** Only installed, not imported: PyTorch takes seconds, and the tests say soon enough if it does not work. */
export const findWith = async (modules: string[]): Promise<string | undefined> =>
  (await findPython(modules, env, { signal: AbortSignal.timeout(hangMs), isQuick: true })).found;

/** Runs suites of python/, with PyTorch if a Python here has it. */
export async function passInPython(t: TestContext, suites: string[]): Promise<void> {
  const withTorch = await findWith(['torch', 'numpy']);
  const python = withTorch ?? (await findWith([]));
  if (python === undefined) {
    t.skip('no Python on this machine');
    return;
  }
  const { stderr } = await run(python, ['-B', '-m', 'unittest', ...suites], { cwd });
  const ended = /^OK(?: \(skipped=(\d+)\))?$/m.exec(stderr);
  assert.ok(ended, stderr);
  // A test of its own: only those are counted as skipped, by name.
  const lacks =
    withTorch === undefined
      ? 'no Python on this machine has torch, numpy'
      : 'its PyTorch is too old, or it has no Pillow or torchvision';
  if (ended[1] !== undefined)
    await t.test(`${ended[1]} of its tests in Python`, (part) => {
      part.skip(lacks);
    });
}
